Feature: CLOSE: what is closed is gone
  Nothing of a destroyed sandbox runs, is listed, or answers.

  @id:CLOSE-001 @must @since:0.1 @profile:core @fresh @mutant:runs-after-close
  Scenario: A destroyed sandbox runs nothing
    After a stop a command was accepted but never ran (https://github.com/daytonaio/daytona/issues/4520).
    Given an open sandbox
    When the sandbox is destroyed
    Then a command in it is refused because the sandbox is not there

  @id:CLOSE-002 @must @since:0.1 @profile:core @fresh @mutant:complains-about-a-second-close
  Scenario Outline: Closing what is not there is no error
    Removal must be safe to repeat, or a cleaner stops at its first race (https://github.com/kubernetes-sigs/cri-tools).
    Given an open sandbox
    When <a sandbox> is destroyed
    Then closing it again tells that nothing was there

    Examples:
      | a sandbox                    |
      | the sandbox                  |
      | a sandbox that never existed |

  @id:CLOSE-003 @must @since:0.1 @profile:core @fresh @needs:left_behind=keep @mutant:leaves-processes-at-close
  Scenario: Destroying a sandbox ends what a finished command has left running in it
    Processes started in the background survived the end of the agent (https://github.com/NousResearch/hermes-agent/pull/40350).
    Given an open sandbox
    And a command that has left a beat behind
    When the sandbox is destroyed
    Then the beat has stopped

  @id:CLOSE-004 @must @since:0.1 @profile:core @fresh @mutant:leaves-its-callers-waiting
  Scenario: Destroying a sandbox answers whoever waits for a command in it
    A caller waited for ever for a sandbox that another had removed (https://github.com/vercel/eve/issues/440).
    Given an open sandbox
    And a command that keeps a beat
    When the sandbox is destroyed
    Then the command is answered as lost with its sandbox
    And the beat has stopped

  @id:CLOSE-005 @must @since:0.1 @profile:core @fresh @needs:list @mutant:lists-the-dead
  Scenario: A destroyed sandbox is gone from the list
    Containers piled up that nobody could see, from five separate causes (https://github.com/NousResearch/hermes-agent/issues/20561).
    Given an open sandbox
    When the sandbox is destroyed
    Then it is not listed

  @id:CLOSE-006 @must @since:0.1 @profile:core @fresh @mutant:leaves-files-at-close @mutant:leaves-its-directory-at-close
  Scenario: The files of a destroyed sandbox are gone
    Containers were removed while their directories stayed on the disk (https://github.com/NousResearch/hermes-agent/pull/44144).
    Given two open sandboxes
    And a file in the first one's working directory
    When the first sandbox is destroyed
    Then the second one sees no such file

  @id:CLOSE-007 @must @since:0.1 @profile:core @fresh @needs:cwd @mutant:removes-the-callers-directory
  Scenario: A directory that the caller has named outlives the sandbox that was opened in it
    A clean-up that took the caller's own folder for the sandbox's could not be undone (https://github.com/NousResearch/hermes-agent/pull/44144).
    Given an open sandbox
    And a file in the first one's working directory
    When another sandbox that was opened in that directory is destroyed
    Then the first one still has the file

  @id:CLOSE-008 @must @since:0.1 @profile:jobs @needs:jobs,concurrency @fresh @mutant:waits-for-jobs-that-are-gone
  Scenario: Destroying a sandbox ends its jobs, and answers whoever waits for one
    A caller waited for ever for a sandbox that another had removed (https://github.com/vercel/eve/issues/440).
    Given an open sandbox
    When a job keeps a beat
    And the job is waited for until its sandbox is gone
    Then the beat has stopped

  @id:CLOSE-009 @must @since:0.1 @profile:core @fresh @needs:concurrency @mutant:closing-ends-commands-everywhere
  Scenario: Destroying a sandbox ends nothing in another
    Parallel callers interrupted each other's commands (https://github.com/microsoft/vscode/issues/292222).
    Given two open sandboxes
    And a command that keeps a beat
    When the first sandbox is destroyed
    Then the beat goes on
    And the sandbox still runs commands

  @id:CLOSE-010 @must @since:0.1 @profile:core @fresh @mutant:leaves-what-may-not-be-written
  Scenario Outline: Files of a destroyed sandbox are gone, however hard they are to remove
    A module cache is written without the right to write, and such trees stayed on the disk (https://github.com/golang/go/issues/27161).
    Given two open sandboxes
    And a file in <a place> in the first one's working directory
    When the first sandbox is destroyed
    Then the second one sees no such file

    Examples:
      | a place                                  |
      | a directory that may not be written      |
      | a directory that may not be entered      |
      | directories deeper than a path may be    |
      | a directory with a name full of signs    |

  @id:CLOSE-011 @must @since:0.1 @profile:core @fresh @mutant:follows-links-at-close
  Scenario: What a link in a destroyed sandbox leads to stays
    A clean-up that took the caller's own folder for the sandbox's could not be undone (https://github.com/NousResearch/hermes-agent/pull/44144).
    Given two open sandboxes
    And a file in a directory of the second one that a link in the first one's working directory leads to
    When the first sandbox is destroyed
    Then the second one still has the file

  @id:CLOSE-012 @must @since:0.1 @profile:core @fresh @mutant:answers-only-those-that-speak @mutant:waits-for-output-to-be-taken
  Scenario: A command that its caller holds back is answered when its sandbox is destroyed
    A caller waited for ever for a sandbox that another had removed (https://github.com/vercel/eve/issues/440).
    Given an open sandbox
    And a command that keeps a beat and floods a caller that takes nothing
    When the sandbox is destroyed
    Then the command is answered as lost with its sandbox
    And the beat has stopped

  @id:CLOSE-013 @must @since:0.1 @profile:core @fresh @needs:stdin_stream @mutant:answers-only-those-that-wait-for-nothing
  Scenario: A command that waits for its input is answered when its sandbox is destroyed
    A caller waited for ever for a sandbox that another had removed (https://github.com/vercel/eve/issues/440).
    Given an open sandbox
    And a command that waits for its input
    When the sandbox is destroyed
    Then the command is answered as lost with its sandbox

  @id:CLOSE-014 @must @since:0.1 @profile:core @fresh @mutant:waits-for-output-to-be-taken
  Scenario: A command that has ended, and whose output its caller does not take, holds up no close
    A remote process was blocked as soon as nobody read its streams, and everything behind it (https://github.com/modal-labs/modal-client/pull/2416).
    Given an open sandbox
    And a command that prints 10000 bytes to a caller that takes nothing
    When the sandbox is destroyed
    Then closing it again tells that nothing was there

  @id:CLOSE-015 @must @since:0.1 @profile:core @fresh @mutant:gives-sandbox-ids-again
  Scenario: The id of a sandbox that was destroyed is that of no other
    Threads got each other's results (https://github.com/NousResearch/hermes-agent/issues/17770); so does whoever holds an id that was given again.
    Given two open sandboxes
    When the first sandbox is destroyed
    And a sandbox is opened and a command is run at once
    Then both are new, with different ids

  @id:CLOSE-016 @must @since:0.1 @profile:core @fresh @mutant:complains-about-closing-twice-at-once
  Scenario: Whoever closes a sandbox at the same time as others is told that it is gone
    Removal must be safe to repeat, or a cleaner stops at its first race (https://github.com/kubernetes-sigs/cri-tools).
    Given an open sandbox
    When the sandbox, for four callers at once, is destroyed
    Then closing it again tells that nothing was there

  @id:CLOSE-017 @must @since:0.1 @profile:jobs @needs:jobs @fresh @mutant:closing-ends-jobs-everywhere
  Scenario: Destroying a sandbox ends no job in another
    Parallel callers interrupted each other's commands (https://github.com/microsoft/vscode/issues/292222).
    Given two open sandboxes
    When a job keeps a beat
    And the first sandbox is destroyed
    Then the beat goes on

  @id:CLOSE-018 @must @since:0.1 @profile:core @fresh @mutant:keeps-what-is-closed-without-a-word
  Scenario: A sandbox that is closed without a word on how is destroyed
    What nobody asked to be kept was kept, and paid for (https://github.com/NousResearch/hermes-agent/issues/28804).
    Given an open sandbox
    When the sandbox, without a word on how, is destroyed
    Then closing it again tells that nothing was there
