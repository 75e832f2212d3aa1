Feature: CAP: what is declared works, and what is not is refused
  A caller plans with what a backend declares. A promise that nobody keeps, or an option that is quietly ignored, is worse than none.

  @id:CAP-001 @must @since:0.1 @profile:core @mutant:introduces-itself-otherwise @mutant:declares-a-misspelt-capability @mutant:declares-an-unknown-variant
  Scenario: Every capability and every variant that is declared is one that the contract knows
    Seen in the field: a wrong option name was silently ignored, so a limit never applied (https://github.com/smithersai/smithers/issues/738).
    When the backend introduces itself
    Then every capability that it declares is in the catalogue
    And every choice that it declares, and its variant, is in the catalogue

  @id:CAP-002 @must @since:0.1 @profile:core @mutant:hides-its-choices
  Scenario: Where both ways are right, the backend says which is its own
    Zero meant no limit to one backend and was refused by another, and no caller could know (https://github.com/langchain-ai/deepagents/pull/1558).
    When the backend introduces itself
    Then it declares a variant of every choice that its capabilities call for

  @id:CAP-003 @must @since:0.1 @profile:core @mutant:ignores-undeclared-options @mutant:warns-of-undeclared-options-once
  Scenario Outline: An option of a command that is not offered is refused, and nothing runs
    Several adapters took an option and dropped it (https://github.com/Arize-ai/phoenix/pull/13378).
    Given an open sandbox
    When a command that leaves a mark is run with <option>
    Then the call is refused as unsupported
    And the mark is not there

    @needs:!user
    Examples:
      | option        |
      | another user  |
    @needs:!pty
    Examples:
      | option        |
      | a terminal    |
    @needs:!jobs
    Examples:
      | option        |
      | detachment    |
    @needs:!rpc
    Examples:
      | option        |
      | tools         |
    @needs:!sessions
    Examples:
      | option        |
      | a session     |

  @id:CAP-004 @must @since:0.1 @profile:core @fresh @mutant:opens-without-what-was-asked
  Scenario Outline: A property of a sandbox that is not offered is refused, and no sandbox is made
    It was proposed to go on without the isolation that was asked for when the kernel does not enforce it (https://github.com/openai/codex/pull/9959).
    When a sandbox is opened with <property>
    Then the call is refused as unsupported

    @needs:!network_none
    Examples:
      | property         |
      | no network       |
    @needs:!limits_memory
    Examples:
      | property         |
      | a memory limit   |
    @needs:!limits_pids
    Examples:
      | property         |
      | a process limit  |
    @needs:!limits_cpu
    Examples:
      | property          |
      | a processor limit |
    @needs:!limits_disk
    Examples:
      | property         |
      | a disk limit     |
    @needs:!network_allow
    Examples:
      | property                 |
      | a network of named hosts |
    @needs:!image
    Examples:
      | property         |
      | an image         |
    @needs:!mounts
    Examples:
      | property         |
      | a mount          |
    @needs:!user
    Examples:
      | property         |
      | another user     |
    @needs:!attach
    Examples:
      | property         |
      | a key            |
    @needs:!reap
    Examples:
      | property         |
      | an idle life     |

  @id:CAP-005 @must @since:0.1 @profile:core @mutant:answers-what-it-does-not-offer
  Scenario Outline: A method that is not offered is refused
    A call was accepted and never carried out, and nobody was told (https://github.com/daytonaio/daytona/issues/4520).
    Given an open sandbox
    When the backend is asked to <do something>
    Then the call is refused as unsupported

    @needs:!pause
    Examples:
      | do something        |
      | pause the sandbox   |
    @needs:!snapshot
    Examples:
      | do something        |
      | save the sandbox    |
    @needs:!jobs
    Examples:
      | do something        |
      | list jobs           |
    @needs:!search
    Examples:
      | do something        |
      | search files        |
    @needs:!sessions
    Examples:
      | do something        |
      | close a session     |
    @needs:!host_access
    Examples:
      | do something                     |
      | tell how far a mount would reach |
    @needs:!reap
    Examples:
      | do something             |
      | remove what nobody needs |

  @id:CAP-006 @must @since:0.1 @profile:core @needs:shell=bash @mutant:runs-another-shell
  Scenario: The shell that is declared is the shell that reads the text
    What was captured differed with the shell that happened to run the command (https://github.com/cline/cline/issues/4313).
    Given an open sandbox
    When a command uses what only Bash has
    Then the outcome is exited with code 0
    And standard output is exactly "b\n"

  @id:CAP-007 @must @since:0.1 @profile:core @fresh @mutant:takes-unknown-values-for-the-usual
  Scenario Outline: A value that the contract does not know is refused
    Several adapters took an option and dropped it (https://github.com/Arize-ai/phoenix/pull/13378).
    Given an open sandbox
    When the backend is asked to <do something in an unknown way>
    Then the call is refused as unsupported or as an invalid argument
    And the sandbox still runs commands

    Examples:
      | do something in an unknown way             |
      | close the sandbox in an unknown way        |
      | keep an unknown amount of output           |
    @needs:stdin
    Examples:
      | do something in an unknown way             |
      | give a command its input in an unknown way |
