Feature: CANCEL: what its caller does not want any more ends, and nothing else
  A cancel reaches the whole command, keeps what it had said, and touches nobody else.

  @id:CANCEL-001 @should @since:0.1 @profile:core @needs:cancel @mutant:cancel-kills-at-once
  Scenario: A cancelled command is asked to end before it is made to
    A command that would have cleaned up was never asked to, since no signal reached it (https://github.com/moby/moby/issues/35703).
    Given an open sandbox
    And a command that says farewell when it is asked to end
    When the command is cancelled
    Then the outcome is cancelled
    And standard output is exactly "farewell\n"

  @id:CANCEL-002 @must @since:0.1 @profile:core @needs:cancel @mutant:cancel-only-asks
  Scenario: A command that ignores requests to end is ended by a cancel
    An interrupt ended the call while the command ran on, and its output turned up in a later one (https://github.com/NousResearch/hermes-agent/issues/65298).
    Given an open sandbox
    And a command that ignores requests to end and keeps a beat
    When the command is cancelled
    Then the outcome is cancelled
    And the beat has stopped

  @id:CANCEL-003 @must @since:0.1 @profile:core @needs:cancel,kill_scope=tree @mutant:cancel-ends-only-the-group
  Scenario Outline: A worker that left the process group dies when its command is cancelled
    A worker whose parent is the first process could not be found when its command was cancelled (https://github.com/NousResearch/hermes-agent/pull/85042).
    Given an open sandbox
    And a command that starts <a worker> that keeps a beat
    When the command is cancelled
    Then the outcome is cancelled
    And the beat has stopped

    Examples:
      | a worker                                       |
      | a worker in a session of its own               |
      | a worker whose parents have all ended          |
      | a worker without the variables of its command  |

  @id:CANCEL-004 @must @since:0.1 @profile:core @needs:cancel,streams_apart,streams=apart @mutant:cancel-loses-output
  Scenario: What a cancelled command has printed is kept
    A stop by the user and a lost client looked the same, and the result was dropped without a word (https://github.com/NousResearch/hermes-agent/issues/84207).
    Given an open sandbox
    And a command that prints on both streams and keeps a beat
    When the command is cancelled
    Then the outcome is cancelled
    And standard output is all that was printed
    And standard error is all that was printed

  @id:CANCEL-005 @must @since:0.1 @profile:core @needs:cancel @mutant:never-answers-a-late-cancel
  Scenario: A command that ends while it is cancelled is answered once, and truly
    A kill did nothing, since the process that it was meant for had ended a moment before (https://github.com/NousResearch/hermes-agent/pull/12032).
    Given an open sandbox
    When 20 commands are cancelled as they are about to end
    Then each was answered once, and truly
    And the sandbox still runs commands

  @id:CANCEL-006 @must @since:0.1 @profile:core @needs:cancel @mutant:cancels-what-does-not-run
  Scenario Outline: Cancelling what does not run is refused
    A kill of what is not there says so, and does no harm (https://man7.org/linux/man-pages/man2/kill.2.html).
    Given an open sandbox
    When the backend is told to cancel a command that <does not run>
    Then the call is refused because no such command runs

    Examples:
      | does not run |
      | never was    |
      | has ended    |

  @id:CANCEL-007 @must @since:0.1 @profile:core @needs:signal @mutant:signals-what-does-not-run
  Scenario Outline: A signal to what does not run is refused
    The number of a process that has ended may be another one's by now (https://man7.org/linux/man-pages/man2/pidfd_send_signal.2.html).
    Given an open sandbox
    When the backend is told to signal a command that <does not run>
    Then the call is refused because no such command runs

    Examples:
      | does not run |
      | never was    |
      | has ended    |

  @id:CANCEL-008 @must @since:0.1 @profile:core @needs:cancel,concurrency @mutant:cancel-ends-all
  Scenario: One of several commands is cancelled, and the others go on
    Parallel callers shared a session and interrupted each other's commands (https://github.com/microsoft/vscode/issues/292222).
    Given an open sandbox
    When one of 5 commands is cancelled
    Then the outcome is cancelled
    And each of the others has received its own number and nothing else

  @id:CANCEL-009 @must @since:0.1 @profile:core @needs:signal @mutant:every-signal-is-sigterm @mutant:drops-harmless-signals
  Scenario Outline: A command is sent the very signal that was asked for
    What was sent to the client of a command did not reach the command behind it (https://github.com/docker/cli/issues/5309).
    Given an open sandbox
    When a command that exits with code 4 on signal <signal> is sent that signal
    Then the outcome is exited with code 4

    Examples:
      | signal |
      | 1      |
      | 2      |
      | 12     |
      | 15     |
      | 3      |
      | 14     |
      | 23     |
      | 28     |

  @id:CANCEL-010 @must @since:0.1 @profile:core @needs:cancel @mutant:cancel-waits-for-room
  Scenario: A command that floods a caller that takes nothing can be cancelled
    A reader that waits for its streams to close hung past every limit (https://github.com/openai/codex/issues/4337).
    Given an open sandbox
    And a command that keeps a beat and floods a caller that takes nothing
    When the command is cancelled
    Then the outcome is cancelled
    And the beat has stopped
    And the sandbox still runs commands

  @id:CANCEL-011 @must @since:0.1 @profile:core @needs:cancel @mutant:overlooks-an-early-cancel
  Scenario: A command can be cancelled as soon as it is asked for
    An interrupt ended the call that had asked, and the command ran all the same (https://github.com/NousResearch/hermes-agent/issues/65298).
    Given an open sandbox
    When a command that leaves a mark is cancelled as soon as it is asked for
    Then the outcome is cancelled
    And the mark is not there

  @id:CANCEL-012 @must @since:0.1 @profile:jobs @needs:jobs,concurrency @mutant:cancel-ends-jobs @mutant:deadlines-end-jobs
  Scenario Outline: A command that is ended early takes no job with it
    To end one slow command the whole sandbox was killed, and with it the session (https://github.com/NousResearch/hermes-agent/pull/90226).
    Given an open sandbox
    When a job keeps a beat
    And one of 2 commands <is ended early>
    Then the outcome is <so>
    And the beat goes on
    And the job is told to run, for as long as it does

    @needs:cancel
    Examples:
      | is ended early          | so         |
      | is cancelled            | cancelled  |
    @needs:timeout
    Examples:
      | is ended early          | so         |
      | runs into its deadline  | timed out  |

  @id:CANCEL-013 @must @since:0.1 @profile:core @needs:cancel,concurrency,left_behind=keep @mutant:cancel-ends-what-was-left-behind
  Scenario: A cancel leaves alone what other commands have left behind
    Servers that had been started for later did not live as long as they were needed (https://github.com/google-gemini/gemini-cli/issues/13225).
    Given an open sandbox
    And a command that has left a beat behind
    When one of 2 commands is cancelled
    Then the outcome is cancelled
    And the beat goes on

  @id:CANCEL-014 @must @since:0.1 @profile:core @needs:timeout,concurrency @mutant:a-deadline-ends-all
  Scenario: One of several commands runs into its deadline, and the others go on
    To end one slow command the whole sandbox was killed, and with it the session (https://github.com/NousResearch/hermes-agent/pull/90226).
    Given an open sandbox
    When one of 5 commands runs into its deadline
    Then the outcome is timed out
    And each of the others has received its own number and nothing else

  @id:CANCEL-015 @must @since:0.1 @profile:core @needs:cancel @mutant:forgets-further-cancels @mutant:refuses-a-second-cancel
  Scenario: A command that takes its time to end can be cancelled again and again
    An interrupt left the command running (https://github.com/NousResearch/hermes-agent/issues/65298); whoever sees that sends another.
    Given an open sandbox
    And a command that ignores requests to end and keeps a beat
    When the command is cancelled again and again
    Then the outcome is cancelled
    And the beat has stopped
    And the sandbox still runs commands

  @id:CANCEL-016 @must @since:0.1 @profile:core @mutant:takes-a-stop-for-the-end
  Scenario Outline: A command that is stopped and goes on comes to its own end
    Who waits for a process is told of stops, too, if he asks for them, and one that has stopped has not ended (https://man7.org/linux/man-pages/man2/waitpid.2.html).
    Given an open sandbox
    When a command writes two lines, stopped in between by <whom>
    Then the outcome is exited with code 0
    And standard output is all that was printed

    Examples:
      | whom   |
      | itself |

    @needs:signal
    Examples:
      | whom       |
      | its caller |

  @id:CANCEL-017 @must @since:0.1 @profile:core @needs:concurrency @mutant:cancels-by-the-beginning-of-names @mutant:cancels-in-any-case @mutant:signals-by-the-beginning-of-names @mutant:feeds-by-the-beginning-of-names @mutant:gives-room-by-the-beginning-of-names
  Scenario Outline: Of commands whose names are alike, only the one that is named is meant
    What looks for a process by a pattern finds each that has the pattern anywhere in its words (https://man7.org/linux/man-pages/man1/pgrep.1.html).
    Given an open sandbox
    When one of 6 commands whose names are alike <is meant>
    Then the outcome is <so>
    And each of the others has received its own number and nothing else

    Examples:
      | is meant      | so                 |
      | is given room | exited with code 0 |

    @needs:cancel
    Examples:
      | is meant     | so        |
      | is cancelled | cancelled |

    @needs:signal
    Examples:
      | is meant         | so                 |
      | is sent a signal | exited with code 4 |

    @needs:stdin_stream
    Examples:
      | is meant | so                 |
      | is fed   | exited with code 0 |

  @id:CANCEL-018 @must @since:0.1 @profile:core @needs:cancel @mutant:waits-for-those-that-are-stopped
  Scenario: A command that is stopped can be cancelled
    What is stopped takes no other signal than the one that kills (https://pubs.opengroup.org/onlinepubs/9799919799/functions/V3_chap02.html#tag_16_04_03).
    Given an open sandbox
    And a command that stops itself and keeps a beat
    When the command is cancelled
    Then the outcome is cancelled
    And the beat has stopped

  @id:CANCEL-019 @must @since:0.1 @profile:core @needs:signal @mutant:takes-any-signal @mutant:signals-in-a-byte
  Scenario Outline: A signal that there is not is refused, and none is sent
    What is sent instead reaches somebody who cannot expect it (https://man7.org/linux/man-pages/man2/kill.2.html).
    Given an open sandbox
    And a command that keeps a beat
    When the backend is told to send signal <number> to a command that runs
    Then the call is refused as an invalid argument
    And the beat goes on

    Examples: just beyond the last, one that is 15 in eight bits, and one that is none
      | number |
      | 65     |
      | 271    |
      | -15    |

  @id:CANCEL-020 @must @since:0.1 @profile:core @needs:cancel,stdin @mutant:cancel-waits-for-input-to-be-read
  Scenario: A command that does not read its input can be cancelled
    Whoever writes all of the input before looking at anything else waits for a reader that never comes (https://github.com/python/cpython/pull/142058).
    Given an open sandbox
    And a command that keeps a beat and does not read its input
    When the command is cancelled
    Then the outcome is cancelled
    And the beat has stopped

  @id:CANCEL-021 @must @since:0.1 @profile:core @needs:cancel,argv @mutant:cancels-only-texts
  Scenario: A program that no shell starts can be cancelled, too
    An interrupt ended the call while the command ran on (https://github.com/NousResearch/hermes-agent/issues/65298); what is started in another way is ended in another way.
    Given an open sandbox
    And a command that keeps a beat, as a program
    When the command is cancelled
    Then the outcome is cancelled
    And the beat has stopped

  @id:CANCEL-022 @must @since:0.1 @profile:core @needs:signal,argv @mutant:signals-only-texts
  Scenario: A program that no shell starts is sent the very signal that was asked for, too
    What was sent to the client of a command did not reach the command behind it (https://github.com/docker/cli/issues/5309).
    Given an open sandbox
    When a program that exits with code 4 on signal 12 is sent that signal
    Then the outcome is exited with code 4

  @id:CANCEL-023 @must @since:0.1 @profile:core @needs:signal @mutant:sends-thirty-one-signals
  Scenario: A signal of real time is sent as any other
    There are 64 signals, of which the upper half has no names (https://man7.org/linux/man-pages/man7/signal.7.html).
    Given an open sandbox
    When a command that exits with code 4 on signal 64 is sent that signal
    Then the outcome is exited with code 4
