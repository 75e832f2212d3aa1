Feature: STREAM: output arrives as it was written
  Every byte, on the stream it was written to, soon.

  @id:STREAM-001 @must @since:0.1 @profile:core @mutant:adds-a-final-newline @mutant:trims-output
  Scenario Outline: Line ends and blanks arrive as they were printed
    An exit code was glued to output that had no final newline, and last lines were dropped (https://github.com/TencentCloud/CubeSandbox/issues/362).
    Given an open sandbox
    When a command prints "<text>"
    Then standard output is exactly "<text>"

    Examples:
      | text                  |
      | no newline at the end |
      | one line\\n            |
      | \\n\\n  leading\\n       |
      | trailing  \\n\\n\\n      |
      | \\tdos\\r\\nlines\\r\\n    |

  @id:STREAM-002 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:errors-into-output
  Scenario: Standard output and standard error arrive apart
    Merged, unbounded output could not be taken apart again (https://github.com/daytonaio/daytona/issues/5144).
    Given an open sandbox
    When a command prints "out\n" and, as an error, "err\n"
    Then standard output is exactly "out\n"
    And standard error is exactly "err\n"

  @id:STREAM-003 @must @since:0.1 @profile:core @needs:stream_bytes=exact @mutant:output-as-text
  Scenario: Every byte value arrives as it was written
    Each buffer was converted to text on its own, and the damage could not be undone (https://github.com/NousResearch/hermes-agent/pull/72324).
    Given an open sandbox
    When a command writes every byte value
    Then standard output is every byte value, in order

  @id:STREAM-004 @must @since:0.1 @profile:core @mutant:holds-output-until-the-end
  Scenario: Output arrives while the command runs
    Silence until the end cannot be told from a hang (https://github.com/SWE-agent/SWE-ReX/issues/9).
    Given an open sandbox
    When a command prints "first" and then waits to be ended
    Then "first" has arrived while it waits

  @id:STREAM-005 @must @since:0.1 @profile:core @mutant:loses-the-tail @mutant:loses-the-end-of-a-full-block
  Scenario Outline: Output arrives whole although the command ends at once, also where it just fills what it goes through
    Short-lived commands lost the end of their output (https://github.com/moby/moby/issues/20951).
    Given an open sandbox
    When a command writes <many> bytes in many pieces
    Then standard output is all that was printed
    And the outcome is exited with code 0

    Examples:
      | many    |
      | 1       |
      | 4096    |
      | 65535   |
      | 65536   |
      | 65537   |
      | 1048576 |

  @id:STREAM-006 @must @since:0.1 @profile:core @mutant:prints-a-banner
  Scenario: Nothing arrives that the command did not print
    The wrapper's own text ended up in what the command had written (https://github.com/NousResearch/hermes-agent/issues/3587).
    Given an open sandbox
    When a command writes nothing
    Then standard output is empty
    And standard error is empty

  @id:STREAM-007 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:reads-one-stream-after-the-other
  Scenario: Much output on both streams at once does not block
    Waiting for the end before reading filled the channel, and both sides waited (https://github.com/paramiko/paramiko/issues/448).
    Given an open sandbox
    When a command prints 1048576 bytes on each stream in turns
    Then the total of standard output is 1048576 bytes
    And the total of standard error is 1048576 bytes

  @id:STREAM-008 @must @since:0.1 @profile:core @needs:concurrency @mutant:mixes-up-commands
  Scenario: Commands that run at the same time get their own output
    Parallel commands were answered with each other's errors (https://github.com/bytedance/deer-flow/issues/1433).
    Given an open sandbox
    When 8 commands that print their own number run at the same time
    Then each has received its own number and nothing else

  @id:STREAM-009 @must @since:0.1 @profile:core @needs:streams=merged @mutant:errors-behind-output
  Scenario: Merged, output and errors arrive as one, in the order of writing
    Where both streams were put behind each other, nobody could tell which error came of what (https://github.com/daytonaio/daytona/issues/5144).
    Given an open sandbox
    When a command writes a hundred lines, in turns as output and as errors
    Then standard output is all that was printed
    And standard error is empty

  @id:STREAM-010 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:holds-errors-until-the-end @mutant:errors-into-output @mutant:holds-output-until-the-end
  Scenario: Errors arrive while the command runs, too
    Silence until the end cannot be told from a hang (https://github.com/SWE-agent/SWE-ReX/issues/9).
    Given an open sandbox
    When a command prints "no such host" as an error, and then waits to be ended
    Then "no such host" has arrived while it waits

  @id:STREAM-011 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:errors-wait-behind-much-output
  Scenario: Errors arrive while the command runs, however much it has output before
    Whoever reads one stream to its end before the other one holds that one up (https://docs.python.org/3/library/subprocess.html#subprocess.Popen.wait).
    Given an open sandbox
    When a command prints "no such host" as an error behind much output, and then waits to be ended
    Then "no such host" has arrived while it waits

  @id:STREAM-012 @must @since:0.1 @profile:core @mutant:follows-only-the-talkative
  Scenario: Output arrives while the command runs, however long it was silent before
    Silence until the end cannot be told from a hang (https://github.com/SWE-agent/SWE-ReX/issues/9); whoever has waited long is the one who wants to know.
    Given an open sandbox
    When a command prints "at last" after a silence of 5 seconds, and then waits to be ended
    Then "at lastat last" has arrived while it waits

  @id:STREAM-013 @must @since:0.1 @profile:core @mutant:outputs-have-no-names @mutant:opening-an-output-empties-it
  Scenario Outline: An output has the names that programs know it by
    Programs that were to write to a file of the name /dev/stdout ended, since the pipe could not be opened (https://github.com/moby/moby/issues/31243).
    Given an open sandbox
    When a command whose text <writes> in between is run
    Then standard output is what that text asks for
    And the outcome is exited with code 0

    Examples:
      | writes                                     |
      | writes to its output as /dev/stdout        |
      | appends to its output as /dev/stdout       |
      | writes to its output as /dev/fd/1          |
      | writes to its output as /proc/self/fd/1    |

  @id:STREAM-014 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:outputs-have-no-names @mutant:opening-an-output-empties-it
  Scenario Outline: The output of errors has the names that programs know it by
    Programs that were to write to a file of the name /dev/stderr ended, since the pipe could not be opened (https://github.com/moby/moby/issues/31243).
    Given an open sandbox
    When a command whose text <writes> in between is run
    Then standard error is exactly "one\ntwo\nthree\n"
    And standard output is empty

    Examples:
      | writes                                     |
      | writes to its errors as /dev/stderr        |
      | appends to its errors as /dev/stderr       |
      | writes to its errors as /proc/self/fd/2    |
