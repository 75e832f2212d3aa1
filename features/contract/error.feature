Feature: ERROR: an error names the thing and the way out
  What a program can branch on is typed; what a person reads says what to do.

  @id:ERROR-001 @must @since:0.1 @profile:core @mutant:vague-errors @mutant:internal-error-for-everything @mutant:errors-name-the-first @mutant:breaks-when-asked-again @mutant:jobs-are-missing-for-their-sandbox
  Scenario Outline: A sandbox that does not exist is named in a typed error
    A container that had been removed looked like a failing command for days (https://github.com/NousResearch/hermes-agent/issues/36266).
    When <something> is asked of a sandbox that never existed
    Then the call is refused because the sandbox is not there
    And the error names the sandbox

    Examples:
      | something   |
      | a command   |
    @needs:files
    Examples:
      | something   |
      | what is in a file |
    @needs:inspect
    Examples:
      | something   |
      | its state   |
    @needs:jobs
    Examples:
      | something   |
      | how a job goes on |

  @id:ERROR-002 @must @since:0.1 @profile:core @mutant:internal-error-for-everything @mutant:fills-in-what-is-missing
  Scenario Outline: A request without a part that it needs is refused, naming the part
    A wrong parameter came back as status 400 without a word about which (https://github.com/daytonaio/daytona/issues/3771).
    Given an open sandbox
    When a command is requested without its <part>
    Then the call is refused as an invalid argument
    And the error names "<part>"

    Examples:
      | part    |
      | sandbox |
      | command |

  @id:ERROR-003 @must @since:0.1 @profile:core @needs:argv @mutant:runs-nothing-as-a-success
  Scenario: A command of no words is refused
    An empty list that counts as success hides the caller's mistake (https://pubs.opengroup.org/onlinepubs/9799919799/functions/exec.html).
    Given an open sandbox
    When a program of no words is run
    Then the call is refused as an invalid argument

  @id:ERROR-004 @must @since:0.1 @profile:core @mutant:cuts-at-nul
  Scenario Outline: A NUL byte is refused before anything starts
    NUL bytes failed deep inside a backend, with a raw error of the system (https://github.com/PrimeIntellect-ai/verifiers/pull/2076).
    Given an open sandbox
    When a command that leaves a mark is given a NUL byte in <a part>
    Then the call is refused as an invalid argument
    And the mark is not there

    Examples:
      | a part       |
      | its text     |
    @needs:argv
    Examples:
      | a part       |
      | an argument  |
    @needs:env
    Examples:
      | a part       |
      | a variable   |
    @needs:cwd
    Examples:
      | a part       |
      | its directory |

  @id:ERROR-005 @must @since:0.1 @profile:core @needs:timeout @mutant:takes-any-deadline
  Scenario: A deadline that is no length of time is refused
    A deadline of minus one must not mean anything by accident (https://github.com/langchain-ai/deepagents/pull/1558).
    Given an open sandbox
    When a command that leaves a mark is requested with a deadline of minus one
    Then the call is refused as an invalid argument
    And the mark is not there

  @id:ERROR-006 @should @since:0.1 @profile:core @mutant:keeps-the-way-out-to-itself
  Scenario: An error says what the caller can do
    An engine that was there was reported as missing, with nothing to go by (https://github.com/NousResearch/hermes-agent/issues/63356).
    When a command is asked of a sandbox that never existed
    Then the error says what the caller can do
