Feature: STDIN: a command reads what it was given, and then the end
  No input means the end at once; given input arrives whole.

  @id:STDIN-001 @must @since:0.1 @profile:core @mutant:holds-input-open
  Scenario: A command that was given no input reads the end at once
    Commands inherited a pipe that never ended and hung when they read it (https://github.com/cloudflare/sandbox-sdk/pull/141).
    Given an open sandbox
    When a command counts its input
    Then it has counted 0 bytes

  @id:STDIN-002 @must @since:0.1 @profile:core @needs:stdin @mutant:input-as-text @mutant:input-with-a-newline
  Scenario Outline: Input arrives as it was given, and ends
    Input was dropped without a word by one provider (https://github.com/UKGovernmentBEIS/inspect_k8s_sandbox/pull/205).
    Given an open sandbox
    When a command repeats its input, which is <input>
    Then standard output is that input

    Examples:
      | input                    |
      | nothing at all           |
      | one byte                 |
      | lines of other systems   |
      | text behind a mark of its byte order |
      | text without a newline   |
      | what a shell would expand |

    @needs:stream_bytes=exact
    Examples:
      | input                    |
      | every byte value         |

  @id:STDIN-003 @must @since:0.1 @profile:core @needs:stdin @mutant:cuts-input-at-64-kib @mutant:cuts-input-that-fills-a-pipe @mutant:no-digest-of-nothing
  Scenario Outline: Input arrives whole, also where it just fills what it goes through
    The end of input, sent right behind the data, dropped what was still on its way (https://github.com/Eugeny/russh/issues/213).
    Given an open sandbox
    When a command repeats its input of <many> bytes to a caller that wants only its digest
    Then the digest is that of all that was printed

    Examples:
      | many    |
      | 0       |
      | 4096    |
      | 65535   |
      | 65536   |
      | 65537   |
      | 1048576 |

  @id:STDIN-004 @must @since:0.1 @profile:core @needs:stdin @mutant:unread-input-is-a-failure
  Scenario: A command that does not read its input ends by itself
    An exec whose input nobody read did not end with its command (https://github.com/moby/moby/pull/8987).
    Given an open sandbox
    When a command ignores its input of 1048576 bytes
    Then the outcome is exited with code 0

  @id:STDIN-005 @must @since:0.1 @profile:core @needs:stdin_stream @mutant:holds-input-until-its-end
  Scenario: Input can be fed while the command runs
    The first write to the input of a live process failed (https://github.com/PrimeIntellect-ai/verifiers/pull/2471).
    Given an open sandbox
    When a command that repeats each line is fed "one\n"
    Then "one\n" has arrived while it waits
    When it is fed "two\n"
    Then "one\ntwo\n" has arrived while it waits
    When its input ends
    Then the outcome is exited with code 0

  @id:STDIN-006 @must @since:0.1 @profile:core @needs:stdin_stream @mutant:swallows-input-that-nobody-reads
  Scenario: Input for a command that has closed its own is told as unread
    Input was written to programs that had none, and was lost (https://github.com/e2b-dev/E2B/issues/927).
    Given an open sandbox
    When a command that has closed its input is fed "late\n" until it is told
    Then the feeding was told as unread

  @id:STDIN-007 @must @since:0.1 @profile:core @needs:stdin_stream @mutant:drops-a-piece-of-much-input
  Scenario: Much input of any bytes arrives whole, piece by piece
    What was fed at the end of much input was dropped on its way (https://github.com/Eugeny/russh/issues/213).
    Given an open sandbox
    When a command is fed 32 MiB of any bytes
    Then the outcome is exited with code 0
    And it was told the digest of all that it was fed

  @id:STDIN-008 @must @since:0.1 @profile:core @needs:stdin_stream,concurrency @mutant:takes-any-amount-of-input
  Scenario: Who feeds a command that does not read is held back
    One message of 50 MiB exhausted the memory of a sandbox of 128 MiB (https://github.com/UKGovernmentBEIS/inspect_k8s_sandbox/pull/217).
    Given an open sandbox
    When a command that does not read yet is fed until its caller is held back
    Then it reads all that it was fed

  @id:STDIN-009 @must @since:0.1 @profile:core @needs:stdin_stream @mutant:waits-for-the-end-of-input
  Scenario: A command whose input is held open ends when it ends
    A client hung after a complete answer because its input was still open (https://github.com/NVIDIA/OpenShell/issues/828).
    Given an open sandbox
    When a command that reads one line and exits with code 3 is fed "enough\n"
    Then the command is answered as exited with code 3

  @id:STDIN-010 @must @since:0.1 @profile:core @needs:concurrency @mutant:commands-read-what-is-the-backends
  Scenario: What a command reads is nothing that was meant for the backend
    Commands inherited the channel of the backend's own orders, and ate what came next (https://github.com/cloudflare/sandbox-sdk/pull/141).
    Given an open sandbox
    When 8 commands that read their input to its end run at the same time
    Then each has received its own number and nothing else

  @id:STDIN-011 @must @since:0.1 @profile:core @needs:stdin_stream @mutant:pieces-of-input-overtake-each-other @mutant:the-end-overtakes-the-input @mutant:drops-a-piece-of-much-input
  Scenario Outline: Input that is sent piece by piece arrives in that order, with the end behind it
    The end of input, sent right behind the data, dropped what was still on its way (https://github.com/Eugeny/russh/issues/213).
    Given an open sandbox
    When a command is fed <pieces>, none of which waits for the one before
    Then the outcome is exited with code 0
    And standard output is that input

    Examples:
      | pieces                         |
      | many short pieces              |
      | short pieces behind long ones  |

  @id:STDIN-012 @must @since:0.1 @profile:core @needs:stdin,argv @mutant:no-input-for-programs @mutant:cuts-input-at-64-kib
  Scenario: A program that no shell starts reads its input, too
    Programs were started without an input, and those that expected one ended at once (https://github.com/e2b-dev/E2B/issues/927).
    Given an open sandbox
    When a program repeats its input
    Then standard output is that input

  @id:STDIN-013 @must @since:0.1 @profile:core @needs:stdin_stream @mutant:an-empty-piece-ends-the-input
  Scenario Outline: A piece of input that is empty is not the end
    What came after a first write to the input of a live process was lost (https://github.com/PrimeIntellect-ai/verifiers/pull/2471); who relays what is typed
    sends empty pieces, too.
    Given an open sandbox
    When a command that repeats each line is fed "<first>"
    And it is fed ""
    And it is fed "last\n"
    Then "<first>last\n" has arrived while it waits
    When its input ends
    Then the outcome is exited with code 0

    Examples: behind another one, and before any
      | first   |
      | first\\n |
      |         |

  @id:STDIN-014 @must @since:0.1 @profile:sessions @needs:sessions,stdin @mutant:sessions-have-no-input
  Scenario: A command of a session reads its own input
    Text that was fed to a shell as its input was swallowed by the first program that read (https://github.com/devlawey/filar/pull/365).
    Given an open sandbox
    When a command of the session repeats its input
    Then the outcome is exited with code 0
    And standard output is exactly "one\ntwo\nend\n"

  @id:STDIN-015 @must @since:0.1 @profile:sessions @needs:sessions @mutant:texts-of-sessions-are-their-own-input
  Scenario: A command of a session that was given no input reads the end at once
    Text that was fed to a shell as its input was swallowed by the first program that read (https://github.com/devlawey/filar/pull/365).
    Given an open sandbox
    When a command of the session counts its input
    Then it has counted 0 bytes

  @id:STDIN-016 @must @since:0.1 @profile:core @mutant:long-texts-are-their-own-input
  Scenario: A long text that was given no input reads the end at once
    Text that was fed to a shell as its input was swallowed by the first program that read (https://github.com/devlawey/filar/pull/365).
    Given an open sandbox
    When a command whose text has 200 KiB behind what counts its input is run
    Then it has counted 0 bytes

  @id:STDIN-017 @must @since:0.1 @profile:core @needs:stdin_stream @mutant:feeds-what-does-not-run
  Scenario: Input for a command that never was is refused
    Input was written to programs that had none, and was lost (https://github.com/e2b-dev/E2B/issues/927).
    Given an open sandbox
    When the backend is told to feed a command that never was
    Then the call is refused because no such command runs
