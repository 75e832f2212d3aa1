Feature: SECRET: what was given to one is found nowhere else
  A backend has secrets of its own, and is given some for its commands. Each is for one place; the secrets here were made up for this.

  @id:SECRET-001 @must @since:0.1 @profile:isolated @needs:isolation @mutant:shows-the-variables-of-its-helpers
  Scenario Outline: No process that a command sees has the backend's own secrets among its variables
    What had been taken out of a command's variables could be read from those of its parent (https://github.com/NousResearch/hermes-agent/issues/4427).
    Given an open sandbox
    When a command tells the variables of every process that it sees
    Then the secret that the backend was started with as <a name> is not among them

    Examples:
      | a name                |
      | OPENAI_API_KEY        |
      | AWS_SECRET_ACCESS_KEY |
      | HARMLESS_LOOKING_NAME |

  @id:SECRET-002 @must @since:0.1 @profile:core @needs:env @mutant:hands-variables-over-as-arguments
  Scenario: The value of a variable is in nobody's command line
    Every user of a machine can read the words of its processes, and the secrets of each command were among them (https://github.com/NousResearch/hermes-agent/issues/96268).
    Given an open sandbox
    And a secret
    When a command is given it as a variable
    Then it is in no command line, here or in the sandbox

  @id:SECRET-003 @must @since:0.1 @profile:core @needs:env,argv @mutant:hands-variables-of-programs-over-as-arguments
  Scenario: Nor is that of a program that no shell starts
    Secrets were written into the words of what started a command, some of them only encoded (https://github.com/benchflow-ai/benchflow/issues/412).
    Given an open sandbox
    And a secret
    When a command is given it as a variable, run as a program
    Then it is in no command line, here or in the sandbox

  @id:SECRET-004 @must @since:0.1 @profile:jobs @needs:env,jobs @mutant:hands-variables-of-jobs-over-as-arguments
  Scenario: Nor is that of a job
    Secrets were written into the words of what started a command, some of them only encoded (https://github.com/benchflow-ai/benchflow/issues/412).
    Given an open sandbox
    And a secret
    When a command is given it as a variable, run as a job
    Then it is in no command line, here or in the sandbox

  @id:SECRET-005 @must @since:0.1 @profile:core @needs:env @mutant:tells-variables-in-errors @mutant:logs-variables
  Scenario: However a command ends, what it was given is not told
    The error for a container that did not start held the whole command line, and the secrets in it (https://github.com/KE7/helix/pull/47); a log held the values of every variable (https://github.com/bytedance/deer-flow/issues/2534).
    Given an open sandbox
    And a secret
    When commands are given it and end in every way
    Then it is told to nobody

  @id:SECRET-006 @must @since:0.1 @profile:core @alone @needs:env @mutant:tells-variables-of-sandboxes-in-errors
  Scenario: A sandbox that cannot be opened is told of without what it was given
    The error for a container that did not start held the whole command line, and the secrets in it (https://github.com/KE7/helix/pull/47).
    Given a secret
    When sandboxes are given it and cannot be opened
    Then it is told to nobody

  @id:SECRET-007 @must @since:0.1 @profile:core @fresh @needs:env,list @mutant:lists-sandboxes-with-their-variables
  Scenario: A list of sandboxes does not tell what they were given
    Who asked an engine about a container was told every variable of it, secrets included (https://github.com/mifunedev/openharness/issues/723).
    Given a secret
    And a sandbox that was given it
    When the backend tells its sandboxes
    Then it is told to nobody

  @id:SECRET-008 @must @since:0.1 @profile:core @fresh @needs:env,inspect @mutant:describes-sandboxes-with-their-variables
  Scenario: The description of a sandbox does not tell what it was given
    Who asked an engine about a container was told every variable of it, secrets included (https://github.com/mifunedev/openharness/issues/723).
    Given a secret
    And a sandbox that was given it
    When the backend tells what its sandbox is
    Then it is told to nobody

  @id:SECRET-009 @must @since:0.1 @profile:jobs @fresh @needs:env,jobs @mutant:lists-jobs-with-their-variables
  Scenario: A list of jobs does not tell what they were given
    The variables of each job were kept in its record, and told in the log (https://github.com/ksterx/srunx/issues/221).
    Given a secret
    And a sandbox that was given it
    When the backend tells its jobs
    Then it is told to nobody

  @id:SECRET-010 @must @since:0.1 @profile:core @fresh @needs:env,ledger @mutant:keeps-variables-in-its-ledger
  Scenario: What a backend has made is told without what it was given
    The variables of each job were kept in its record, and told in the log (https://github.com/ksterx/srunx/issues/221).
    Given a secret
    And a sandbox that was given it
    When the backend tells what it has made
    Then it is told to nobody

  @id:SECRET-011 @must @since:0.1 @profile:core @fresh @alone @needs:env @mutant:keeps-a-record-for-all-to-read
  Scenario: What a command was given lies in no file that others may read
    A record of the variables lay on the disk with every secret in it, for others to read (https://github.com/NousResearch/hermes-agent/issues/48441).
    Given a backend that has been used before
    And an open sandbox
    And a secret
    When a command is given it in every way
    Then it is in no file that others may read

  @id:SECRET-012 @must @since:0.1 @profile:core @fresh @alone @needs:env @mutant:keeps-a-record-of-the-dead
  Scenario: When its sandbox is gone it lies in no file at all
    A record of the variables lay on the disk with every secret in it, for others to read (https://github.com/NousResearch/hermes-agent/issues/48441).
    Given a backend that has been used before
    And an open sandbox
    And a secret
    When a command is given it in every way
    Then it is in no file that is left of it

  @id:SECRET-013 @must @since:0.1 @profile:isolated @fresh @needs:isolation,env @mutant:leaves-what-commands-were-given
  Scenario: What a command was given is not found by the next
    The variables of a command were written into a file of the sandbox for it to read (https://github.com/benchflow-ai/benchflow/issues/412).
    Given an open sandbox
    And a secret
    When commands are given it and end in every way
    Then it is nowhere in the sandbox after that
