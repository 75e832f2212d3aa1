Feature: PREFLIGHT: what is missing is told
  A backend that cannot work says what it misses and what mends it, and never does anything in its place.

  @id:PREFLIGHT-001 @must @since:0.1 @profile:core @needs:preflight @mutant:misses-what-is-there
  Scenario: A backend that works misses nothing
    The check of an engine said that it is broken while it worked (https://github.com/NousResearch/hermes-agent/issues/63356).
    Given an open sandbox
    When the backend is asked once what it misses
    Then it misses nothing

  @id:PREFLIGHT-002 @must @since:0.1 @profile:core @needs:preflight @alone @serial @mutant:makes-a-sandbox-to-look
  Scenario: Asking what is missing changes nothing, and can be done again and again
    A self-check collided with what an earlier one had left, and told a tool as not installed (https://github.com/OpenHands/OpenHands/issues/12011).
    When the backend is asked again and again what it misses
    Then it misses the same each time
    And it misses nothing that it had before

  @id:PREFLIGHT-003 @must @since:0.1 @profile:core @serial @mutant:will-not-introduce-itself
  Scenario: A backend that misses something can still be asked what
    A missing setting showed up late, and an unknown one not at all (https://github.com/NousResearch/hermes-agent/pull/979).
    When the backend is used while something that it needs is missing
    Then what is missing keeps nobody from asking

  @id:PREFLIGHT-004 @must @since:0.1 @profile:core @needs:preflight @serial @mutant:finds-nothing-missing @mutant:vague-about-what-is-missing
  Scenario: What is missing is named
    Limits failed on every call where the system lacked a controller, and nobody was told which (https://github.com/NousResearch/hermes-agent/issues/6568).
    When the backend is used while something that it needs is missing
    Then what is missing is named among its problems

  @id:PREFLIGHT-005 @must @since:0.1 @profile:core @needs:preflight @serial @mutant:finds-nothing-missing @mutant:problems-without-a-way-out
  Scenario: What is missing comes with the step that mends it
    Setting up failed inside containers, and the error led astray (https://github.com/openai/codex/issues/23468).
    When the backend is used while something that it needs is missing
    Then what is missing comes with a step that mends it

  @id:PREFLIGHT-006 @must @since:0.1 @profile:core @serial @mutant:internal-error-for-what-is-missing @mutant:runs-on-this-machine-instead
  Scenario: Where something is missing no sandbox opens, and the error names it and a way out
    It was proposed to go on where the kernel does not enforce what was asked for (https://github.com/openai/codex/pull/9959).
    When the backend is used while something that it needs is missing
    Then what is missing is why no sandbox opens

  @id:PREFLIGHT-007 @must @since:0.1 @profile:core @serial @mutant:runs-on-this-machine-instead
  Scenario: Where something is missing nothing runs on this machine instead
    Until its image had been fetched, the first command ran on the host (https://github.com/NousResearch/hermes-agent/issues/54354).
    When the backend is used while something that it needs is missing
    Then what is missing never sends a command to this machine instead

  @id:PREFLIGHT-008 @must @since:0.1 @profile:core @needs:list @serial @mutant:lists-what-could-not-be-opened
  Scenario: A sandbox that could not be opened is not listed
    A failing start step left more than a hundred orphans in three days (https://github.com/NousResearch/hermes-agent/issues/7439).
    When the backend is used while something that it needs is missing
    Then what is missing leaves no sandbox on the list

  @id:PREFLIGHT-009 @must @since:0.1 @profile:core @serial @mutant:does-not-get-over-it
  Scenario: Once it is back, sandboxes open again
    After a removal from outside every call went on failing in the same way, for days (https://github.com/NousResearch/hermes-agent/issues/36266).
    When the backend is used again and again while something that it needs is missing
    Then what is missing is no hindrance once it is back

  @id:PREFLIGHT-010 @must @since:0.1 @profile:files @needs:files @mutant:internal-error-for-a-full-disk @mutant:leaves-half-a-file
  Scenario: A file for which there is no room is refused as such, and nothing of it stays
    With its disk filled, every call of a sandbox failed, and this was taken for the commands' own output (https://github.com/UKGovernmentBEIS/inspect_ai/issues/4709).
    Given a world with next to no room for files
    And an open sandbox
    When more than fits is written to a new file
    Then the call is refused because there is no room
    And the error names the file
    And the error says what the caller can do
    And reading it gives nothing

  @id:PREFLIGHT-011 @must @since:0.1 @profile:files @needs:files @mutant:leaves-half-a-file
  Scenario: A file that cannot grow for want of room stays as it was
    A reader saw half of a file that was being rewritten, and its search path was corrupted for good (https://github.com/NousResearch/hermes-agent/issues/38249).
    Given a world with next to no room for files
    And an open sandbox
    And a file that was written with 1000 bytes
    When more than fits is written to it
    Then reading it gives the same bytes
