Feature: RACE: what happens at the same time stays apart
  Callers, commands and sandboxes share a machine, and nothing else.

  @id:RACE-001 @must @since:0.1 @profile:core @needs:concurrency @mutant:exchanges-answers
  Scenario: Much output of many commands at once is told to whom it belongs
    Parallel commands got an internal error, or each other's text, as their output (https://github.com/bytedance/deer-flow/issues/1433).
    Given an open sandbox
    When 16 commands that print much of their own run at the same time
    Then each has been answered with the digest of its own output

  @id:RACE-002 @must @since:0.1 @profile:core @needs:concurrency,cwd,env @mutant:one-directory-at-a-time
  Scenario: Commands at the same time have each their own directory and variables
    Two jobs shared one environment, and the second ran in the first one's directory (https://github.com/NousResearch/hermes-agent/pull/61976).
    Given an open sandbox
    When 8 commands that tell their own directory and their own variable again and again run at the same time
    Then each has stood in its own directory and seen its own variable

  @id:RACE-003 @must @since:0.1 @profile:core @fresh @mutant:opens-one-for-all-who-ask @mutant:one-template-for-all-who-ask
  Scenario: Sandboxes that are opened at the same time are each one of its own
    Sandboxes that were started in parallel hung each other up (https://github.com/SWE-agent/SWE-ReX/issues/261).
    When 6 sandboxes are opened at the same time
    Then each has found what is its own, and nothing else

  @id:RACE-004 @must @since:0.1 @profile:core @fresh @mutant:closes-one-of-all
  Scenario: Sandboxes that are closed at the same time are all gone
    Starts in parallel left a container behind that nobody owned any more (https://github.com/SWE-agent/SWE-ReX/issues/261).
    When 6 sandboxes are opened at the same time
    And the backend closes them all at the same time
    Then each has found what is its own, and nothing else

  @id:RACE-005 @must @since:0.1 @profile:core @alone @mutant:names-sandboxes-by-number
  Scenario: Two callers with the same folder do not meet
    What one run had set was found by another one beside it (https://github.com/NousResearch/hermes-agent/issues/91440).
    When two callers open a sandbox each, and one closes its own
    Then each has found what is its own, and nothing else

  @id:RACE-006 @must @since:0.1 @profile:core @fresh @needs:concurrency @mutant:answers-one-of-many-at-close
  Scenario: Whoever asks for a command while its sandbox closes is answered
    A deliberate stop and a lost client looked the same, and the results were dropped without a word (https://github.com/NousResearch/hermes-agent/issues/84207).
    Given an open sandbox
    When the sandbox is closed while 8 commands are asked for
    Then each was answered once, as lost, ended or refused

  @id:RACE-007 @must @since:0.1 @profile:core @fresh @needs:concurrency @mutant:six-commands-at-a-time
  Scenario: Slow commands do not hold up a quick one
    A frozen helper held a lock, and using any other sandbox hung (https://github.com/docker/sbx-releases/issues/163).
    Given an open sandbox
    When 8 commands run for a long time
    Then another command is answered meanwhile

  @id:RACE-008 @must @since:0.1 @profile:core @needs:concurrency @mutant:one-name-for-two-commands
  Scenario: A name that a running command has is not given to another one
    An answer must belong to one request, and a name to one command (https://www.jsonrpc.org/specification).
    Given an open sandbox
    When a command that leaves a mark is run under the name of one that runs
    Then the call is refused as an invalid argument
    And standard output is exactly "begun\nended\n"
    And the mark is not there

  @id:RACE-009 @must @since:0.1 @profile:core @mutant:goes-on-counting-under-an-old-name @mutant:announces-a-name-once @mutant:goes-on-at-the-offset-of-an-old-name @mutant:keeps-the-names-of-the-refused @mutant:deadlines-outlive-their-commands @mutant:keeps-late-cancels-for-the-next
  Scenario Outline: The name of a command that is over can be used again, and means the new one
    Late results that are told by name show up in another call unless the name begins anew (https://github.com/NousResearch/hermes-agent/issues/65298).
    Given an open sandbox
    When a command uses the name of one that <is over>
    Then standard output is exactly "second\n"
    And the total of standard output is 7 bytes
    And it was announced once, before any output
    And the pieces of each stream follow each other without gap or overlap

    Examples:
      | is over     |
      | has ended   |
      | was refused |
    @needs:timeout
    Examples:
      | is over                               |
      | has ended long before its deadline    |
    @needs:cancel
    Examples:
      | is over                               |
      | was cancelled when it had ended       |

  @id:RACE-010 @must @since:0.1 @profile:core @needs:concurrency @mutant:names-commands-like-files
  Scenario: Commands at the same time whose names hardly differ are told apart
    Threads got each other's results (https://github.com/NousResearch/hermes-agent/issues/17770).
    Given an open sandbox
    When 8 commands that print their own number under names that hardly differ run at the same time
    Then each has received its own number and nothing else

  @id:RACE-011 @must @since:0.1 @profile:core @fresh @needs:concurrency @mutant:six-commands-at-a-time @mutant:thirty-two-commands-at-a-time
  Scenario: Many slow commands do not hold up a quick one, unless their number is bounded and told
    A frozen helper held a lock, and using any other sandbox hung (https://github.com/docker/sbx-releases/issues/163). A bound that is told in
    `limits.max_commands` is one that a caller can keep.
    Given an open sandbox
    When 40 commands run for a long time
    Then another command is answered meanwhile
