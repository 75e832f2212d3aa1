Feature: USER: a command runs as somebody, somewhere, in some language
  Who runs it, and what comes with that, is what the system says, and what the caller asks for.

  @id:USER-001 @must @since:0.1 @profile:core @mutant:tells-another-user
  Scenario: The variables that tell the user tell the one that runs the command
    Files belonged to another user than the one that the variables told (https://github.com/OpenHands/OpenHands/issues/9543).
    Given an open sandbox
    When a command tells who it is
    Then the user is told alike, with a home that is there

  @id:USER-002 @must @since:0.1 @profile:core @needs:user @mutant:ignores-the-user
  Scenario: A command runs as the user that it names
    A command that was to run as a user with few rights ran as root (https://github.com/OpenHands/OpenHands/issues/9543).
    Given an open sandbox
    When a command as the user "nobody" tells who it is
    Then the user is the one that was asked for

  @id:USER-003 @must @since:0.1 @profile:core @needs:user @mutant:runs-as-anybody
  Scenario: A user that does not exist is refused by name, and nothing runs
    A user is looked up in the sandbox's own list (https://docs.docker.com/reference/cli/docker/container/exec/).
    Given an open sandbox
    When a command that leaves a mark is run as a user that does not exist
    Then the user is refused by name
    And the mark is not there

  @id:USER-004 @must @since:0.1 @profile:core @mutant:opens-files-to-all
  Scenario: What a command makes is its user's
    The mask of a process decides who may change what it makes (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/umask.html).
    Given an open sandbox
    When a command tells the rights of a file that it makes
    Then the user can change the file, and not everybody

  @id:USER-005 @must @since:0.1 @profile:core @needs:env,stream_bytes=exact @mutant:decodes-by-locale
  Scenario Outline: Bytes are the same in every locale
    In the locale C, a runtime decoded as ASCII what was none (https://peps.python.org/pep-0538/).
    Given an open sandbox
    When a command with the variable "LC_ALL" set to "<a locale>" prints every byte value
    Then standard output is every byte value, in order

    Examples:
      | a locale |
      | C        |
      | POSIX    |
      | C.UTF-8  |

  @id:USER-006 @must @since:0.1 @profile:core @needs:env @mutant:keeps-its-own-time-zone
  Scenario: The time zone that is given is the one that counts
    A program finds its time zone in a variable (https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html).
    Given an open sandbox
    When a command with the variable "TZ" set to "HERM-3" tells its time zone
    Then standard output is exactly "HERM\n"

  @id:USER-007 @should @since:0.1 @profile:core @mutant:lives-in-the-past
  Scenario: The clock of a sandbox tells the time
    A service refuses what is signed at another time than its own (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html).
    Given an open sandbox
    When a command tells the time
    Then the user is told the time of this machine, within 60 seconds
