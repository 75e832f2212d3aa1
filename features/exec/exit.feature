Feature: EXIT: how a command ended is told as it was
  The exit code is the command's own. What is not known is never a number.

  @id:EXIT-001 @must @since:0.1 @profile:core @mutant:success-for-all @mutant:cuts-exit-codes-to-seven-bits @mutant:reads-codes-as-signals
  Scenario Outline: The exit code of a command is told unchanged
    A workload that ended with 13 was reported as 0 (https://github.com/moby/moby/issues/35497).
    Given an open sandbox
    When a command exits with code <code>
    Then the outcome is exited with code <code>

    Examples:
      | code |
      | 0    |
      | 1    |
      | 2    |
      | 70   |
      | 125  |
      | 126  |
      | 127  |
      | 128  |
      | 130  |
      | 137  |
      | 143  |
      | 254  |
      | 255  |

  @id:EXIT-002 @must @since:0.1 @profile:core @mutant:reads-124-as-a-deadline
  Scenario: A command that exits with 124 by itself has not timed out
    Where only numbers are told, an exit with 124 cannot be told from a deadline (https://github.com/apache/airflow/pull/72910).
    Given an open sandbox
    When a command exits with code 124
    Then the outcome is exited with code 124

  @id:EXIT-003 @must @since:0.1 @profile:core @mutant:signals-as-exit-codes @mutant:takes-the-core-for-the-signal @mutant:knows-thirty-one-signals @mutant:forgives-broken-pipes @mutant:hangups-are-lost-sandboxes @mutant:knows-sixty-three-signals
  Scenario Outline: A command that a signal ended is told with the signal
    The kill of a tool's shell was recorded as success (https://github.com/vm0-ai/vm0/issues/33855).
    Given an open sandbox
    When a command ends itself with signal <signal>
    Then the outcome is ended by signal <signal>

    Examples:
      | signal |
      | 9      |
      | 15     |
      | 6      |
      | 11     |
      | 13     |
      | 40     |
      | 1      |
      | 2      |
      | 8      |
      | 64     |

  @id:EXIT-004 @must @since:0.1 @profile:core @mutant:minus-one-for-an-unknown-command
  Scenario: A command that the shell does not find exits with 127 and says so
    An unknown command gave -1 and no text (https://github.com/daytonaio/daytona/issues/2283).
    Given an open sandbox
    When a command names a program that does not exist
    Then the outcome is exited with code 127
    And the output names the program

  @id:EXIT-005 @must @since:0.1 @profile:core @mutant:cannot-run-as-not-found
  Scenario: A command that may not be run exits with 126
    The code of a command that cannot start depended on a race (https://github.com/moby/moby/issues/45795).
    Given an open sandbox
    When a command names a file that is no program
    Then the outcome is exited with code 126

  @id:EXIT-006 @must @since:0.1 @profile:core @needs:timeout @mutant:death-by-signal-is-a-deadline
  Scenario: A command that ends itself by a signal before its deadline has not timed out
    A command that timed out came back as -1 on one run and as 137 on the next, so numbers prove nothing (https://github.com/apache/airflow/pull/72910).
    Given an open sandbox
    When a command with a deadline of 30 seconds ends itself with signal 15
    Then the outcome is ended by signal 15

  @id:EXIT-007 @must @since:0.1 @profile:core @needs:argv @mutant:set-up-failures-as-exit-codes @mutant:has-a-shell-run-what-is-no-program
  Scenario Outline: A program that does not exist is a failure of the set-up, not of a command
    Set-up that failed before the command started looked like the command's own failure (https://github.com/openai/codex/issues/15982).
    Given an open sandbox
    When a program <that is not there> is run
    Then the outcome is set-up failed because the program was not found

    Examples:
      | that is not there                 |
      | that does not exist               |
      | that only a shell has within itself |

  @id:EXIT-008 @must @since:0.1 @profile:core @mutant:empty-text-is-an-error
  Scenario Outline: A command that does nothing is a success
    Commands without output were reported as failures with a false exit code (https://github.com/cline/cline/issues/13272).
    Given an open sandbox
    When a command that is <nothing> is run
    Then the outcome is exited with code 0
    And standard output is empty
    And standard error is empty

    Examples:
      | nothing         |
      | empty           |
      | only a comment  |
      | only blank lines |

  @id:EXIT-009 @must @since:0.1 @profile:core @needs:signal @mutant:swallows-signals
  Scenario: A signal that the caller sends reaches the command
    The engine had no call to signal a running command, and signals to its client never reached it (https://github.com/moby/moby/issues/35703).
    Given an open sandbox
    When a command that exits with code 3 on signal 10 is sent that signal
    Then the outcome is exited with code 3

  @id:EXIT-010 @must @since:0.1 @profile:core @mutant:minus-one-for-an-unknown-command @mutant:reads-text-as-options
  Scenario: Text that begins like an option is a command
    What follows -c is taken for an option when it begins with a dash and nothing marks the end of options (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/sh.html).
    Given an open sandbox
    When a command that is a dash and a letter is run
    Then the outcome is exited with code 127

  @id:EXIT-011 @must @since:0.1 @profile:core @mutant:ignores-broken-pipes
  Scenario: A writer whose reader has gone is ended, as a shell's users expect
    A helper that ran on at the far end of a pipe kept a command from ending (https://github.com/openai/codex/issues/7846).
    Given an open sandbox
    When a command that leaves a mark is abandoned by its reader
    Then standard output is exactly "y\n"
    And the mark is not there

  @id:EXIT-012 @must @since:0.1 @profile:core @mutant:every-kill-is-lack-of-memory
  Scenario: A command that was killed is not told as out of memory for it
    Kills for lack of memory and other kills have the same number, and only the engine's own flag tells them apart (https://github.com/google/gvisor/pull/14679).
    Given an open sandbox
    When a command ends itself with signal 9
    Then the outcome is not told as a lack of memory

  @id:EXIT-013 @should @since:0.1 @profile:core @mutant:never-tells-a-lack-of-memory
  Scenario: A command that was killed for lack of memory is told so
    A kill for lack of memory was recorded as success (https://github.com/vm0-ai/vm0/issues/33855).
    Given a world with little memory
    And an open sandbox
    When a command uses more memory than there is
    Then the outcome is ended by a signal, for lack of memory
    And the sandbox still runs commands

  @id:EXIT-014 @must @since:0.1 @profile:core @needs:timeout @mutant:durations-in-seconds
  Scenario: How long a command ran is told
    What one layer took for seconds was milliseconds to the next (https://github.com/OpenHands/OpenHands/issues/9147).
    Given an open sandbox
    When a command with a deadline of 30 seconds runs for a moment
    Then it was told to have run as long as it did

  @id:EXIT-015 @must @since:0.1 @profile:core @mutant:commands-ignore-interrupts
  Scenario Outline: A command ignores no signal that it has not chosen to ignore
    What nohup starts, and what a shell starts in the background, ignores signals, and hands that on to all that it starts (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/nohup.html).
    Given an open sandbox
    When a command that leaves a mark is ended by signal <signal> of its own first
    Then the mark is not there

    Examples:
      | signal |
      | 1      |
      | 2      |
      | 10     |
      | 12     |
      | 14     |

  @id:EXIT-016 @must @since:0.1 @profile:core @needs:argv @mutant:programs-that-exit-like-shells-never-ran
  Scenario Outline: A program that was started has exited with its code, whatever that code says where a shell tells it
    Only a shell says by 126 and 127 that something could not be started (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_08_02).
    Given an open sandbox
    When a program exits with code <code>
    Then the outcome is exited with code <code>

    Examples:
      | code |
      | 125  |
      | 126  |
      | 127  |

  @id:EXIT-017 @must @since:0.1 @profile:core @mutant:the-end-of-output-is-the-end
  Scenario: A command that closes its outputs runs on, and ends with its own code
    The end of a file is not the end of the process that had it open (https://man7.org/linux/man-pages/man7/pipe.7.html).
    Given an open sandbox
    When a command whose text closes its outputs and exits with 5 a second later is run
    Then the outcome is exited with code 5

  @id:EXIT-018 @must @since:0.1 @profile:core @needs:timeout @mutant:no-duration-at-a-deadline
  Scenario: How long a command ran is told where it had to be ended, too
    What one layer took for seconds was milliseconds to the next (https://github.com/OpenHands/OpenHands/issues/9147); of a command that was ended it is what one looks at first.
    Given an open sandbox
    When a command keeps a beat, with a deadline of 1 second
    Then the outcome is timed out
    And it was told to have run as long as it did
