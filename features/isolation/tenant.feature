Feature: TENANT: two sandboxes see nothing of each other
  Who has a sandbox has it alone, whoever else has one on the same machine. Of two that are open at once, each is asked for what the other has.

  @id:TENANT-001 @must @since:0.1 @profile:isolated @fresh @needs:isolation @mutant:sandboxes-share-a-folder
  Scenario: A file of one sandbox is nowhere in the other
    One folder for temporary files was shared by every session, and what lay in it could be read by all (https://github.com/anthropics/claude-code/issues/81212).
    Given two open sandboxes
    And a command that has left a file wherever it can in the first one
    When a command looks for it among the files of the second one
    Then it is not to be seen

  @id:TENANT-002 @must @since:0.1 @profile:isolated @fresh @needs:isolation,concurrency @mutant:sandboxes-share-their-processes @mutant:ends-its-neighbours
  Scenario Outline: A process of one sandbox is neither seen nor ended from the other
    What one job ended by name ended the processes of its neighbours (https://github.com/aisa-group/PostTrainBench/pull/49).
    Given two open sandboxes
    And a command that keeps a beat in the first one
    When a command looks for <something>
    Then it is not to be seen
    And the beat goes on

    Examples:
      | something                                  |
      | it among the processes of the second one   |
      | its process to end it from the second one  |

  @id:TENANT-003 @must @since:0.1 @profile:isolated @fresh @needs:isolation,concurrency @mutant:sandboxes-share-a-loopback
  Scenario: Who listens on the loopback of one sandbox is not reached from the other
    All sandboxes of a machine had one set of ports, and reached whoever listened in another (https://github.com/ray-project/ray/pull/65820).
    Given two open sandboxes
    And a command that listens on its loopback in the first one
    When a command looks for it on the loopback of the second one
    Then it is not to be seen

  @id:TENANT-004 @must @since:0.1 @profile:isolated @fresh @needs:isolation,env @mutant:sandboxes-share-their-variables
  Scenario: A variable of one sandbox is not seen in the other
    The variables of other processes could be read from within a sandbox, with the secrets in them (https://github.com/nolabs-ai/nono/issues/1821).
    Given a sandbox opened with the variable "PROBE_OWN" set to "of the first one alone"
    When a command looks for it among the variables of the second one
    Then it is not to be seen
