Feature: EVENT: what is told of a command is true and in order
  A caller that follows the events knows as much as one that waits for the answer.

  @id:EVENT-001 @must @since:0.1 @profile:core @mutant:announces-a-command-twice @mutant:never-announces-a-command
  Scenario: A command is announced once, before its output
    Exactly one beginning and one end make a stream of events that can be trusted (https://github.com/opensandbox-group/OpenSandbox).
    Given an open sandbox
    When a command prints "one\ntwo\n"
    Then it was announced once, before any output

  @id:EVENT-002 @must @since:0.1 @profile:core @mutant:restarts-its-offsets
  Scenario: Each piece of output begins where the one before it ended
    Captured output missed its first line now and then (https://github.com/cline/cline/issues/4313).
    Given an open sandbox
    When a command writes 200000 bytes in many pieces
    Then the pieces of each stream follow each other without gap or overlap

  @id:EVENT-003 @must @since:0.1 @profile:core @mutant:output-after-the-answer @mutant:says-alive-after-the-answer @mutant:says-alive-after-a-cancel
  Scenario: Nothing is told of a command after its answer
    Output of a cancelled command showed up in a later turn (https://github.com/NousResearch/hermes-agent/issues/65298).
    Given an open sandbox
    When a command prints "last words\n"
    Then nothing more is told of it after its answer

  @id:EVENT-004 @must @since:0.1 @profile:core @mutant:miscounts-its-output
  Scenario: The totals are what the command wrote
    A cut that is not told looks like the whole (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command writes 200000 bytes in many pieces
    Then the total of standard output is 200000 bytes

  @id:EVENT-005 @must @since:0.1 @profile:core @mutant:digest-of-what-was-sent @mutant:hides-the-gap
  Scenario: What is not sent is told as a gap, and the digest covers it
    The middle of long output was destroyed by the layer that was to keep it (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command prints 200000 bytes to a caller that wants the first 1000 and the last 500
    Then the first 1000 and the last 500 bytes have arrived
    And the gap from 1000 to 199500 is told
    And the total of standard output is 200000 bytes
    And the digest is that of all that was printed

  @id:EVENT-006 @must @since:0.1 @profile:core @mutant:never-says-alive @mutant:says-alive-until-something-is-printed @mutant:says-nothing-of-those-who-wait-for-room
  Scenario Outline: A command that is silent is said to be alive
    A sandbox was removed under a caller whose wait was silent (https://github.com/NousResearch/hermes-agent/pull/107160).
    Given an open sandbox
    When a command is <silent> before it ends
    Then it was said to be alive meanwhile

    Examples:
      | silent                                              |
      | silent for 1 second                                 |
      | silent for 1 second after it has printed something  |
      | held up for 1 second by a caller that takes nothing |

  @id:EVENT-007 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:counts-no-errors
  Scenario: The totals of both streams are what the command wrote to each
    A cut that is not told looks like the whole (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command prints 204800 bytes on each stream in turns
    Then the total of standard output is 204800 bytes
    And the total of standard error is 204800 bytes

  @id:EVENT-008 @must @since:0.1 @profile:core @mutant:announces-commands-when-they-speak
  Scenario: A command that is silent is announced when it begins
    A sandbox was removed under a caller whose wait was silent (https://github.com/NousResearch/hermes-agent/pull/107160).
    Given an open sandbox
    When a command is silent for 3 seconds before it ends
    Then it was announced as soon as it ran
