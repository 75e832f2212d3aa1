Feature: PRIV: a command may not do what reaches beyond its sandbox
  Root of a sandbox is root of its files and users, and of nothing else. What was taken from it is asked for from inside, since a setting that was made is not yet one that holds.

  @id:PRIV-001 @must @since:0.1 @profile:isolated @needs:drop_caps @mutant:keeps-capabilities @mutant:can-have-its-capabilities-back
  Scenario: A command has no capability that reaches beyond its sandbox
    Sandboxes ran as root with the capabilities to administer the system and the network, and to trace any process (https://github.com/NVIDIA/OpenShell/issues/579).
    Given an open sandbox
    When a command tells what it may do
    Then it is without capabilities that reach beyond a sandbox

  @id:PRIV-002 @must @since:0.1 @profile:isolated @needs:drop_caps,argv @mutant:keeps-capabilities-for-programs
  Scenario: A program that no shell starts has none either
    What was started in the usual way had lost its capabilities, and a shell that was started beside it had not (https://github.com/NVIDIA/OpenShell/issues/1452).
    Given an open sandbox
    When a program tells what it may do
    Then it is without capabilities that reach beyond a sandbox

  @id:PRIV-003 @must @since:0.1 @profile:isolated @needs:drop_caps,jobs @mutant:keeps-capabilities-for-jobs
  Scenario: A job has none either
    What was started in the usual way had lost its capabilities, and a shell that was started beside it had not (https://github.com/NVIDIA/OpenShell/issues/1452).
    Given an open sandbox
    When a job tells what it may do
    Then it is without capabilities that reach beyond a sandbox

  @id:PRIV-004 @must @since:0.1 @profile:isolated @needs:drop_caps,sessions @mutant:keeps-capabilities-for-sessions
  Scenario: A command of a session has none either
    What was started in the usual way had lost its capabilities, and a shell that was started beside it had not (https://github.com/NVIDIA/OpenShell/issues/1452).
    Given an open sandbox
    When a command of the session tells what it may do
    Then it is without capabilities that reach beyond a sandbox

  @id:PRIV-005 @must @since:0.1 @profile:isolated @needs:drop_caps,user @mutant:keeps-capabilities-for-root
  Scenario: Who asks to be root gets none back
    One runtime took the order to drop all capabilities, and dropped none of them for root (https://github.com/nestybox/sysbox/issues/453).
    Given an open sandbox
    When a command as the user "root" tells what it may do
    Then it is without capabilities that reach beyond a sandbox

  @id:PRIV-006 @must @since:0.1 @profile:isolated @needs:drop_caps @mutant:lets-root-mount @mutant:lets-root-set-the-clock
  Scenario Outline: What changes the machine is refused
    In one runtime a container was given an address as if it had the right to administer its network (https://github.com/clearcontainers/runtime/issues/818).
    Given an open sandbox
    When a command tries to <do something>
    Then it was in vain

    Examples:
      | do something         |
      | mount a file system  |
      | make a device        |
      | set the clock        |
      | rename its machine   |
      | change its network   |

  @id:PRIV-007 @must @since:0.1 @profile:isolated @needs:drop_caps,user @mutant:takes-every-capability
  Scenario: What images do that begin as root can still be done
    Without any capability an image could not change to its user, and did not start (https://github.com/NousResearch/hermes-agent/pull/14253).
    Given an open sandbox
    When a command tries to give a file away, and to become who it belongs to
    Then it was managed

  @id:PRIV-008 @must @since:0.1 @profile:isolated @needs:no_new_privileges @mutant:leaves-a-way-to-more
  Scenario: The kernel is told that nothing gains privileges
    A switch that was to keep programs from more rights stood the other way round (https://github.com/Mng-dev-ai/agentrove/issues/132).
    Given an open sandbox
    When a command tells what it may do
    Then it is without a way to more privileges

  @id:PRIV-009 @must @since:0.1 @profile:isolated @needs:no_new_privileges,argv @mutant:leaves-programs-a-way-to-more
  Scenario: It is told so for a program that no shell starts, too
    A switch that was to keep programs from more rights stood the other way round (https://github.com/Mng-dev-ai/agentrove/issues/132).
    Given an open sandbox
    When a program tells what it may do
    Then it is without a way to more privileges

  @id:PRIV-010 @must @since:0.1 @profile:isolated @needs:no_new_privileges,jobs @mutant:leaves-jobs-a-way-to-more
  Scenario: It is told so for a job, too
    A switch that was to keep programs from more rights stood the other way round (https://github.com/Mng-dev-ai/agentrove/issues/132).
    Given an open sandbox
    When a job tells what it may do
    Then it is without a way to more privileges

  @id:PRIV-011 @must @since:0.1 @profile:isolated @needs:no_new_privileges,user @mutant:lets-programs-gain-privileges
  Scenario: A program of root's gives nobody the rights of root
    Whoever had a sandbox without root had root by one program in it (https://github.com/VirtusLab/sandcat/pull/90).
    Given an open sandbox
    When a command tries to gain privileges by a program of root's
    Then it was in vain

  @id:PRIV-012 @must @since:0.1 @profile:isolated @needs:isolation @mutant:hands-over-the-disks
  Scenario: The disks of the machine cannot be read
    A container with all rights could open the disks of its host, and mount them (https://github.com/Mng-dev-ai/agentrove/issues/131).
    Given an open sandbox
    When a command tries to read the disks of its machine
    Then it was in vain

  @id:PRIV-013 @must @since:0.1 @profile:isolated @needs:isolation @mutant:hands-over-the-engine
  Scenario: No container engine can be called from inside
    Sockets of engines were in the sandbox, and each of them gives whoever calls it the whole host (https://github.com/GreyhavenHQ/greywall/issues/55).
    Given an open sandbox
    When a command tries to find the socket of an engine
    Then it was in vain

  @id:PRIV-014 @must @since:0.1 @profile:isolated @needs:isolation @mutant:unmasks-the-kernel
  Scenario Outline: What belongs to the kernel of all cannot be opened
    Who can write one of these files has the host run a program as root (https://github.com/elastic/detection-rules/issues/6216).
    Given an open sandbox
    When a command tries to <do something>
    Then it was in vain

    Examples:
      | do something                                    |
      | read the memory of the kernel                   |
      | press the keys that the kernel listens to       |
      | change the settings of the kernel               |
      | change what the kernel does with its machine    |

  @id:PRIV-015 @should @since:0.1 @profile:isolated @needs:isolation @mutant:asks-the-kernel-for-anything
  Scenario: What a command asks of the kernel is filtered
    Most of what a kernel can be asked for no sandbox needs, and each of it is a way to a fault of the kernel's (https://docs.docker.com/engine/security/seccomp/).
    Given an open sandbox
    When a command tells what it may do
    Then it is behind a filter of what it asks of the kernel

  @id:PRIV-016 @must @since:0.1 @profile:isolated @fresh @needs:isolation @mutant:dies-with-its-first-process
  Scenario: Who ends the first process does not end the sandbox
    An agent ended by name what it ran under, and lost nine hours of work (https://github.com/n-orlov/ralphd/issues/48).
    Given an open sandbox
    When a command tries to end the first process
    Then the sandbox still runs commands

  @id:PRIV-017 @must @since:0.1 @profile:isolated @fresh @needs:limits_pids @mutant:forgets-the-limit-of-processes
  Scenario: There is an end to the processes of a sandbox
    A sandbox had no limit on its processes, so that one command could take all that its host has (https://github.com/NVIDIA/NemoClaw/issues/809).
    When a sandbox is opened with a process limit
    And a command tries to start more processes than that
    Then it was in vain
    And the sandbox still runs commands
