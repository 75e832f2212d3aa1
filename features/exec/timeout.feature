Feature: TIMEOUT: a deadline ends the command, not only the client
  What an agent starts must not outlive its permission to run.

  @id:TIMEOUT-001 @must @since:0.1 @profile:core @needs:timeout @mutant:deadlines-come-late @mutant:deadline-as-exit-124
  Scenario: A command that runs too long is told as timed out, on time
    The error for a deadline was raised only after the command had ended (https://github.com/daytonaio/daytona/issues/2602).
    Given an open sandbox
    When a command keeps a beat, with a deadline of 1 second
    Then the outcome is timed out, no later than 1 second after the deadline

  @id:TIMEOUT-002 @must @since:0.1 @profile:core @needs:timeout @mutant:deadline-loses-output
  Scenario: What was printed before the deadline is kept
    Output collected before the deadline was thrown away (https://github.com/SWE-agent/SWE-ReX/issues/29).
    Given an open sandbox
    When a command prints "so far\n" and keeps a beat, with a deadline of 1 second
    Then the outcome is timed out
    And standard output is exactly "so far\n"

  @id:TIMEOUT-003 @must @since:0.1 @profile:core @needs:timeout @mutant:deadline-ends-only-the-call
  Scenario: A command is dead when its deadline is told
    With a cloud service the deadline ended the request while the command ran on (https://github.com/e2b-dev/E2B/issues/500).
    Given an open sandbox
    When a command keeps a beat, with a deadline of 1 second
    Then the outcome is timed out
    And the beat has stopped
    And the sandbox still runs commands

  @id:TIMEOUT-004 @must @since:0.1 @profile:core @needs:timeout,kill_scope=tree @mutant:kills-only-the-process-group
  Scenario Outline: A worker that left the process group dies with its command
    Descendants that called setsid survived the kill (https://github.com/NousResearch/hermes-agent/pull/94187).
    Given an open sandbox
    When a command starts <a worker> that keeps a beat, with a deadline of 1 second
    Then the outcome is timed out, no later than 1 second after the deadline
    And the beat has stopped
    And the sandbox still runs commands

    Examples:
      | a worker                                       |
      | a worker in a session of its own               |
      | a worker whose parents have all ended          |
      | a worker without the variables of its command  |

  @id:TIMEOUT-005 @must @since:0.1 @profile:core @needs:timeout @mutant:deadline-ends-only-the-shell @mutant:deadline-ends-only-the-call
  Scenario: What a command runs in the background dies with it
    On a deadline only the client was killed, and the tree ran on until no process could be started (https://github.com/NousResearch/hermes-agent/issues/84967).
    Given an open sandbox
    When a command starts a worker that keeps a beat, with a deadline of 1 second
    Then the outcome is timed out
    And the beat has stopped

  @id:TIMEOUT-006 @must @since:0.1 @profile:core @needs:timeout @mutant:deadline-asks-politely
  Scenario: A command that ignores requests to end is ended
    A stop that reached only the wrapper left its children burning processor time for hours (https://github.com/NousResearch/hermes-agent/pull/43499).
    Given an open sandbox
    When a command that ignores requests to end keeps a beat, with a deadline of 1 second
    Then the outcome is timed out, no later than 1 second after the deadline
    And the beat has stopped

  @id:TIMEOUT-007 @must @since:0.1 @profile:core @needs:timeout @mutant:every-deadline-strikes @mutant:waits-for-the-deadline @mutant:leaves-deadlines-to-a-tool
  Scenario Outline: A command that ends in time has not timed out, whatever its code
    The first command timed out at once (https://github.com/OpenHands/OpenHands/issues/9147). The codes by which tools such as timeout tell
    that a deadline has passed are codes that a command may end with by itself.
    Given an open sandbox
    When a command with a deadline of 30 seconds exits with code <code>
    Then the outcome is exited with code <code>
    And it was answered within 5 seconds

    Examples:
      | code |
      | 3    |
      | 124  |
      | 125  |
      | 137  |
      | 143  |

  @id:TIMEOUT-008 @must @since:0.1 @profile:core @needs:timeout @mutant:deadline-ends-the-sandbox
  Scenario: A sandbox lives on, with its files, after a deadline
    Killing the sandbox to end one slow command made a dead session of it (https://github.com/NousResearch/hermes-agent/pull/90226).
    Given an open sandbox
    And a command left a mark in its working directory
    When a command keeps a beat, with a deadline of 1 second
    Then the outcome is timed out
    And the next command finds the mark in its own

  @id:TIMEOUT-009 @must @since:0.1 @profile:core @needs:timeout,zero_timeout=none @mutant:zero-strikes-at-once
  Scenario: A deadline of zero is no deadline
    Zero meant no limit to one backend and was refused by another (https://github.com/langchain-ai/deepagents/pull/1558).
    Given an open sandbox
    When a command with a deadline of 0 seconds runs for a moment
    Then the outcome is exited with code 0

  @id:TIMEOUT-010 @must @since:0.1 @profile:core @needs:timeout @mutant:deadline-waits-for-room
  Scenario: A deadline strikes although nobody takes the output
    A reader that waits for its streams to close hung past its own deadline (https://github.com/openai/codex/issues/4337).
    Given an open sandbox
    When a command keeps a beat and floods a caller that takes nothing, until its deadline of 1 second
    Then the beat stops within 2 seconds after the deadline
    And the command is answered as timed out

  @id:TIMEOUT-011 @must @since:0.1 @profile:core @needs:cancel @mutant:cancel-is-a-deadline @mutant:cancel-ends-only-the-call
  Scenario: A command that its caller cancels is dead and told as cancelled
    A stop by the user and a lost client looked the same, and the result was dropped (https://github.com/NousResearch/hermes-agent/issues/84207).
    Given an open sandbox
    And a command that keeps a beat
    When the command is cancelled
    Then the outcome is cancelled
    And the beat has stopped
    And the sandbox still runs commands

  @id:TIMEOUT-012 @must @since:0.1 @profile:core @needs:timeout @mutant:deadlines-in-whole-seconds @mutant:deadlines-rounded-up @mutant:short-deadlines-are-none
  Scenario Outline: A deadline that is no whole number of seconds is kept
    What one layer took for seconds was milliseconds to the next, and every command ended at once (https://github.com/OpenHands/OpenHands/issues/9147).
    Given an open sandbox
    When a command keeps a beat with a deadline of <few> milliseconds, and then one of <more>
    Then the outcome is timed out, each at its own deadline

    Examples:
      | few  | more |
      | 1900 | 2100 |
      | 1    | 201  |

  @id:TIMEOUT-013 @must @since:0.1 @profile:core @needs:timeout,streams_apart,streams=apart @mutant:deadline-loses-errors @mutant:deadline-loses-output
  Scenario: What was written as an error before the deadline is kept, too
    Output collected before the deadline was thrown away (https://github.com/SWE-agent/SWE-ReX/issues/29).
    Given an open sandbox
    When a command prints on both streams and keeps a beat, with a deadline of 1 second
    Then the outcome is timed out
    And standard output is all that was printed
    And standard error is all that was printed

  @id:TIMEOUT-014 @should @since:0.1 @profile:core @needs:timeout @mutant:goes-by-the-wall-clock
  Scenario: A command lives until its deadline although the clock jumps ahead
    One command with one limit ended differently from run to run; only a clock of the caller's own can tell (https://github.com/apache/airflow/pull/72910).
    Given a world whose clock is about to jump ahead
    And an open sandbox
    When a command keeps a beat, with a deadline of 4 second
    Then the outcome is timed out, no later than 1 second after the deadline
    And the beat has stopped

  @id:TIMEOUT-015 @should @since:0.1 @profile:core @needs:timeout @mutant:goes-by-the-wall-clock
  Scenario: A command that ends in time has not timed out although the clock has jumped ahead
    The first command timed out at once (https://github.com/OpenHands/OpenHands/issues/9147).
    Given a world whose clock is about to jump ahead
    And an open sandbox
    When a command with a deadline of 30 seconds runs for some seconds
    Then the outcome is exited with code 0

  @id:TIMEOUT-016 @must @since:0.1 @profile:core @needs:timeout @mutant:output-restarts-the-deadline @mutant:errors-restart-the-deadline @mutant:input-restarts-the-deadline @mutant:tool-calls-restart-the-deadline @mutant:deadline-ends-only-the-call @mutant:deadline-ends-only-the-shell @mutant:deadlines-come-late
  Scenario Outline: A deadline counts from the start, whatever a command is busy with
    Where a deadline did not end a command, it ran without a bound (https://github.com/langchain-ai/deepagents/pull/1756); one that any sign of life puts off never ends a busy command.
    Given an open sandbox
    When a command <is busy> again and again and keeps a beat, with a deadline of 1 second
    Then the outcome is timed out, no later than 1 second after the deadline
    And the beat has stopped

    Examples:
      | is busy   |
      | prints    |
      | complains |

    @needs:stdin_stream
    Examples:
      | is busy     |
      | takes input |

    @needs:rpc
    Examples:
      | is busy      |
      | asks a tool  |

  @id:TIMEOUT-017 @must @since:0.1 @profile:core @needs:timeout @mutant:deadlines-in-32-bits @mutant:deadlines-in-nanoseconds @mutant:deadlines-in-63-bits
  Scenario Outline: A deadline that is far away does not strike at once
    Timers that count in 32 bits take 25 days for no time at all (https://nodejs.org/api/timers.html#settimeoutcallback-delay-args), and the first command timed out at once
    (https://github.com/OpenHands/OpenHands/issues/9147).
    Given an open sandbox
    When a command with a deadline of <many> seconds runs for a moment
    Then the outcome is exited with code 0

    Examples: just beyond what 32 bits hold in milliseconds, and a month, a thousand years, the most that every reader of JSON takes, and that 64 bits hold
      | many          |
      | 18446744073709551 |
      | 2147484       |
      | 4294968       |
      | 2592000       |
      | 31556952000   |
      | 9007199254740 |

  @id:TIMEOUT-018 @must @since:0.1 @profile:core @needs:timeout,argv @mutant:deadlines-only-for-shells @mutant:deadline-as-exit-124 @mutant:deadline-ends-only-the-call @mutant:deadlines-come-late
  Scenario: A program that no shell starts is ended at its deadline, too
    Remote commands ran without a bound, since the deadline that was given never reached them (https://github.com/langchain-ai/deepagents/pull/1756).
    Given an open sandbox
    When a program keeps a beat, with a deadline of 1 second
    Then the outcome is timed out, no later than 1 second after the deadline
    And the beat has stopped

  @id:TIMEOUT-019 @must @since:0.1 @profile:core @needs:timeout,concurrency @mutant:one-deadline-for-a-sandbox
  Scenario: Commands at the same time have each their own deadline
    Where a deadline did not end a command, it ran without a bound (https://github.com/langchain-ai/deepagents/pull/1756); one clock for many commands forgets all deadlines but one.
    Given an open sandbox
    When one of 5 commands that have a deadline each runs into its own
    Then the outcome is timed out, no later than 1 second after the deadline
    And each of the others has received its own number and nothing else

  @id:TIMEOUT-020 @must @since:0.1 @profile:core @needs:timeout @mutant:believes-what-dies-at-its-deadline
  Scenario: A command that is at its deadline has timed out, whatever code it ends with then
    A trap decides what code a shell ends with, and so says nothing of why it was to end (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#trap).
    Given an open sandbox
    When a command that exits with 0 when it is asked to end keeps a beat, with a deadline of 1 second
    Then the outcome is timed out, no later than 1 second after the deadline
    And the beat has stopped

  @id:TIMEOUT-021 @must @since:0.1 @profile:core @needs:timeout @mutant:waits-for-those-that-are-stopped
  Scenario: A command that is stopped is ended at its deadline
    What is stopped takes no other signal than the one that kills (https://pubs.opengroup.org/onlinepubs/9799919799/functions/V3_chap02.html#tag_16_04_03).
    Given an open sandbox
    When a command that stops itself keeps a beat, with a deadline of 1 second
    Then the outcome is timed out, no later than 1 second after the deadline
    And the beat has stopped

  @id:TIMEOUT-022 @must @since:0.1 @profile:core @needs:timeout,left_behind=keep @mutant:deadlines-wait-for-who-holds-the-output
  Scenario: A command that has ended has not timed out, although a worker of it still holds its output
    A call blocked for ever when its command had started a server in the background (https://github.com/NousResearch/hermes-agent/pull/10584).
    Given an open sandbox
    When a command with a deadline of 2 seconds leaves a worker that holds its output
    Then the outcome is exited with code 0

  @id:TIMEOUT-023 @must @since:0.1 @profile:core @needs:timeout,left_behind=keep @mutant:a-deadline-ends-what-was-left-behind
  Scenario: A deadline leaves alone what other commands have left behind
    Servers that had been started for later did not live as long as they were needed (https://github.com/google-gemini/gemini-cli/issues/13225).
    Given an open sandbox
    And a command that has left a beat behind
    When a command with a deadline of 1 seconds runs for some seconds
    Then the outcome is timed out
    And the beat goes on

  @id:TIMEOUT-024 @must @since:0.1 @profile:core @needs:timeout @mutant:old-deadlines-strike-whoever-runs
  Scenario: The deadline of a command that has ended strikes no other
    The number of a process that has ended may be another one's by now (https://man7.org/linux/man-pages/man2/pidfd_send_signal.2.html), and a timer that was
    not stopped strikes whoever has it.
    Given an open sandbox
    When a command with a deadline of 1 seconds runs for a moment
    And a command is silent for 3 seconds before it ends
    Then the outcome is exited with code 0

  @id:TIMEOUT-025 @must @since:0.1 @profile:core @needs:timeout,stdin @mutant:deadlines-wait-for-input-to-be-read
  Scenario: A command that does not read its input is ended at its deadline
    A deadline was only looked at when all of the input had been written, so that it never came where nobody read (https://github.com/python/cpython/pull/142058).
    Given an open sandbox
    When a command does not read its input and keeps a beat, with a deadline of 1 second
    Then the outcome is timed out, no later than 1 second after the deadline
    And the beat has stopped
