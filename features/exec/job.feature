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

  @id:JOB-003 @must @since:0.1 @profile:jobs @needs:jobs @mutant:detaches-in-name-only
  Scenario: A job is started at once, and goes on
    A daemon started over a connection held that connection, so the start ran into its own limit (https://github.com/NousResearch/hermes-agent/issues/96129).
    Given an open sandbox
    When a job keeps a beat
    Then the job was started at once
    And the beat goes on

  @id:JOB-004 @must @since:0.1 @profile:jobs @needs:jobs @mutant:jobs-begin-at-the-beginning
  Scenario: What a job has written is read from any cursor
    A reader that came back was given again what it had, or lost what it had not (https://github.com/NousResearch/hermes-agent/issues/65298).
    Given an open sandbox
    When a job prints three lines and exits with a code
    And the job is over
    Then the job gives its output from every cursor

  @id:JOB-005 @must @since:0.1 @profile:jobs @needs:jobs @mutant:jobs-succeed
  Scenario: How a job ended is told to whoever waits, and in the list
    With a lost status, work that had failed was taken for done (https://github.com/apache/airflow/pull/72910).
    Given an open sandbox
    When a job prints three lines and exits with a code
    Then the job is told as exited with its code, also in the list

  @id:JOB-006 @must @since:0.1 @profile:jobs @needs:jobs @mutant:kills-jobs-in-name-only
  Scenario: A job that is killed is dead
    Processes started in the background survived the end of the agent, and kept their ports (https://github.com/NousResearch/hermes-agent/pull/40350).
    Given an open sandbox
    When a job keeps a beat
    And the job is killed
    Then the beat has stopped
    And the job is told as cancelled

  @id:JOB-007 @must @since:0.1 @profile:jobs @needs:jobs @mutant:never-forgets
  Scenario: A job that is forgotten is not known any more
    Records without their processes were left for good (https://github.com/apptainer/singularity/issues/1233).
    Given an open sandbox
    When a job prints three lines and exits with a code
    And the job is over and forgotten
    Then the job is not known any more

  @id:JOB-008 @must @since:0.1 @profile:jobs @needs:jobs,timeout @mutant:jobs-without-deadlines
  Scenario: A deadline ends a job although nobody waits for it
    Remote commands ran without a bound, since the deadline that was given never reached them (https://github.com/langchain-ai/deepagents/pull/1756).
    Given an open sandbox
    When a job keeps a beat, with a deadline of 1 second
    And the job is over
    Then the beat has stopped
    And the job is told as timed out
