Feature: REUSE: what is found under a key is what was asked for
  A sandbox that is there is gone on with where it is what is asked for now. Where it is not, or is of no use any more, there is another one, and what is lost by that is told.

  @id:REUSE-001 @must @since:0.1 @profile:persistent @needs:attach,survive_client,left_behind=keep @alone @fresh @mutant:tells-nothing-of-what-is-lost @mutant:opens-only-what-runs
  Scenario Outline: Whatever state a sandbox is in, its key opens one that works, and no loss is left untold
    A container that had stopped was taken for one that runs, and every command in it failed (https://github.com/NousResearch/hermes-agent/issues/74053); states in between led to a
    replacement without a word (https://github.com/omnigent-ai/omnigent/pull/7828).
    Given a sandbox under a key
    And a command that has left a beat behind
    When the sandbox <was struck> behind the backend's back
    And the key is opened again after its caller was killed
    Then it is what was asked for, and no loss is left untold

    Examples:
      | was struck              |
      | is stopped              |
      | loses its first process |
      | is paused               |
      | is removed              |

  @id:REUSE-002 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:uses-what-is-there-whatever-is-asked
  Scenario Outline: What is asked for otherwise than before holds, or is refused
    Reuse compared names only, so that whatever else was asked for was ignored (https://github.com/NousResearch/hermes-agent/issues/84969).
    Given a sandbox under a key and with <this>
    When the key is opened again after its caller has gone, with <that>
    Then it is what was asked for, and no loss is left untold

    @needs:limits_pids
    Examples:
      | this                   | that                   |
      | room for 120 processes | room for 180 processes |
      | room for 180 processes | room for 120 processes |

    @needs:limits_memory
    Examples:
      | this              | that              |
      | 192 MiB of memory | 256 MiB of memory |
      | 256 MiB of memory | 192 MiB of memory |

  @id:REUSE-003 @must @since:0.1 @profile:persistent @needs:attach,limits_pids,left_behind=keep @alone @fresh @mutant:tells-nothing-of-what-is-lost @mutant:uses-what-is-there-whatever-is-asked
  Scenario: What ran is not ended without a word for what is asked for otherwise
    A container was replaced for a difference that nobody had been told of, and what ran in it was gone (https://github.com/NousResearch/hermes-agent/pull/101385).
    Given a sandbox under a key and with room for 120 processes
    And a command that has left a beat behind
    When the key is opened again after its caller has gone, with room for 180 processes
    Then it is what was asked for, and no loss is left untold

  @id:REUSE-004 @must @since:0.1 @profile:persistent @needs:attach,survive_client,limits_pids @alone @fresh @mutant:uses-what-is-there-whatever-is-asked
  Scenario Outline: What is asked for otherwise holds whatever state the sandbox is in
    Arguments were dropped on some of the ways to start (https://github.com/NousResearch/hermes-agent/pull/46043).
    Given a sandbox under a key and with room for 120 processes
    When the sandbox <was struck> behind the backend's back
    And the key is opened again after its caller was killed, with room for 180 processes
    Then it is what was asked for, and no loss is left untold

    Examples:
      | was struck              |
      | is stopped              |
      | loses its first process |
      | is paused               |
      | is removed              |

  @id:REUSE-005 @must @since:0.1 @profile:persistent @needs:attach,limits_pids @alone @fresh @mutant:forgets-what-a-key-was-opened-with @mutant:replaces-what-is-the-same
  Scenario Outline: What was asked for once holds for later callers that ask for <nothing>
    The limit of a sandbox reached one of several ways to make it, and was lost on the others (https://github.com/NousResearch/hermes-agent/pull/59149).
    Given a sandbox under a key and with room for 120 processes
    When the key is opened again after its caller has gone<, and asked for>
    Then it is the same sandbox, found again
    And it is what was asked for, and no loss is left untold

    Examples:
      | nothing  | , and asked for              |
      | nothing  |                              |
      | the same | , with room for 120 processes |

  @id:REUSE-006 @must @since:0.1 @profile:persistent @needs:attach,persist_files,limits_pids @alone @fresh @mutant:a-replacement-loses-files-without-a-word
  Scenario: Files are kept by what takes a sandbox's place, or their loss is told
    A container was replaced, and with it went what had been written where work is kept (https://github.com/NousResearch/hermes-agent/pull/101385).
    Given a sandbox under a key and with room for 120 processes
    And a file in the first one's working directory
    When the key is opened again after its caller has gone, with room for 180 processes
    Then it is what was asked for, and no loss is left untold

  @id:REUSE-007 @must @since:0.1 @profile:persistent @needs:attach,limits_pids @alone @fresh @mutant:believes-what-it-has-written-down
  Scenario: A limit that somebody has taken away behind the backend's back is there again, or its lack is told
    Reuse compared what had been written down, and not what there was (https://github.com/NousResearch/hermes-agent/issues/84969).
    Given a sandbox under a key and with room for 120 processes
    When the sandbox loses its limits behind the backend's back
    And the key is opened again after its caller has gone
    Then it is what was asked for, and no loss is left untold

  @id:REUSE-008 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:opens-only-what-runs
  Scenario: A sandbox whose making was interrupted is in nobody's way
    What had been made half by one who was killed was found by the next, and was of no use to anybody (https://github.com/NousResearch/hermes-agent/issues/75467).
    Given a sandbox under a key
    When the sandbox is half made behind the backend's back
    And the key is opened again after its caller has gone
    Then it is what was asked for, and no loss is left untold

  @id:REUSE-009 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:takes-another-name-where-one-is-taken
  Scenario: What belongs to somebody else is neither used nor removed, whatever it is called
    Two homes of the same name matched each other's container (https://github.com/NousResearch/hermes-agent/pull/79832).
    Given a sandbox under a key
    When the sandbox makes way for somebody else's behind the backend's back
    And the key is opened again after its caller has gone
    Then the call is refused because what is there is somebody else's
    When the key is opened again after its caller has gone
    Then the call is refused because what is there is somebody else's

  @id:REUSE-010 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:what-cannot-be-seen-is-not-there
  Scenario: That nobody can be asked does not mean that nothing is there
    An error of the look was taken for the answer that nothing is there, and a second sandbox was made (https://github.com/NousResearch/hermes-agent/issues/74053).
    Given a sandbox under a key
    And a file in the first one's working directory
    When the key is opened while nobody can be asked
    And the key is opened again after its caller has gone
    Then it is the same sandbox, found again
    And it is what was asked for, and no loss is left untold

  @id:REUSE-011 @must @since:0.1 @profile:persistent @needs:attach,survive_client @alone @fresh @mutant:waits-for-the-frozen
  Scenario: A sandbox that runs and does not answer holds nobody up for good
    One frozen helper wedged every call, since nothing that was waited for had a deadline (https://github.com/docker/sbx-releases/issues/163).
    Given a sandbox under a key
    When the sandbox stops answering behind the backend's back
    And the key is opened again after its caller was killed
    Then it is what was asked for, and no loss is left untold

  @id:REUSE-012 @must @since:0.1 @profile:persistent @needs:attach,concurrency @alone @fresh @mutant:opens-a-key-twice-at-once @mutant:keys-of-one-process
  Scenario Outline: Callers that come at once to a sandbox which has to be put right share one
    A check before the creation let two at once make two (https://github.com/NousResearch/hermes-agent/issues/74053).
    Given a sandbox under a key
    When the sandbox <was struck> behind the backend's back
    And 6 callers open one key at once
    Then all callers share one sandbox

    Examples:
      | was struck              |
      | is stopped              |
      | loses its first process |
      | is removed              |
