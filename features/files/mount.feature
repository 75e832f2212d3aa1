Feature: MOUNT: a directory of this machine is in the sandbox, and nothing else of it
  What is written on either side is there on the other, unless the sandbox was only to read it.

  @id:MOUNT-001 @must @since:0.1 @profile:files @needs:mounts @fresh @mutant:mounts-a-copy @mutant:mounts-only-to-be-read @mutant:splits-mounts-at-colons
  Scenario Outline: What is in a directory is the same on both sides, byte for byte
    What was to be mounted under a name with a colon in it was mounted under another name (https://github.com/portainer/portainer/issues/8472).
    Given a sandbox with a directory of this machine, <somewhere>
    When a command uses what is in that directory, and adds to it
    Then it is the same on both sides, byte for byte

    Examples:
      | somewhere                              |
      | where there may be one already         |
      | where there is nothing yet             |
      | under a name with blanks and quotes    |
      | under a name with a colon and a comma  |

  @id:MOUNT-002 @must @since:0.1 @profile:isolated @needs:mounts @fresh @mutant:mounts-to-be-written
  Scenario: What can only be read cannot be changed, whoever tries
    What was to be read only could be mounted anew from inside, and was no barrier (https://github.com/docker/sbx-releases/issues/556).
    Given a sandbox with a directory of this machine that can only be read
    When a command uses every means to change that directory
    Then it is as it was, and every attempt has failed

  @id:MOUNT-003 @must @since:0.1 @profile:files @needs:mounts @fresh @mutant:makes-what-is-to-be-mounted @mutant:vague-about-mounts
  Scenario: A directory that is not there is told by its name, and not made
    A directory that was to be mounted and was not there was made, and belonged to root (https://github.com/moby/moby/issues/13121).
    When a sandbox is opened with a directory of this machine that is not there
    Then the call is refused because the directory is not there
    And the error names the file
    And it is still not there on this machine

  @id:MOUNT-004 @must @since:0.1 @profile:isolated @needs:mounts,isolation @fresh @mutant:mounts-what-is-around-it
  Scenario: Nothing that lies beside the directory is seen
    A name that was given to a backend led out of the folder that it was meant for (https://github.com/UKGovernmentBEIS/inspect_ai/pull/4369).
    Given a sandbox with a directory of this machine, where there is nothing yet
    When a command uses every way to look beyond that directory
    Then it is told nothing of what lies beside it
