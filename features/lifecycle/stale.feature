Feature: STALE: a sandbox that was changed behind the backend's back
  What has happened to a sandbox is told for what it is, and never looks like a command that failed.

  @id:STALE-001 @must @since:0.1 @profile:core @fresh @mutant:a-lost-sandbox-looks-like-a-failed-command @mutant:replaces-a-sandbox-without-a-word
  Scenario Outline: The next command runs where it should, or is told that its sandbox is gone
    After its container was removed from outside, each call repeated the same dead id for days (https://github.com/NousResearch/hermes-agent/issues/36266).
    Given an open sandbox
    When the sandbox <was struck> behind the backend's back
    Then the next command is told the truth

    Examples:
      | was struck              |
      | is removed              |
      | is stopped              |
      | loses its first process |

  @id:STALE-002 @must @since:0.1 @profile:core @fresh @mutant:a-lost-sandbox-looks-like-a-failed-command @mutant:leaves-its-callers-waiting
  Scenario: A command whose sandbox is removed is answered as lost with it
    A stream that stalled without an end blocked its caller for ever (https://github.com/vercel/eve/issues/440).
    Given an open sandbox
    And a command that keeps a beat
    When the sandbox is removed behind the backend's back
    Then the command is answered as lost with its sandbox
    And the beat has stopped

  @id:STALE-003 @must @since:0.1 @profile:core @fresh @mutant:a-lost-sandbox-looks-like-a-failed-command
  Scenario Outline: A command that is ended from outside has not exited by itself
    Commands that destroy their sandbox were taken for commands that had failed (https://github.com/UKGovernmentBEIS/inspect_ai/issues/4709).
    Given an open sandbox
    And a command that keeps a beat
    When the sandbox <was struck> behind the backend's back
    Then the command is answered as lost with its sandbox, or as ended by a signal
    And the beat has stopped

    Examples:
      | was struck              |
      | is stopped              |
      | loses its first process |

  @id:STALE-004 @must @since:0.1 @profile:core @fresh @needs:timeout @mutant:deadlines-wait-for-the-paused
  Scenario: A deadline strikes although the sandbox is paused
    A frozen helper held up every call, since nothing that was waited for had a deadline (https://github.com/docker/sbx-releases/issues/163).
    Given an open sandbox
    And a command that keeps a beat, with a deadline of 2 seconds
    When the sandbox is paused behind the backend's back
    Then the command is answered as timed out
    When what was done behind its back is undone
    Then the beat stops within a second

  @id:STALE-005 @must @since:0.1 @profile:core @fresh @mutant:ends-what-was-paused
  Scenario: A command goes on when its sandbox is paused no longer
    States in between led a backend to replace a sandbox that could have gone on by an empty one (https://github.com/omnigent-ai/omnigent/pull/7828).
    Given an open sandbox
    And a command that keeps a beat
    When the sandbox is paused behind the backend's back
    And what was done behind its back is undone
    Then the beat goes on
    And the next command is told the truth

  @id:STALE-006 @must @since:0.1 @profile:core @fresh @mutant:complains-about-closing-what-is-gone
  Scenario: Closing a sandbox that was removed is no error
    A record without its instance, and processes without their record, were left for good (https://github.com/apptainer/singularity/issues/1233).
    Given an open sandbox
    When the sandbox is removed behind the backend's back
    And the sandbox is destroyed
    Then closing it again tells that nothing was there

  @id:STALE-007 @must @since:0.1 @profile:core @fresh @mutant:one-struck-sandbox-holds-up-all
  Scenario Outline: A sandbox that something has happened to holds up no other
    One frozen helper wedged the calls of every sandbox (https://github.com/docker/sbx-releases/issues/163).
    Given two open sandboxes
    When the sandbox <was struck> behind the backend's back
    Then sandboxes beside it are of use

    Examples:
      | was struck              |
      | is removed              |
      | is paused               |
      | loses its first process |

  @id:STALE-008 @must @since:0.1 @profile:core @fresh @needs:list @mutant:lists-the-removed
  Scenario: A sandbox that was removed is not listed
    A start answered with success, yet no sandbox of that name was there (https://github.com/apptainer/singularity/issues/1706).
    Given an open sandbox
    When the sandbox is removed behind the backend's back
    Then it is not listed

  @id:STALE-009 @must @since:0.1 @profile:core @fresh @needs:files @mutant:looks-for-files-where-no-sandbox-is
  Scenario: A file is not missing where its whole sandbox is
    After its container was removed from outside, each call repeated the same dead id for days (https://github.com/NousResearch/hermes-agent/issues/36266).
    Given an open sandbox
    When the sandbox is removed behind the backend's back
    And a file that is not there is read
    Then the call is refused because the sandbox is not there

  @id:STALE-010 @must @since:0.1 @profile:core @fresh @mutant:answers-only-those-that-speak
  Scenario: A command that its caller holds back is answered when its sandbox is removed
    A stream that stalled without an end blocked its caller for ever (https://github.com/vercel/eve/issues/440).
    Given an open sandbox
    And a command that keeps a beat and floods a caller that takes nothing
    When the sandbox is removed behind the backend's back
    Then the command is answered as lost with its sandbox
    And the beat has stopped

  @id:STALE-011 @must @since:0.1 @profile:core @fresh @needs:stdin_stream @mutant:answers-only-those-that-wait-for-nothing
  Scenario: A command that waits for its input is answered when its sandbox is removed
    A stream that stalled without an end blocked its caller for ever (https://github.com/vercel/eve/issues/440).
    Given an open sandbox
    And a command that waits for its input
    When the sandbox is removed behind the backend's back
    Then the command is answered as lost with its sandbox

  @id:STALE-012 @must @since:0.1 @profile:core @fresh @mutant:tells-output-twice-after-a-pause
  Scenario: Nothing is lost and nothing comes twice where a sandbox was paused
    What is frozen notices neither that it was suspended nor that it goes on (https://docs.docker.com/reference/cli/docker/container/pause/).
    Given an open sandbox
    When a command writes two lines, stopped in between by a pause of its sandbox
    Then the outcome is exited with code 0
    And standard output is all that was printed

  @id:STALE-013 @must @since:0.1 @profile:core @fresh @needs:inspect @mutant:describes-what-it-remembers
  Scenario: A sandbox that was removed is not described as if it ran
    A start answered with success, yet no sandbox of that name was there (https://github.com/apptainer/singularity/issues/1706).
    Given an open sandbox
    When the sandbox is removed behind the backend's back
    Then it is not described as running
