Feature: REAP: what nobody needs is removed, and nothing else
  Killed callers and long lives leave things behind. Whoever asks for it has those removed that nobody can need any more, and is told what became of each; a sandbox whose life was bounded ends by itself when nothing goes on in it.

  @id:REAP-001 @must @since:0.1 @profile:persistent @needs:reap,attach,list,left_behind=keep @alone @fresh @mutant:reaps-what-runs @mutant:says-nothing-of-what-it-leaves
  Scenario Outline: What runs is left alone, however eager the reaper is
    The end of a turn took down sandboxes that were to persist (https://github.com/NousResearch/hermes-agent/pull/6412); others were never even looked at, since what persists never exits
    (https://github.com/NousResearch/hermes-agent/issues/75467).
    Given a backend in a run of its own
    And a sandbox under a key
    And a command that has left a beat behind
    When the backend removes what <nobody needs>
    Then it is left as it was, and told why
    When the key is opened again after its caller has gone
    Then it is the same sandbox, found again
    And the beat goes on

    Examples:
      | nobody needs                           |
      | nobody needs                           |
      | nobody needs after its caller has gone |

  @id:REAP-002 @must @since:0.1 @profile:persistent @needs:reap,attach,persist_files,list @alone @fresh @mutant:reaps-what-its-caller-has-stopped
  Scenario: What its caller has stopped is left alone, and its files with it
    Per-turn cleanup tore down sandboxes although they were to persist (https://github.com/NousResearch/hermes-agent/pull/6412). A stop promises that files stay, however long nobody comes for them.
    Given a backend in a run of its own
    And a sandbox under a key
    And a file in the first one's working directory
    When the backend removes what nobody needs after it was stopped
    Then it is left as it was, and told why
    When the key is opened again after its caller has gone
    Then a command finds the mark in the directory that commands start in

  @id:REAP-003 @must @since:0.1 @profile:persistent @needs:reap,attach,list @alone @fresh @mutant:reaps-nothing @mutant:reaps-whatever-the-bound
  Scenario: What was ended by somebody else goes when nobody has needed it for long enough, and not before
    Nothing removed what nobody would open again (https://github.com/NousResearch/hermes-agent/issues/75467).
    Given a backend in a run of its own
    And a sandbox under a key
    When the sandbox is stopped behind the backend's back
    And the backend removes what nobody has needed for an hour
    Then it is left as it was, and told why
    When the backend removes what nobody needs
    Then it is removed, and told why

  @id:REAP-004 @must @since:0.1 @profile:persistent @needs:reap,attach,list @alone @fresh @mutant:reaps-only-what-has-run
  Scenario: What was made half by somebody who was killed goes
    A start that failed half-way left more than a hundred orphans in three days (https://github.com/NousResearch/hermes-agent/issues/7439).
    Given a backend in a run of its own
    And a sandbox under a key
    When the sandbox is half made behind the backend's back
    And the backend removes what nobody needs
    Then it is removed, and told why

  @id:REAP-005 @must @since:0.1 @profile:persistent @needs:reap,attach @alone @fresh @mutant:reaps-what-is-somebody-elses
  Scenario: What is somebody else's is not touched, whatever it is called
    Two homes of the same profile took each other's containers for their own (https://github.com/NousResearch/hermes-agent/pull/79832).
    Given a backend in a run of its own
    And a sandbox under a key
    When the sandbox makes way for somebody else's behind the backend's back
    And the backend removes what nobody needs
    Then it is not told as removed
    When the key is opened again after its caller has gone
    Then the call is refused because what is there is somebody else's

  @id:REAP-006 @must @since:0.1 @profile:persistent @needs:reap,attach,list @alone @fresh @mutant:a-look-that-removes @mutant:reaps-nothing
  Scenario: A look tells what would go, and removes nothing
    Containers went that nobody had been told of (https://github.com/NousResearch/hermes-agent/issues/115697).
    Given a backend in a run of its own
    And a sandbox under a key
    When the sandbox is stopped behind the backend's back
    And the backend removes what nobody needs, for a look only
    Then it is told what would go, and there
    When the backend removes what nobody needs
    Then it is removed, and told why

  @id:REAP-007 @must @since:0.1 @profile:persistent @needs:reap,attach,list @alone @fresh @mutant:reaps-and-forgets-a-part
  Scenario: Nothing is left of a sandbox whose idle life is over
    Containers were removed while their directories stayed on the disk (https://github.com/NousResearch/hermes-agent/pull/44144).
    Given a backend that has been used before
    And a sandbox under a key and with an idle life of a second
    And a command that has left a beat behind
    When the sandbox is stopped behind the backend's back
    And the backend removes what nobody needs
    Then nothing is left of it

  @id:REAP-008 @must @since:0.1 @profile:persistent @needs:reap,attach,list @alone @fresh @mutant:fails-where-nothing-is-left
  Scenario: Reapers that come at once are not in each other's way
    What had been listed was gone when it was to be removed, and the whole round failed (https://github.com/NousResearch/hermes-agent/issues/115697).
    Given a backend in a run of its own
    And a sandbox under a key
    When the sandbox is stopped behind the backend's back
    And the backend removes what nobody needs, twice at once and once more
    Then it is removed, and told why

  @id:REAP-009 @must @since:0.1 @profile:persistent @needs:reap,attach @alone @fresh @mutant:removes-by-force-what-it-has-listed
  Scenario: What somebody takes up again meanwhile is left to them
    What had been listed as ended was removed by force, although somebody had started it again meanwhile (https://github.com/NousResearch/hermes-agent/issues/115697).
    Given a backend in a run of its own
    And a sandbox under a key
    When the sandbox is stopped behind the backend's back
    And the backend removes what nobody needs while its key is opened
    Then the sandbox still runs commands

  @id:REAP-010 @must @since:0.1 @profile:persistent @needs:reap,attach,list @alone @fresh @mutant:ends-before-its-time @mutant:an-open-caller-keeps-it
  Scenario: A sandbox with an idle life ends when that is over, and not before
    A provider's own stop was switched off, and sandboxes of a crashed owner cost money without end (https://github.com/NousResearch/hermes-agent/issues/28804). Whoever has one open and asks nothing of it
    does not keep it.
    Given a sandbox under a key and with an idle life of 2 seconds
    Then it is ended when its idle life is over, and not before

  @id:REAP-011 @must @since:0.1 @profile:persistent @needs:reap,attach,list @alone @fresh @mutant:counts-from-the-opening
  Scenario Outline: What goes on in a sandbox keeps it: <what>
    The sandbox was removed while a user was asked whether the command may run (https://github.com/NousResearch/hermes-agent/pull/107160).
    Given a sandbox under a key and with an idle life of 2 seconds
    When something goes on in it: <what>
    Then it is ended when its idle life is over, and not before

    Examples:
      | what                            |
      | a command runs                  |
      | a command is run now and then   |
      | its key is opened now and then  |

    @needs:jobs,survive_client
    Examples:
      | what       |
      | a job runs |

    @needs:rpc
    Examples:
      | what                       |
      | a command waits for a tool |

  @id:REAP-012 @must @since:0.1 @profile:persistent @needs:reap,attach,list @alone @fresh @mutant:finds-again-what-has-ended
  Scenario: After its idle life the key opens another sandbox, which is told
    A container that had stopped was taken for one that runs, and every command in it failed (https://github.com/NousResearch/hermes-agent/issues/74053).
    Given a sandbox under a key and with an idle life of a second
    Then it is ended when its idle life is over, and not before
    And it is another one that its key opens, and of use
