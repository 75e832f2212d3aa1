Feature: SHELL: the shell reads a command's text as it was written
  One text is one program in a shell of its own: nothing is put into it, nothing of it reaches another command, and nobody else is seen in it.

  @id:SHELL-001 @must @since:0.1 @profile:core @mutant:errexit-ends-the-session
  Scenario: A text that asks to end at the first failure ends only itself
    A text that turned on errexit poisoned the shell of all, and the next failing command ended the session (https://github.com/OpenHands/OpenHands/pull/10821).
    Given an open sandbox
    When a command whose text turns on errexit and then fails with 7 is run
    Then the outcome is exited with code 7
    And standard output is what that text asks for
    And the sandbox still runs commands

  @id:SHELL-002 @must @since:0.1 @profile:core @mutant:nounset-ends-the-session
  Scenario: A text that asks to end at an unset variable ends only itself
    Nounset ended a session as errexit did (https://github.com/OpenHands/OpenHands/pull/10821).
    Given an open sandbox
    When a command whose text turns on nounset and then uses what is not set is run
    Then the outcome is a failure that the shell has told
    And the sandbox still runs commands

  @id:SHELL-003 @must @since:0.1 @profile:core @mutant:exec-ends-the-session
  Scenario: A text that replaces its shell by a program replaces no other
    One long-lived shell read all commands, and whatever ended it took the session with it (https://github.com/gofixpoint/amika/pull/342).
    Given an open sandbox
    When a command whose text replaces its shell by a program that exits with 5 is run
    Then the outcome is exited with code 5
    And standard output is what that text asks for
    And the sandbox still runs commands

  @id:SHELL-004 @must @since:0.1 @profile:core @mutant:exit-ends-the-session
  Scenario: A text that exits in its middle ends only itself
    Agents were told not to exit, since that ended the shell of the session (https://github.com/OpenHands/OpenHands/pull/10579).
    Given an open sandbox
    When a command whose text exits with 3 in its middle is run
    Then the outcome is exited with code 3
    And standard output is what that text asks for
    And the sandbox still runs commands

  @id:SHELL-005 @must @since:0.1 @profile:core @mutant:keeps-the-end-of-the-shell-for-itself
  Scenario Outline: What a text asks to have done at its end is done, once, with the code that it ended with
    The action of a trap on EXIT is the text's own (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#trap).
    Given an open sandbox
    When a command whose text has a trap for its end and <ends> is run
    Then the outcome is exited with code 4
    And standard output is what that text asks for

    Examples:
      | ends                  |
      | exits with 4          |
      | comes to its last line |

  @id:SHELL-006 @must @since:0.1 @profile:core @mutant:glues-its-words-to-the-last-line @mutant:glues-a-semicolon-to-the-last-line
  Scenario Outline: The last line of a text may be of any kind
    A wrapper's closing words on the last line were swallowed by a comment, or broke the end of a here-document (https://github.com/zerx-lab/zap/pull/326).
    Given an open sandbox
    When a command whose text ends with <a last line> is run
    Then the outcome is exited with code 0
    And standard output is what that text asks for
    And standard error is empty

    Examples:
      | a last line                           |
      | the end of a here-document            |
      | a comment                             |
      | a comment that ends with a backslash  |
      | a backslash                           |
      | an ampersand                          |
      | a semicolon                           |
      | blank lines                           |

  @id:SHELL-007 @must @since:0.1 @profile:core @mutant:broken-text-ends-the-sandbox
  Scenario Outline: A text that is no program fails at once, in the shell's own words
    Broken text ended the shell of a container, and with it the whole run (https://github.com/SWE-agent/SWE-agent/issues/642).
    Given an open sandbox
    When a command whose text <is broken> is run
    Then it was answered within 5 seconds
    And the outcome is a failure that the shell has told
    And the sandbox still runs commands

    Examples:
      | is broken                       |
      | opens a quote and never closes it |
      | begins a loop and never ends it |
      | closes what it never opened     |

  @id:SHELL-008 @must @since:0.1 @profile:core @mutant:waits-for-the-rest-of-the-text
  Scenario: A here-document without an end does not keep the shell waiting for more
    A here-document made a session wait for the rest of its text (https://github.com/daytonaio/daytona/issues/4230).
    Given an open sandbox
    When a command whose text begins a here-document and never ends it is run
    Then it was answered within 5 seconds
    And the sandbox still runs commands

  @id:SHELL-009 @must @since:0.1 @profile:core @mutant:mends-line-ends
  Scenario: A carriage return in a text is data
    To a shell a carriage return is neither a blank nor the end of a line (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html).
    Given an open sandbox
    When a command whose text has lines that end with a carriage return and a newline is run
    Then standard output is what that text asks for

  @id:SHELL-010 @must @since:0.1 @profile:core @mutant:goes-back-by-cd
  Scenario: A text may give cd, command, printf and pwd other meanings
    A wrapper that calls such words after the text calls what the text has made of them (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html).
    Given an open sandbox
    When a command whose text gives cd, command, printf and pwd other meanings is run
    Then the outcome is exited with code 6
    And standard output is what that text asks for
    And the sandbox still runs commands

  @id:SHELL-011 @must @since:0.1 @profile:core @needs:shell=bash @mutant:ends-by-exit
  Scenario: In Bash a text may give even exit, builtin and trap other meanings
    Bash finds functions before its own special builtins (https://www.gnu.org/software/bash/manual/bash.html#Bash-POSIX-Mode).
    Given an open sandbox
    When a command whose text gives exit, builtin and trap other meanings is run
    Then the outcome is exited with code 6
    And standard output is what that text asks for
    And the sandbox still runs commands

  @id:SHELL-012 @must @since:0.1 @profile:core @mutant:runs-text-from-a-file
  Scenario: A text sees the name of its shell, and no parameters
    The wrapper's own script shone through to whoever asked (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/sh.html).
    Given an open sandbox
    When a command whose text looks at its name and its parameters is run
    Then standard output is what that text asks for

  @id:SHELL-013 @must @since:0.1 @profile:core @mutant:errexit-for-all
  Scenario: No option of the shell is on that the text has not asked for
    Options that were left on ended sessions that had not asked for them (https://github.com/OpenHands/OpenHands/pull/10821).
    Given an open sandbox
    When a command whose text looks at its options is run
    Then standard output is what that text asks for

  @id:SHELL-014 @must @since:0.1 @profile:core @needs:shell=bash @mutant:puts-a-line-before-the-text
  Scenario: The number of a line is that in the text
    Whoever reads of an error in line 3 looks into the third line (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_05_03).
    Given an open sandbox
    When a command whose text tells the number of its third line is run
    Then standard output is what that text asks for

  @id:SHELL-015 @must @since:0.1 @profile:core @mutant:leaves-names-in-the-shell
  Scenario: The shell of a text knows no names that a plain shell does not know
    Bookkeeping of the wrapper ended up in what belonged to the command (https://github.com/NousResearch/hermes-agent/issues/3587).
    Given an open sandbox
    When a command whose text lists the names that no plain shell of its kind knows is run
    Then the outcome is exited with code 0
    And standard output is empty

  @id:SHELL-016 @must @since:0.1 @profile:core @mutant:unquotes-text-once @mutant:empties-lines-of-blanks
  Scenario: A file made by a here-document holds just the lines that were written
    A here-document swallowed the wrapper's own words, which were found in the user's file (https://github.com/NousResearch/hermes-agent/issues/3587).
    Given an open sandbox
    When a command whose text writes a file by a here-document is run
    Then the outcome is exited with code 0
    And a command finds these lines in the file, byte for byte

  @id:SHELL-017 @must @since:0.1 @profile:core @mutant:refuses-several-commands
  Scenario: A text of many lines is one program
    Text that a parser of the backend's own did not understand was not run at all (https://github.com/SWE-agent/SWE-agent/issues/642).
    Given an open sandbox
    When a command whose text is a program of many lines is run
    Then the outcome is exited with code 0
    And standard output is what that text asks for

  @id:SHELL-018 @must @since:0.1 @profile:core @needs:shell=bash @mutant:parses-text-itself
  Scenario: Where the shell is Bash, process substitution and the status of a whole pipeline are there
    What was declared is what callers write for (https://github.com/cline/cline/issues/4313).
    Given an open sandbox
    When a command whose text uses process substitution and pipefail is run
    Then the outcome is exited with code 0
    And standard output is what that text asks for

  @id:SHELL-019 @must @since:0.1 @profile:core @mutant:expands-text-beforehand
  Scenario: What every POSIX shell has is there
    Text that was put between double quotes was expanded by somebody else before its own shell read it (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_06).
    Given an open sandbox
    When a command whose text uses what every POSIX shell has is run
    Then the outcome is exited with code 0
    And standard output is what that text asks for

  @id:SHELL-020 @must @since:0.1 @profile:core @mutant:runs-an-interactive-shell
  Scenario: A worker in the background is not announced
    Only an interactive shell tells the numbers of its jobs (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_09_03_02).
    Given an open sandbox
    When a command whose text starts a worker and waits for it is run
    Then standard output is what that text asks for
    And standard error is empty

  @id:SHELL-021 @must @since:0.1 @profile:core @mutant:feeds-text-to-a-shell
  Scenario: A program that reads its input does not read the rest of the text
    Text that was fed to a shell as its input was swallowed by the first program that read (https://github.com/devlawey/filar/pull/365).
    Given an open sandbox
    When a command whose text reads its input before it goes on is run
    Then the outcome is exited with code 0
    And standard output is what that text asks for

  @id:SHELL-022 @must @since:0.1 @profile:core @mutant:rewrites-sudo @mutant:reads-entities @mutant:decodes-percent-codes @mutant:puts-workers-in-braces
  Scenario Outline: No word of a text is replaced by another
    Every occurrence of a privileged word was rewritten, even in arguments and strings (https://github.com/NousResearch/hermes-agent/pull/6517), and a command that
    was sent into the background became one that no shell could read (https://github.com/NousResearch/hermes-agent/pull/81347).
    Given an open sandbox
    When a command whose text <prints words> is run
    Then standard output is what that text asks for

    Examples:
      | prints words                                       |
      | prints words that a backend might take for its own |
      | prints words that somebody on the way might decode |
      | has a worker in the middle of its line             |

  @id:SHELL-023 @must @since:0.1 @profile:core @mutant:leaves-a-file-open-in-commands @mutant:leaves-a-file-open-in-programs @mutant:leaves-a-file-open-in-sessions
  Scenario Outline: A command is given no open files but its input and its outputs
    A file that a runtime had left open in what it started led out of the container (https://nvd.nist.gov/vuln/detail/CVE-2024-21626).
    Given an open sandbox
    When <a command> names the files that it holds open
    Then it is given no open files but its input and its outputs

    Examples:
      | a command                |
      | a command                |
    @needs:argv
    Examples:
      | a command                |
      | a program                |
    @needs:sessions
    Examples:
      | a command                |
      | a command of the session |

  @id:SHELL-024 @must @since:0.1 @profile:core @mutant:takes-indentation-away @mutant:trims-texts
  Scenario Outline: Blanks in a text stay where they are
    A drawing that was written by a here-document lost all of its indentation, since every line of a text was trimmed (https://github.com/vercel-labs/just-bash/pull/52).
    Given an open sandbox
    When a command whose text <has blanks> is run
    Then the outcome is exited with code 0
    And standard output is what that text asks for

    Examples:
      | has blanks                           |
      | has all of its lines indented        |
      | ends with a blank that is escaped    |

  @id:SHELL-025 @must @since:0.1 @profile:core @mutant:heeds-first-lines @mutant:puts-a-word-before-the-text
  Scenario Outline: However a text begins, it is one for the same shell
    Words that a wrapper puts before a text bind to its first command only, or to none (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_10_02),
    and only a file that is executed has a first line that names who reads it (https://man7.org/linux/man-pages/man2/execve.2.html).
    Given an open sandbox
    When a command whose text begins with <a beginning> is run
    Then the outcome is exited with code 0
    And standard output is what that text asks for

    Examples:
      | a beginning                     |
      | the name of another interpreter |
      | a parenthesis                   |
      | a brace                         |
      | an exclamation mark             |
      | the value of a variable         |
      | blank lines and a comment       |
