Feature: OUT: however much is printed, the caller gets what it asked for
  Nothing is lost, what is left out is told, and nobody else pays for it.

  @id:OUT-001 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:stops-counting-at-64-mib
  Scenario: A flood on both streams at once is told to the last byte
    Waiting for the end before reading filled the channel, and both sides waited (https://github.com/paramiko/paramiko/issues/448).
    Given an open sandbox
    When a command floods each of its streams with 128 MiB
    Then the outcome is exited with code 0
    And it is told exactly, with the digest of each stream

  @id:OUT-002 @must @since:0.1 @profile:core @mutant:tells-a-gap-at-the-limit @mutant:tells-gaps-of-nothing
  Scenario Outline: Output about as long as its caller wants is whole, or its gap is told exactly
    One layer cut at a length at which the next one did not yet keep the whole, so the middle was lost (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command prints <many> bytes to a caller that wants the first 600 and the last 400
    Then it is sent as far as it was wanted, and the rest is told as a gap

    Examples:
      | many |
      | 0    |
      | 1    |
      | 600  |
      | 601  |
      | 999  |
      | 1000 |
      | 1001 |
      | 2000 |

  @id:OUT-003 @must @since:0.1 @profile:core @mutant:always-sends-the-beginning @mutant:keeps-64-kib-of-the-end @mutant:counts-ends-in-32-bits
  Scenario Outline: A caller that wants only one end of the output gets that end
    A notice at the front of a cut output was cut off by the next stage (https://github.com/Gitlawb/zero/pull/353).
    Given an open sandbox
    When a command prints <many> bytes to a caller that wants the first <first> and the last <last>
    Then it is sent as far as it was wanted, and the rest is told as a gap

    Examples:
      | many    | first  | last   |
      | 5003    | 1000   | 0      |
      | 5003    | 0      | 1000   |
      | 5003    | 0      | 0      |
      | 2000003 | 0      | 700000 |
      | 2000003 | 700000 | 0      |
      | 5003    | 0      | 1      |
      | 5003    | 1      | 0      |
      | 5003    | 4294967296 | 0  |
      | 5003    | 0      | 4294967296 |
      | 5003    | 9007199254740991 | 9007199254740991 |

  @id:OUT-004 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:one-bound-for-both-streams
  Scenario: Much output on one stream does not cost the other one its own
    In unbounded output of both streams together, what mattered could not be found again (https://github.com/daytonaio/daytona/issues/5144).
    Given an open sandbox
    When a command prints 200000 bytes, and 500 as errors, to a caller that wants the first 300 and the last 300
    Then standard error is all that was printed
    And the total of standard output is 200000 bytes

  @id:OUT-005 @must @since:0.1 @profile:core @fresh @mutant:loses-an-output-now-and-then
  Scenario: Of many short commands each gets its own output and its own code
    Captured output missed its first line now and then, and empty output was taken for a failed capture (https://github.com/cline/cline/issues/4313).
    Given an open sandbox
    When 500 short commands are run
    Then each has been answered with its own output and its own code

  @id:OUT-006 @must @since:0.1 @profile:core @mutant:breaks-long-lines
  Scenario: A line of many megabytes is output as any other
    A very long line made the capture of a command hang until its limit (https://github.com/SWE-agent/SWE-agent/issues/1269).
    Given an open sandbox
    When a command writes one line of 16777216 bytes
    Then standard output is all that was printed

  @id:OUT-007 @must @since:0.1 @profile:core @needs:stdin_stream @mutant:stops-reading-when-input-ends
  Scenario: What is printed after the input has ended arrives
    The end of input, sent right behind the data, dropped what was still on its way (https://github.com/Eugeny/russh/issues/213).
    Given an open sandbox
    When a command that prints 200000 bytes when its input has ended is fed "a question\n"
    And its input ends
    Then standard output is all that was printed

  @id:OUT-008 @must @since:0.1 @profile:core @needs:concurrency @mutant:one-slow-reader-holds-up-all
  Scenario: A caller that takes nothing loses nothing, and holds nobody else up
    A remote process was blocked as soon as nobody read its streams, and everything behind it (https://github.com/modal-labs/modal-client/pull/2416).
    Given an open sandbox
    And a command that prints 300000 bytes to a caller that takes nothing
    When 8 commands that print their own number run at the same time
    Then each has received its own number and nothing else
    And all 300000 bytes have arrived when there is room

  @id:OUT-009 @should @since:0.1 @profile:core @mutant:gathers-before-it-cuts
  Scenario: The backend's own memory does not grow with what a command prints
    Output was gathered without a bound and cut only afterwards, and half a gigabyte of it froze the host (https://github.com/NousResearch/hermes-agent/issues/64435).
    Given an open sandbox
    When a command floods each of its streams with 64 MiB
    Then the outcome is exited with code 0
    And it was carried with no more than 48 MiB of memory

  @id:OUT-010 @must @since:0.1 @profile:core @needs:shell=bash @mutant:loses-what-helpers-print
  Scenario: What passes through a helper of the shell arrives
    Output sent through a helper was lost or kept the command from ending (https://github.com/openai/codex/issues/7846).
    Given an open sandbox
    When a command uses a helper of its shell for its output
    Then standard output is exactly "SAID\n"

  @id:OUT-011 @must @since:0.1 @profile:jobs @needs:jobs @mutant:keeps-a-megabyte-of-a-job
  Scenario: All that a job has printed can be read, and read again
    Where long output was cut there was no whole copy to go back to (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a job prints 4000000 bytes and exits with a code
    And the job is over
    Then the job gives all that it has printed, piece by piece, and again

  @id:OUT-012 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:keeps-no-end-of-errors @mutant:one-bound-for-both-streams
  Scenario: A caller that wants both ends of the output gets both ends of the errors, too
    Of much output the end was lost, where the error stands that explains it (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command prints 3000 bytes, and 200000 as errors, to a caller that wants the first 1000 and the last 1000
    Then it is sent as far as it was wanted, on both streams, and the rest is told as gaps

  @id:OUT-013 @must @since:0.1 @profile:core @mutant:the-tail-is-lost-at-a-deadline @mutant:the-tail-is-lost-at-a-cancel @mutant:the-tail-is-lost-at-a-kill @mutant:no-digest-at-an-early-end
  Scenario Outline: However a command ends, its caller gets both ends of the output that it wanted, and the digest of all
    Output collected before the deadline was thrown away (https://github.com/SWE-agent/SWE-ReX/issues/29); its end is where a command says why it hangs.
    Given an open sandbox
    When a command writes 5003 bytes to a caller that wants both ends, and <ends>
    Then the outcome is <outcome>
    And it is sent as far as it was wanted, and the rest is told as a gap
    And the digest is that of all that was printed

    Examples:
      | ends              | outcome            |
      | exits with code 3 | exited with code 3 |
      | kills its shell   | no success         |

    @needs:timeout
    Examples:
      | ends                   | outcome   |
      | runs into its deadline | timed out |

    @needs:cancel
    Examples:
      | ends         | outcome   |
      | is cancelled | cancelled |

  @id:OUT-014 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:the-tail-is-lost-at-a-deadline @mutant:the-tail-is-lost-at-a-cancel @mutant:the-tail-is-lost-at-a-kill @mutant:errors-lose-their-tail-with-their-command
  Scenario Outline: However a command ends, its caller gets both ends of the errors that it wanted
    The end of the errors is what explains why a command had to be ended (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command writes 5003 bytes and as many errors to a caller that wants both ends, and <ends>
    Then the outcome is <outcome>
    And it is sent as far as it was wanted, on both streams, and the rest is told as gaps

    Examples:
      | ends            | outcome    |
      | kills its shell | no success |

    @needs:timeout
    Examples:
      | ends                   | outcome   |
      | runs into its deadline | timed out |

    @needs:cancel
    Examples:
      | ends         | outcome   |
      | is cancelled | cancelled |

  @id:OUT-015 @must @since:0.1 @profile:core @mutant:loses-room-that-comes-early @mutant:takes-no-room-for-all-there-is @mutant:counts-room-in-32-bits
  Scenario Outline: Room is room, however it is given
    Each side of a channel of SSH has to handle room of up to 2^32 - 1 bytes, and more of it at any time (https://www.rfc-editor.org/rfc/rfc4254#section-5.2).
    Given an open sandbox
    When a command prints 100000 bytes with room given <so> to a caller with room for <room>
    Then the outcome is exited with code 0
    And standard output is all that was printed

    Examples:
      | so                                 | room       |
      | before the command has begun       | 1          |
      | first as none at all               | 1          |
      | in one go that is very large       | 1          |
      | in no other way than before it began | 4294967296 |

  @id:OUT-016 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:no-digest-of-nothing
  Scenario: The digest of nothing is told as any other
    Empty output was taken for a failed capture (https://github.com/cline/cline/issues/4313); what has no bytes has a digest all the same.
    Given an open sandbox
    When a command floods each of its streams with 0 MiB
    Then the outcome is exited with code 0
    And it is told exactly, with the digest of each stream

  @id:OUT-017 @must @since:0.1 @profile:core @mutant:bounds-only-for-texts @mutant:no-bounds-in-sessions
  Scenario Outline: Whatever a command is, its caller gets both ends of the output that it wanted
    What has a way of its own to be run has its own way to be read, and what one cuts the other does not (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command writes 5003 bytes to a caller that wants both ends, and exits with code 3, as <what it is>
    Then the outcome is exited with code 3
    And it is sent as far as it was wanted, and the rest is told as a gap
    And the digest is that of all that was printed

    @needs:argv
    Examples:
      | what it is             |
      | a program              |
    @needs:sessions
    Examples:
      | what it is             |
      | a command of a session |
