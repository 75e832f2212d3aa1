Feature: CWD: a command runs where it was told to
  A directory is data, checked on every call, and never replaced by another without a word.

  @id:CWD-001 @must @since:0.1 @profile:core @mutant:starts-at-the-root
  Scenario: Without a directory, commands share one that they can write to
    A fresh session stood in a directory that was gone (https://github.com/NousResearch/hermes-agent/issues/107156).
    Given an open sandbox
    When a command leaves a mark in its working directory
    Then the next command finds the mark in its own

  @id:CWD-002 @must @since:0.1 @profile:core @needs:cwd @mutant:ignores-the-directory
  Scenario: A command starts in the directory it is given
    An inherited variable overrode the directory that was asked for (https://github.com/NousResearch/hermes-agent/issues/95078).
    Given an open sandbox
    And a directory named "elsewhere"
    When a command in this directory prints its working directory
    Then it is this directory

  @id:CWD-003 @must @since:0.1 @profile:core @needs:cwd @mutant:splits-directories-at-blanks @mutant:expands-directories
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
      | ~                |
      | grün-日本        |
      | semi;colon&      |

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
