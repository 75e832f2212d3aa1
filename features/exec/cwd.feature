Feature: CWD: a command runs where it was told to
  A directory is data, checked on every call, and never replaced by another without a word.

  @id:CWD-001 @must @since:0.1 @profile:core @mutant:starts-at-the-root
  Scenario: Without a directory, commands share one that they can write to
    A fresh session stood in a directory that was gone (https://github.com/NousResearch/hermes-agent/issues/107156).
    Given an open sandbox
    When a command leaves a mark in its working directory
    Then the next command finds the mark in its own

  @id:CWD-002 @must @since:0.1 @profile:core @needs:cwd @mutant:ignores-the-directory @mutant:stops-at-slashes-at-the-end
  Scenario Outline: A command starts in the directory it is given
    An inherited variable overrode the directory that was asked for (https://github.com/NousResearch/hermes-agent/issues/95078).
    Given an open sandbox
    And a directory named "elsewhere"
    When a command in <a directory> prints its working directory
    Then it is this directory

    Examples:
      | a directory                                             |
      | this directory                                          |
      | this directory, spelt with a slash at its end,          |
      | this directory, spelt with slashes at its end,          |
      | this directory, spelt with two slashes between its parts, |
      | this directory, spelt with a dot at its end,            |
      | this directory, spelt with a way there and back,        |

  @id:CWD-003 @must @since:0.1 @profile:core @needs:cwd @mutant:splits-directories-at-blanks @mutant:expands-directories @mutant:decodes-directories @mutant:turns-backslashes-of-directories
  Scenario Outline: A directory's name is taken literally
    A directory with a space in its name broke every command (https://github.com/bojieli/ai-agent-book/pull/177).
    Given an open sandbox
    And a directory named "<name>"
    When a command in this directory prints its working directory
    Then it is this directory

    Examples:
      | name             |
      | with a space     |
      | it's \\"quoted\\"    |
      | $HOME and `pwd`  |
      | two\\nlines       |
      | -rf              |
      | -                |
      | ends with\\n      |
      | ends with\\s      |
      | ~                |
      | grün-日本        |
      | semi;colon&      |
      | 100%25 %41       |
      | back\\\\slash\\\\n |
      | [a]*?            |
      | #1 =2 !3         |
      | ...              |

  @id:CWD-004 @must @since:0.1 @profile:core @needs:cwd @mutant:runs-somewhere-else
  Scenario: A directory that does not exist is refused, and nothing runs
    A directory that does not exist looked as if the one in the settings had been ignored (https://github.com/NousResearch/hermes-agent/issues/4669).
    Given an open sandbox
    When a command that leaves a mark is run in a directory that does not exist
    Then the outcome is set-up failed because the directory was not found
    And the mark is not there

  @id:CWD-005 @must @since:0.1 @profile:core @needs:cwd @mutant:runs-somewhere-else
  Scenario: A file is no directory to run in
    A directory that could not be entered gave a warning, and the command ran elsewhere (https://github.com/apptainer/singularity/issues/2778).
    Given an open sandbox
    When a command that leaves a mark is run in what is a file
    Then the outcome is set-up failed because it is no directory
    And the mark is not there

  @id:CWD-006 @must @since:0.1 @profile:core @needs:cwd,relative_path=workdir @mutant:relative-to-the-root
  Scenario: A relative directory is taken from the sandbox's own
    The same relative path meant different places to commands and to files (https://github.com/NousResearch/hermes-agent/issues/113894).
    Given an open sandbox
    And a directory named "below"
    When a command in the relative directory "below" prints its working directory
    Then it is this directory

  @id:CWD-007 @must @since:0.1 @profile:core @mutant:directories-stick
  Scenario: A change of directory ends with its command
    Two jobs shared one environment, and the second ran in the first one's directory (https://github.com/NousResearch/hermes-agent/pull/61976).
    Given an open sandbox
    And a command has changed its directory to the root
    When a command prints its working directory
    Then it is the directory that commands start in

  @id:CWD-008 @must @since:0.1 @profile:core @needs:cwd @mutant:the-variable-tells-another-directory
  Scenario: The variable PWD agrees with the directory
    A variable exported by the outer agent told a nested run another directory (https://github.com/NousResearch/hermes-agent/issues/95078).
    Given an open sandbox
    And a directory named "told"
    When a program in this directory lists its variables
    Then PWD is this directory, or not set

  @id:CWD-009 @should @since:0.1 @profile:core @fresh @mutant:commands-need-the-first-directory
  Scenario: The directory that commands start in may be removed, and commands still run
    A directory that was gone was checked for and refused, so that no command ran any more (https://github.com/anthropics/claude-code/issues/52747).
    Given an open sandbox
    And a command that has removed the directory that commands start in
    When a command prints "alive"
    Then the outcome is exited with code 0
    And standard output is exactly "alive"

  @id:CWD-010 @must @since:0.1 @profile:core @needs:cwd @mutant:stops-before-links
  Scenario: A directory that is reached through a link is entered
    A directory that was there only through a link was not entered (https://github.com/apptainer/singularity/issues/2778).
    Given an open sandbox
    When a command in a directory that a link leads to prints its working directory
    Then it is this directory

  @id:CWD-011 @must @since:0.1 @profile:core @needs:cwd @mutant:believes-in-directories @mutant:runs-somewhere-else
  Scenario: A directory that was there before is looked at again
    A worktree was removed in which commands had run before (https://github.com/anthropics/claude-code/issues/18236).
    Given an open sandbox
    When a command that leaves a mark is run in a directory that has been removed since
    Then the outcome is set-up failed because the directory was not found
    And the mark is not there

  @id:CWD-012 @must @since:0.1 @profile:core @needs:cwd @mutant:bad-directories-stick
  Scenario: A directory that was refused is not where the next command runs
    A wrong directory was kept, and every command after it failed (https://github.com/NousResearch/hermes-agent/issues/90679).
    Given an open sandbox
    And a command that was run in a directory that does not exist
    When a command prints its working directory
    Then it is the directory that commands start in

  @id:CWD-013 @must @since:0.1 @profile:core @needs:cwd,stream_bytes=exact @mutant:directories-as-text
  Scenario: A directory's name is bytes
    To a file system a name is bytes, whatever they mean (https://man7.org/linux/man-pages/man7/path_resolution.7.html).
    Given an open sandbox
    When a command in a directory whose name is not valid UTF-8 prints its working directory
    Then it is this directory

  @id:CWD-014 @must @since:0.1 @profile:core @needs:cwd,argv @mutant:looks-programs-up-in-the-first-directory
  Scenario Outline: A program that is named by a relative path is looked for from its command's directory
    The same relative path meant different places to different parts of a backend (https://github.com/NousResearch/hermes-agent/issues/113894).
    Given an open sandbox
    And a directory named "project"
    When a program that lies <where> is run by a relative path
    Then the outcome is exited with code 0
    And standard output is all that was printed

    Examples:
      | where                |
      | in this directory    |
      | below this directory |
      | above this directory |

  @id:CWD-015 @must @since:0.1 @profile:core @needs:cwd @mutant:cleans-up-directories
  Scenario: The directory above is that of where a link leads to
    A path is followed part by part, and what it means cannot be read off its words (https://man7.org/linux/man-pages/man7/path_resolution.7.html).
    Given an open sandbox
    When a command in the directory above one that a link leads to prints its working directory
    Then it is this directory

  @id:CWD-016 @must @since:0.1 @profile:core @needs:cwd @mutant:cleans-up-directories
  Scenario: The directory above one that does not exist does not exist
    A path is followed part by part, and ends where one is not there (https://man7.org/linux/man-pages/man7/path_resolution.7.html).
    Given an open sandbox
    When a command that leaves a mark is run in the directory above one that does not exist
    Then the outcome is set-up failed because the directory was not found
    And the mark is not there

  @id:CWD-017 @must @since:0.1 @profile:core @needs:cwd @mutant:keeps-directories-open
  Scenario: A directory that was removed and made again is the new one
    A worktree was removed in which commands had run before (https://github.com/anthropics/claude-code/issues/18236); the next checkout makes it anew.
    Given an open sandbox
    When a command uses a directory that was removed and made again
    Then standard output is exactly "new\n"

  @id:CWD-018 @must @since:0.1 @profile:core @needs:cwd @mutant:only-texts-look-at-their-directory
  Scenario Outline: Whatever is to run in a directory that does not exist is refused
    A worktree was removed in which commands had run before (https://github.com/anthropics/claude-code/issues/18236).
    Given an open sandbox
    When a command that leaves a mark is run in a directory that does not exist, as <what it is>
    Then the outcome is set-up failed because the directory was not found
    And the mark is not there

    @needs:argv
    Examples:
      | what it is             |
      | a program              |
    @needs:sessions
    Examples:
      | what it is             |
      | a command of a session |

  @id:CWD-019 @must @since:0.1 @profile:core @needs:cwd @mutant:cuts-names-of-directories @mutant:directories-in-1024-bytes
  Scenario Outline: A directory is entered however long its name or its path is
    A name may have 255 bytes, and a path 4095 (https://man7.org/linux/man-pages/man7/path_resolution.7.html); buffers for them are often smaller.
    Given an open sandbox
    When a command in a directory whose <part is long> prints its working directory
    Then it is this directory

    Examples:
      | part is long                  |
      | name has 255 bytes            |
      | path has more than 3000 bytes |
