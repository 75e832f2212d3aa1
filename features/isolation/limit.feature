Feature: LIMIT: a sandbox has what it was given, and no more
  Who takes more than its share is held back and told so. The sandbox lives on, and so do all others.

  @id:LIMIT-001 @must @since:0.1 @profile:isolated @needs:limits_memory @fresh @mutant:forgets-the-memory-limit @mutant:lack-of-memory-ends-the-sandbox @mutant:never-tells-a-lack-of-memory
  Scenario: A command that takes more memory than its sandbox has is ended, and told why
    The kill of a tool for lack of memory was recorded as success (https://github.com/vm0-ai/vm0/issues/33855).
    Given a sandbox with 192 MiB of memory
    When a command uses more memory than its sandbox has
    Then the outcome is ended by a signal, for lack of memory
    And the sandbox still runs commands

  @id:LIMIT-002 @must @since:0.1 @profile:isolated @needs:limits_memory,concurrency,cancel @fresh @mutant:lack-of-memory-ends-the-sandbox @mutant:lack-of-memory-ends-all
  Scenario: Other commands of the sandbox go on when one is ended for lack of memory
    Where the group of processes is one for the kernel, all of it is killed for the greed of one (https://github.com/kubernetes/kubernetes/pull/117793).
    Given a sandbox with 192 MiB of memory
    And a command that keeps a beat
    When a command uses more memory than its sandbox has
    Then the beat goes on
    And the sandbox still runs commands

  @id:LIMIT-003 @must @since:0.1 @profile:isolated @needs:limits_pids @fresh @mutant:forgets-the-process-limit @mutant:gives-a-third-of-the-processes @mutant:never-recovers-from-many-processes
  Scenario: A command that starts more processes than there is room for is refused some, and the sandbox lives on
    A sandbox had no bound on processes, so that one command could take all that the machine has (https://github.com/NVIDIA/NemoClaw/issues/809).
    Given a sandbox with room for 128 processes
    When a command uses more processes than its sandbox has room for
    Then it was given most of that room, and no more
    And the sandbox still runs commands

  @id:LIMIT-004 @should @since:0.1 @profile:isolated @needs:limits_pids,concurrency @fresh @mutant:never-recovers-from-many-processes @mutant:no-room-is-a-failed-command
  Scenario: A command that finds no room for its process is told so
    A limit that is met should be told as that, and not as a failure of the command (https://github.com/docker/sbx-releases/issues/426).
    Given a sandbox with room for 128 processes
    And a command that has filled that room
    When a command that leaves a mark is run where there is no room for it
    Then it is told truly whether it has run
    And the sandbox still runs commands

  @id:LIMIT-005 @must @since:0.1 @profile:isolated @needs:limits_cpu @fresh @mutant:forgets-the-processor-limit @mutant:gives-a-crumb-of-a-processor
  Scenario: Commands that are busy have the share of a processor that their sandbox was given
    Limits were accepted and never enforced, and a sandbox used two and a half times what it was given (https://github.com/google/gvisor/issues/13777).
    Given a sandbox with a quarter of a processor
    When a command uses two processes that are busy for 3 seconds
    Then it was given about a quarter of a processor

  @id:LIMIT-006 @must @since:0.1 @profile:isolated @needs:limits_disk @fresh @mutant:forgets-the-disk-limit @mutant:a-full-disk-ends-the-sandbox
  Scenario: A command that writes more than there is room for is told so, and the sandbox lives on
    A limit on disk space was accepted and silently not enforced, so that the disk of the machine could fill (https://github.com/NousResearch/hermes-agent/issues/57994).
    Given a sandbox with a disk of 32 MiB
    When a command uses more of the disk than its sandbox has
    Then it was told that there is no room, and has not written more
    And the sandbox still runs commands

  @id:LIMIT-007 @should @since:0.1 @profile:isolated @fresh @mutant:forgets-the-memory-limit @mutant:forgets-the-process-limit @mutant:forgets-the-processor-limit @mutant:gives-a-third-of-the-processes @mutant:hides-its-limits
  Scenario Outline: A program can see what its sandbox was given
    A runtime sized itself by the machine where it should have done so by the limit (https://bugs.openjdk.org/browse/JDK-8146115).
    Given a sandbox with <a limit>
    When a command tells its limits
    Then it is told the limit that was asked for

    @needs:limits_memory
    Examples:
      | a limit                |
      | 192 MiB of memory      |
    @needs:limits_pids
    Examples:
      | a limit                |
      | room for 128 processes |
    @needs:limits_cpu
    Examples:
      | a limit                |
      | a quarter of a processor |

  @id:LIMIT-008 @must @since:0.1 @profile:isolated @mutant:takes-zero-for-no-limit @mutant:takes-more-than-there-is-for-no-limit
  Scenario Outline: A limit of nothing, or of more than can be, is refused
    Zero meant no limit to one backend and was refused by another, and no caller could know (https://github.com/langchain-ai/deepagents/pull/1558).
    When a sandbox is opened with <a limit>
    Then the call is refused as an invalid argument

    @needs:limits_memory
    Examples:
      | a limit                          |
      | no memory at all                 |
      | more memory than can be          |
    @needs:limits_pids
    Examples:
      | a limit                          |
      | room for no process at all       |
      | room for more processes than can be |
    @needs:limits_cpu
    Examples:
      | a limit                          |
      | nothing of a processor           |
    @needs:limits_disk
    Examples:
      | a limit                          |
      | no disk at all                   |

  @id:LIMIT-009 @must @since:0.1 @profile:isolated @fresh @mutant:gives-a-third-of-the-processes @mutant:sandboxes-share-one-limit
  Scenario Outline: What one sandbox was given is not taken by another
    One limit for several containers was given up for one of each (https://github.com/1996fanrui/agents-sandbox/issues/183).
    Given a sandbox with <a limit>, beside one with <a limit>
    When a command uses most of that in each of them
    Then it was enough for both

    @needs:limits_memory
    Examples:
      | a limit                |
      | 192 MiB of memory      |
    @needs:limits_pids
    Examples:
      | a limit                |
      | room for 128 processes |

  @id:LIMIT-010 @should @since:0.1 @profile:isolated @mutant:few-open-files @mutant:open-files-without-bound
  Scenario: How many files a command may hold open is a number that programs can work with
    Programs that closed every number that could be an open file took minutes where there could be a thousand million of them (https://github.com/moby/moby/issues/44547).
    Given an open sandbox
    When a command tells how many files it may hold open
    Then it is told from 256 to 1048576 of them
