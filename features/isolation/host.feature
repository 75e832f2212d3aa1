Feature: HOST: a sandbox sees nothing of the machine that it runs on
  What a command sees of its host it can read, send away and break. What is put on this machine here, the suite has put there, and gave no sandbox.

  @id:HOST-001 @must @since:0.1 @profile:isolated @needs:isolation @mutant:shows-a-folder-of-the-machine
  Scenario Outline: A file of this machine cannot be read, whatever way leads to it
    Paths on the list of what may not be read could be read (https://github.com/anthropics/claude-code/issues/32226).
    Given a file of this machine
    And an open sandbox
    When a command looks for it <in a way>
    Then it is not to be seen

    Examples:
      | in a way                        |
      | by its path                     |
      | through a link                  |
      | by a name of its own for it     |
      | from the root of each process   |
      | by going up                     |

  @id:HOST-002 @must @since:0.1 @profile:isolated @needs:isolation,argv @mutant:runs-programs-on-the-machine
  Scenario: A program that no shell starts sees as little of this machine
    With the strictest settings commands never went through what isolates them (https://github.com/anthropics/claude-code/issues/87163).
    Given a file of this machine
    And an open sandbox
    When a program looks for it by its path
    Then it is not to be seen

  @id:HOST-003 @must @since:0.1 @profile:isolated @needs:isolation,jobs @mutant:runs-jobs-on-the-machine
  Scenario: A job sees as little of this machine
    What was started in the background ran on one side, and other commands on the other (https://github.com/NousResearch/hermes-agent/issues/20127).
    Given a file of this machine
    And an open sandbox
    When a job looks for it by its path
    Then it is not to be seen

  @id:HOST-004 @must @since:0.1 @profile:isolated @needs:isolation,sessions @mutant:has-sessions-on-the-machine
  Scenario: A command of a session sees as little of this machine
    With the strictest settings commands never went through what isolates them (https://github.com/anthropics/claude-code/issues/87163).
    Given a file of this machine
    And an open sandbox
    When a command of the session looks for it by its path
    Then it is not to be seen

  @id:HOST-005 @must @since:0.1 @profile:isolated @needs:isolation,files @mutant:reads-files-of-the-machine
  Scenario Outline: The backend itself reads no file of this machine for its caller
    Files were written outside of the sandbox that commands ran in, so that neither side saw those of the other (https://github.com/typeclaw/typeclaw/pull/623).
    Given a file of this machine
    And an open sandbox
    When the backend reads it <in a way>
    Then it is not to be seen

    Examples:
      | in a way       |
      | by its path    |
      | through a link |

  @id:HOST-006 @must @since:0.1 @profile:isolated @needs:isolation @mutant:shows-the-machine-elsewhere
  Scenario: A file of this machine is nowhere among the files of a sandbox
    The folder for temporary files was that of the whole system, under another name (https://github.com/Cocoanetics/SwiftBash/issues/82).
    Given a file of this machine
    And an open sandbox
    When a command looks for it everywhere
    Then it is not to be seen

  @id:HOST-007 @must @since:0.1 @profile:isolated @fresh @needs:isolation @mutant:shares-the-temporary-folder
  Scenario: What a command writes stays in its sandbox
    The folder for temporary files was that of the whole system, under another name (https://github.com/Cocoanetics/SwiftBash/issues/82).
    Given an open sandbox
    When a command tries to leave a file wherever this machine keeps temporary ones
    Then it is nowhere on this machine

  @id:HOST-008 @must @since:0.1 @profile:isolated @needs:isolation @mutant:shares-the-processes @mutant:signals-reach-the-machine
  Scenario Outline: A process of this machine is neither seen nor reached
    What one job ended by name ended the processes of its neighbours (https://github.com/aisa-group/PostTrainBench/pull/49).
    Given a process of this machine
    And an open sandbox
    When a command looks for it <in a way>
    Then it is not to be seen

    Examples:
      | in a way                          |
      | among the processes that it sees  |
      | by a signal to its number         |

  @id:HOST-009 @must @since:0.1 @profile:isolated @needs:isolation @mutant:shares-the-loopback @mutant:shares-the-names-of-the-network
  Scenario Outline: Who listens on this machine alone is not reached
    Whatever has the network of its host can talk to names there that are no files (https://github.com/containers/bubblewrap/issues/504).
    Given a listener of this machine
    And an open sandbox
    When a command looks for it <in a way>
    Then it is not to be seen

    Examples:
      | in a way                         |
      | on its loopback                  |
      | among the names of its network   |

  @id:HOST-010 @should @since:0.1 @profile:isolated @needs:isolation @mutant:keeps-the-name-of-the-machine
  Scenario: A sandbox has a name of its own
    A system can have several names at once, each seen only by the processes that it was set for (https://man7.org/linux/man-pages/man7/uts_namespaces.7.html).
    Given an open sandbox
    When a command tells the name of its machine
    Then it is another name than this machine's

  @id:HOST-011 @must @since:0.1 @profile:isolated @needs:isolation @mutant:shows-the-log-of-the-machine
  Scenario: What this machine's kernel has logged is not read
    The log told containers of other processes of their host, and what helps to break its kernel (https://github.com/moby/moby/issues/37897).
    Given an open sandbox
    When a command tells what its kernel has logged
    Then it is nothing of this machine's log
