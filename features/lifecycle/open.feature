Feature: OPEN: a sandbox is ready when it is there
  Opening answers when commands can run, and a failed opening leaves nothing.

  @id:OPEN-001 @must @since:0.1 @profile:core @fresh @mutant:one-sandbox-for-all @mutant:skips-the-first-command
  Scenario: Each opening without a key makes a sandbox of its own
    Two scheduled jobs were given one environment and ran in each other's directory (https://github.com/NousResearch/hermes-agent/pull/61976).
    Given two open sandboxes
    Then both are new, with different ids
    And a file in the first one's working directory is not in the second one's

  @id:OPEN-002 @must @since:0.1 @profile:core @fresh @mutant:opens-before-it-is-ready
  Scenario: The first command runs as soon as the sandbox is there
    A command sent while the sandbox was still starting killed it (https://github.com/OpenHands/OpenHands/issues/5557).
    When a sandbox is opened and a command is run at once
    Then the outcome is exited with code 0

  @id:OPEN-003 @must @since:0.1 @profile:core @fresh @needs:env @mutant:forgets-the-sandbox-variables
  Scenario: A variable of the sandbox is seen by every command in it
    An allow-listed variable was silently dropped by one of several backends (https://github.com/NousResearch/hermes-agent/issues/59286).
    Given a sandbox opened with the variable "PROBE_COLOUR" set to "green \"quoted\""
    When a command prints the variable "PROBE_COLOUR"
    Then standard output is exactly "green \"quoted\""

  @id:OPEN-004 @must @since:0.1 @profile:core @fresh @needs:cwd @mutant:opens-in-its-own-directory
  Scenario: A sandbox opened with a directory starts its commands there
    A directory option was ignored together with containment (https://github.com/apptainer/singularity/issues/1208).
    When a sandbox is opened with the root directory
    And a command prints its working directory
    Then it is the root directory

  @id:OPEN-005 @must @since:0.1 @profile:core @fresh @serial @needs:list @mutant:lists-what-was-never-made
  Scenario: An opening that fails leaves no sandbox
    A failing start step left more than a hundred orphans in three days (https://github.com/NousResearch/hermes-agent/issues/7439).
    When a sandbox is opened with a variable that has no name
    Then the call is refused as an invalid argument
    And no more sandboxes are listed than before

  @id:OPEN-006 @must @since:0.1 @profile:core @fresh @needs:list @mutant:lists-nothing
  Scenario: An open sandbox is listed
    Listing dropped an instance although its processes were alive (https://github.com/apptainer/singularity/issues/1233).
    Given an open sandbox
    Then it is listed as running

  @id:OPEN-007 @must @since:0.1 @profile:core @fresh @needs:inspect @mutant:describes-another-sandbox
  Scenario: An open sandbox is described truly
    A start answered with success, yet no sandbox of that name existed (https://github.com/apptainer/singularity/issues/1706).
    Given an open sandbox
    When the sandbox is inspected
    Then it is described as running, under its own id, with the directory that commands start in

  @id:OPEN-008 @must @since:0.1 @profile:core @fresh @mutant:tells-another-directory
  Scenario: The directory that is told at opening is where commands start
    A directory that could not be entered gave a warning, and the command ran elsewhere (https://github.com/apptainer/singularity/issues/2778).
    Given an open sandbox
    Then the directory that it told, if it told one, is where commands start

  @id:OPEN-009 @must @since:0.1 @profile:core @fresh @needs:env @mutant:own-variables-replace-those-of-the-sandbox
  Scenario: A command with variables of its own sees that of the sandbox, too
    An allow-listed variable was silently dropped by one of several backends (https://github.com/NousResearch/hermes-agent/issues/59286).
    Given a sandbox opened with the variable "PROBE_COLOUR" set to "green"
    When a command with the variable "PROBE_OTHER" set to "its own" prints the variable of its sandbox
    Then standard output is exactly "green"

  @id:OPEN-010 @must @since:0.1 @profile:core @fresh @needs:env,argv @mutant:variables-of-sandboxes-only-for-texts
  Scenario: A program that no shell starts sees the variable of the sandbox, too
    An allow-listed variable was silently dropped by one of several backends (https://github.com/NousResearch/hermes-agent/issues/59286).
    Given a sandbox opened with the variable "PROBE_COLOUR" set to "green"
    When a program prints the variable of its sandbox
    Then standard output is exactly "green\n"

  @id:OPEN-011 @must @since:0.1 @profile:core @fresh @needs:env @mutant:sandboxes-drop-empty-variables
  Scenario: A variable that a sandbox is opened with as empty is set
    To a program, a variable without a value and no variable are two things (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html).
    Given a sandbox opened with the variable "PROBE_COLOUR" set to ""
    When a command asks whether the variable "PROBE_COLOUR" is set
    Then standard output is exactly "set\n"

  @id:OPEN-012 @must @since:0.1 @profile:jobs @fresh @needs:env,jobs @mutant:jobs-lose-the-variables-of-sandboxes
  Scenario: A job sees the variable of the sandbox, too
    An allow-listed variable was silently dropped by one of several backends (https://github.com/NousResearch/hermes-agent/issues/59286).
    Given a sandbox opened with the variable "PROBE_COLOUR" set to "green"
    When a job prints the variable of its sandbox
    Then the job has written just that

  @id:OPEN-013 @must @since:0.1 @profile:core @fresh @needs:cwd,argv @mutant:programs-start-elsewhere
  Scenario: A program starts where the sandbox was opened, too
    A directory option was ignored together with containment (https://github.com/apptainer/singularity/issues/1208).
    When a sandbox is opened with the root directory
    And a program prints its working directory
    Then it is the root directory

  @id:OPEN-014 @must @since:0.1 @profile:jobs @fresh @needs:cwd,jobs @mutant:jobs-start-elsewhere
  Scenario: A job starts where the sandbox was opened, too
    A directory option was ignored together with containment (https://github.com/apptainer/singularity/issues/1208).
    When a sandbox is opened with the root directory
    And a job prints its working directory
    Then the job has written just that

  @id:OPEN-015 @must @since:0.1 @profile:sessions @fresh @needs:cwd,sessions @mutant:sessions-start-elsewhere
  Scenario: A session starts where the sandbox was opened, too
    A directory option was ignored together with containment (https://github.com/apptainer/singularity/issues/1208).
    When a sandbox is opened with the root directory
    And a command of the session tells where it is
    Then it is the root directory

  @id:OPEN-016 @must @since:0.1 @profile:core @mutant:tells-bounds-that-do-not-hold @mutant:tells-privileges-that-do-not-hold
  Scenario: What a sandbox is told to be allowed is what its commands find
    A limit was accepted and told, and was not enforced (https://github.com/google/gvisor/issues/13777); whoever is told a policy relies on it.
    Given an open sandbox
    Then it is allowed what was told when it was opened
