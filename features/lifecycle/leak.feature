Feature: LEAK: nothing is left, and nothing of others is touched
  What a backend has made goes with the sandbox that it was made for, however that ends; what it has not made stays.

  @id:LEAK-001 @must @since:0.1 @profile:core @fresh @alone @mutant:keeps-its-helper-at-close
  Scenario: A whole life leaves nothing
    Each run left a container behind, since it was removed only where stopping it had failed (https://github.com/SWE-agent/mini-swe-agent/issues/797).
    Given a backend that has been used before
    When a sandbox is used in every way and destroyed
    Then nothing is left of it

  @id:LEAK-002 @must @since:0.1 @profile:core @fresh @alone @needs:ledger @mutant:keeps-no-ledger
  Scenario: An open sandbox stands in the ledger
    What is made and what can be found again must overlap, or nothing removes it (https://github.com/NousResearch/hermes-agent/issues/75467).
    Given a backend that has been used before
    When a sandbox is opened and a command is run at once
    Then the ledger tells of it

  @id:LEAK-003 @must @since:0.1 @profile:core @fresh @alone @mutant:keeps-its-helper-when-opening-fails @mutant:keeps-a-directory-when-opening-fails
  Scenario: An opening that fails leaves nothing
    A start that failed half-way left more than a hundred orphans in three days (https://github.com/NousResearch/hermes-agent/issues/7439).
    Given a backend that has been used before
    When sandboxes are opened that cannot be
    Then nothing is left of them

  @id:LEAK-004 @must @since:0.1 @profile:core @fresh @alone @mutant:keeps-its-helper-when-its-caller-goes
  Scenario: A caller that goes away leaves nothing
    Background processes outlived the agent that had started them, and kept its ports (https://github.com/NousResearch/hermes-agent/pull/40350).
    Given a backend that has been used before
    And an open sandbox
    And a command that keeps a beat
    When the caller goes away
    Then nothing is left of the backend

  @id:LEAK-005 @must @since:0.1 @profile:core @fresh @alone @mutant:keeps-its-helper-when-signalled
  Scenario Outline: A backend that is asked to end by a signal leaves nothing
    Processes in the background survived the signal that ended their agent (https://github.com/NousResearch/hermes-agent/pull/40350).
    Given a backend that has been used before
    And an open sandbox
    And a command that keeps a beat
    When the backend <is asked>
    Then nothing is left of the backend

    Examples:
      | is asked       |
      | is interrupted |
      | is terminated  |

  @id:LEAK-006 @must @since:0.1 @profile:core @fresh @alone @mutant:keeps-its-helper-when-killed
  Scenario: A backend that is killed leaves nothing for good
    The end of a client left its command running in the container (https://github.com/docker/cli/issues/5309), and a crashed owner left sandboxes
    that were paid for without end (https://github.com/NousResearch/hermes-agent/issues/28804). Nobody has a name for a sandbox without a key, so that
    it is of no use to anybody after its caller, whatever else may outlive a client. Processes of this machine can be tied to the backend and have to go with it; what lies
    elsewhere or on a disk may wait for the next backend of the same run, which can find it.
    Given a backend that has been used before
    And an open sandbox
    And a command that keeps a beat
    When the backend is killed
    Then nothing is left of the backend, at the latest when another has taken its place

  @id:LEAK-007 @must @since:0.1 @profile:core @fresh @alone @mutant:sweeps-by-the-beginning-of-a-name
  Scenario: The sandbox of another caller is untouched
    Two homes of the same profile took each other's containers for their own (https://github.com/NousResearch/hermes-agent/pull/79832).
    Given a backend that has been used before
    And an open sandbox
    And another caller in a run of its own, whose command keeps a beat
    When the sandbox is destroyed
    And the caller goes away
    Then what belongs to others is untouched

  @id:LEAK-008 @must @since:0.1 @profile:core @fresh @alone @mutant:sweeps-by-the-beginning-of-a-name @mutant:kills-by-words
  Scenario: What only looks like the sandbox is untouched
    A reaper removed by force what it had listed a moment before, although it was somebody's again (https://github.com/NousResearch/hermes-agent/issues/115697).
    Given a backend that has been used before
    And an open sandbox
    And strangers that are called as the sandbox is
    When the sandbox is destroyed
    And the caller goes away
    Then what belongs to others is untouched

  @id:LEAK-009 @must @since:0.1 @profile:core @fresh @alone @mutant:leaves-zombies @mutant:leaks-a-descriptor-a-command @mutant:keeps-a-helper-for-input-without-an-end
  Scenario: Commands that have ended leave nothing in the backend
    Hundreds of processes that had ended were never waited for (https://github.com/NousResearch/hermes-agent/issues/111577).
    Given a backend that has been used before
    And an open sandbox
    When 60 commands of every kind have ended
    Then nothing is left of them

  @id:LEAK-010 @must @since:0.1 @profile:core @fresh @alone @mutant:keeps-the-text-of-what-cannot-be-run
  Scenario: Commands that cannot be run leave nothing
    Containers were removed while their directories stayed on the disk (https://github.com/NousResearch/hermes-agent/pull/44144).
    Given a backend that has been used before
    And an open sandbox
    When 20 commands that cannot be run have ended
    Then nothing is left of them

  @id:LEAK-011 @must @since:0.1 @profile:core @fresh @mutant:runs-out-of-descriptors
  Scenario: A sandbox in which many commands have ended runs the next one
    Hundreds of processes that had ended were never waited for (https://github.com/NousResearch/hermes-agent/issues/111577); whatever is lost a little with each command
    is gone in a long conversation.
    Given an open sandbox
    When 400 commands that print their own number one after the other have ended
    Then each has received its own number and nothing else

  @id:LEAK-012 @must @since:0.1 @profile:core @fresh @mutant:keeps-its-state-where-commands-start
  Scenario: Nothing but what commands have made lies where they start
    The directory is the caller's, who adds to a repository whatever lies in it (https://git-scm.com/docs/git-add).
    Given an open sandbox
    When 12 commands in every way have ended
    Then a command finds nothing new in the directory that commands start in

  @id:LEAK-013 @must @since:0.1 @profile:core @fresh @alone @needs:cancel @mutant:keeps-the-text-of-the-cancelled
  Scenario: Commands that are cancelled leave nothing
    Hundreds of processes that had ended were never waited for (https://github.com/NousResearch/hermes-agent/issues/111577); what is cleaned up behind a command is
    not cleaned up where it never came to its end.
    Given a backend that has been used before
    And an open sandbox
    When 12 commands that are cancelled have ended
    Then nothing is left of them
