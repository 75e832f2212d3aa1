Feature: PROTO: both sides understand each other, now and later
  An adapter lives through what it does not know, and tells what it cannot do.

  @id:PROTO-001 @must @since:0.1 @profile:core @alone @mutant:agrees-to-any-version
  Scenario: A version that the backend does not speak is refused with those that it speaks
    Adding a parameter broke every provider at once where no version was agreed on (https://github.com/UKGovernmentBEIS/inspect_ai/issues/1830).
    When a client that only speaks "herm/0.0-never" introduces itself
    Then the call is refused because no version is shared
    And the answer names the version "herm/1"

  @id:PROTO-002 @must @since:0.1 @profile:core @mutant:refuses-unknown-fields
  Scenario: A field that the backend does not know is ignored
    A newer client must be able to talk to an older backend (https://www.jsonrpc.org/specification).
    Given an open sandbox
    When a command is run by a request with a field from the future
    Then the outcome is exited with code 0

  @id:PROTO-003 @must @since:0.1 @profile:core @alone @mutant:dies-of-an-unknown-method
  Scenario: A method that the backend does not know is refused, and the conversation goes on
    A missing method that shows as a failure cannot be told from a fault (https://www.jsonrpc.org/specification).
    Given an open sandbox
    When the backend is asked to do something from the future
    Then the call is refused as unsupported
    And the sandbox still runs commands

  @id:PROTO-004 @must @since:0.1 @profile:core @alone @mutant:dies-of-a-malformed-line
  Scenario Outline: A line that is no message is answered with an error, and the conversation goes on
    A line that cannot be read has an answer of its own (https://www.jsonrpc.org/specification).
    Given an open sandbox
    When <a line> is sent
    Then it is answered with an error that names no request
    And the sandbox still runs commands

    Examples:
      | a line              |
      | half a message      |
      | a word              |
      | a list              |
      | bytes that are text in no encoding |

  @id:PROTO-005 @must @since:0.1 @profile:core @alone @mutant:dies-of-an-oversized-line
  Scenario: A message over the limit is refused, and the conversation goes on
    One message of 50 MiB exhausted the memory of a sandbox of 128 MiB (https://github.com/UKGovernmentBEIS/inspect_k8s_sandbox/pull/217).
    Given an open sandbox
    When a message longer than the declared limit is sent
    Then it is answered with an error that names no request
    And the sandbox still runs commands

  @id:PROTO-006 @must @since:0.1 @profile:core @needs:concurrency @mutant:one-request-at-a-time
  Scenario: A request is answered while a command runs
    A frozen helper held a lock, and listing or using any other sandbox hung (https://github.com/docker/sbx-releases/issues/163).
    Given an open sandbox
    When a command runs for a long time
    Then another command is answered meanwhile

  @id:PROTO-007 @must @since:0.1 @profile:core @needs:argv @mutant:replaces-what-is-not-text
  Scenario: An argument that is not valid text arrives as it was given
    Bytes lost in a lossy conversation cannot be brought back (https://github.com/Eynzof/Hermes-CN-Desktop/issues/71).
    Given an open sandbox
    When a program is given an argument of bytes that are not valid UTF-8
    Then it has received exactly these bytes

  @id:PROTO-008 @must @since:0.1 @profile:core @mutant:ignores-credit @mutant:ignores-credit-for-errors @mutant:counts-credit-twice @mutant:ignores-credit-for-programs @mutant:ignores-credit-in-sessions
  Scenario Outline: No more output is sent than the caller has room for
    A host process froze on half a gigabyte of output that nobody had asked for (https://github.com/NousResearch/hermes-agent/issues/64435).
    Given an open sandbox
    When a command prints <many> bytes <as> to a caller with room for <room>
    Then exactly <room> bytes arrive until there is room
    And all <many> bytes have arrived when there is room

    Examples:
      | many   | as        | room |
      | 100000 | as output | 4096 |
      | 100000 | as errors | 4096 |
      | 8192   | as output | 4096 |
      | 40     | as output | 1    |
    @needs:argv
    Examples:
      | many   | as                     | room |
      | 100000 | as output of a program | 4096 |
    @needs:sessions
    Examples:
      | many   | as                                  | room |
      | 100000 | as output of a command of a session | 4096 |

  @id:PROTO-009 @must @since:0.1 @profile:core @alone @mutant:lingers-when-its-input-has-ended
  Scenario: The end of its input ends the backend and what runs in it
    Processes outlived the agent that had started them, and kept its ports (https://github.com/NousResearch/hermes-agent/pull/40350).
    Given an open sandbox
    And a command that keeps a beat
    When the caller goes away
    Then the backend has ended by itself
    And the beat has stopped

  @id:PROTO-010 @must @since:0.1 @profile:core @alone @mutant:ids-are-floating-point @mutant:ids-are-numbers @mutant:takes-falsy-ids-for-none @mutant:ids-have-no-sign @mutant:mixes-up-ids-of-two-types
  Scenario Outline: A request is answered under the very id that it has
    An answer has the value of the request's id, which may be text, or a number of any size (https://www.jsonrpc.org/specification#response_object).
    Given an open sandbox
    When <a request> is sent
    Then the outcome is exited with code 0

    Examples:
      | a request                             |
      | a request with a long number for its id |
      | a request with a negative number for its id |
      | a request with zero for its id        |
      | a request with a word for its id      |
      | a request with an empty word for its id |
      | a request with a word for its id, and one with that number |

  @id:PROTO-011 @must @since:0.1 @profile:core @alone @mutant:halves-escaped-characters @mutant:reads-only-dense-messages @mutant:knows-fields-as-they-are-spelt
  Scenario Outline: A request means the same in whatever way its JSON is written
    Many writers escape all that is not ASCII, and a character beyond 16 bits becomes two halves
    (https://www.rfc-editor.org/rfc/rfc8259#section-7); blanks and the order of the fields are theirs, too.
    Given an open sandbox
    When <a request> is sent
    Then it has received exactly these bytes

    Examples:
      | a request                                |
      | a request that escapes what is not ASCII |
      | a request that escapes its slashes       |
      | a request that escapes letters of its fields' names |
      | a request that has blanks between its parts |
      | a request that begins with its parameters |

  @id:PROTO-012 @must @since:0.1 @profile:core @alone @mutant:ends-messages-at-line-separators @mutant:ends-messages-at-next-lines @mutant:ends-messages-at-carriage-returns
  Scenario Outline: Only a line feed ends a message
    Functions that split text into lines know ten other ends of them (https://docs.python.org/3/library/stdtypes.html#str.splitlines), some of which JSON leaves as they are.
    Given an open sandbox
    When <a request> is sent
    Then it has received exactly these bytes

    Examples:
      | a request                                              |
      | a request that holds a line separator                  |
      | a request that holds a paragraph separator             |
      | a request that holds a next line                       |
      | a request that has carriage returns between its parts  |

  @id:PROTO-013 @must @since:0.1 @profile:core @mutant:takes-base64-for-bytes-that-are-no-text @mutant:takes-base64-in-texts-only
  Scenario Outline: What could be written as text may be written in base64, too
    Bytes that are text by chance are bytes all the same: a caller that reads a name as bytes sends it as such (https://www.rfc-editor.org/rfc/rfc4648#section-4).
    Given an open sandbox
    When <a request> is sent
    Then it has received exactly these bytes

    Examples:
      | a request                                        |
      | a request that has its text in base64            |
    @needs:argv
    Examples:
      | a request                                        |
      | a request that has its arguments in base64       |
    @needs:env
    Examples:
      | a request                                        |
      | a request that has a variable's value in base64  |
    @needs:cwd
    Examples:
      | a request                                        |
      | a request that has its directory in base64       |
