Feature: JOB: work that outlives its command
  The end of the shell is the end of the command; what it left in the background is another matter.

  @id:JOB-001 @must @since:0.1 @profile:core @mutant:waits-for-what-is-left-behind
  Scenario: A command ends when its shell ends, although a worker still holds its output
    A call blocked for ever when its command had started a server in the background (https://github.com/NousResearch/hermes-agent/pull/10584).
    Given an open sandbox
    When a command prints "started\n" and leaves a worker that holds its output
    Then it was answered within 3 seconds
    And the outcome is exited with code 0
    And standard output is exactly "started\n"

  @id:JOB-002 @must @since:0.1 @profile:core @needs:left_behind=keep @mutant:ends-what-is-left-behind
  Scenario: A worker that a command leaves in the background lives on
    Servers started in the background were killed as soon as the call was over (https://github.com/google-gemini/gemini-cli/issues/13225).
    Given an open sandbox
    When a command leaves a beat behind
    Then the beat goes on
