Feature: RISK: what of the host a sandbox can reach is told as it is
  Whoever decides whether a command may run without a question has to know what it can reach. How a mount is written down tells
  little of that.

  @id:RISK-001 @must @since:0.1 @profile:approval @needs:host_access @mutant:overlooks-the-home
  Scenario Outline: A directory of the host is seen, however its path is written
    With a directory of the host in the container, dangerous commands ran without a question (https://github.com/NousResearch/hermes-agent/pull/54483).
    When the backend is asked how far <mount> would reach
    Then it is said to reach files outside, and to change them

    Examples:
      | mount                                                 |
      | a directory by its whole path                         |
      | a directory by its whole path, with blanks around it  |
      | a directory by its whole path, with two slashes first |
      | a directory by a path that goes up on its way         |
      | the home of the user                                  |
      | a directory in the home of the user                   |
      | the home of the user, by its variable in braces       |
      | a directory in the home of the user, by its variable  |

  @id:RISK-002 @must @since:0.1 @profile:approval @needs:host_access @mutant:takes-dots-for-names
  Scenario Outline: A path that starts from the current directory is a path, and no name
    The first letters of a mount decided whether it is a path, and not all that a path can begin with were known (https://github.com/NousResearch/hermes-agent/pull/54483).
    When the backend is asked how far <mount> would reach
    Then it is said to reach files outside, and to change them

    Examples:
      | mount                                 |
      | the current directory                 |
      | a directory in the current one        |
      | the directory above the current one   |
      | a directory beside the current one    |
      | a directory with a hidden name        |

  @id:RISK-003 @must @since:0.1 @profile:approval @needs:host_access @mutant:reads-the-short-form-only
  Scenario Outline: The long form of a mount is understood as well as the short one
    The check knew one of the ways in which a mount can be asked for, and the engine all of them (https://github.com/NousResearch/hermes-agent/pull/77666).
    When the backend is asked how far <mount> would reach
    Then it is said to reach files outside, and to change them

    Examples:
      | mount                                               |
      | a directory in the long form                        |
      | a directory in the long form, with its other words  |
      | a directory in the long form, target first          |
      | a directory in the long form, with a comma in it    |

  @id:RISK-004 @must @since:0.1 @profile:approval @needs:host_access @mutant:takes-every-volume-for-the-engines-own
  Scenario Outline: A volume reaches what its driver mounts in its place
    A volume with a name was mounted as harmless, and its driver had a directory of the host in its place (https://github.com/NVIDIA/OpenShell/pull/1785).
    When the backend is asked how far <mount> would reach
    Then it is said to reach files outside, and to change them

    Examples:
      | mount                                                   |
      | a volume whose driver mounts a directory                |
      | a volume without a name whose driver mounts a directory |
      | a volume whose driver mounts files of another machine   |
      | a volume of a driver that nobody knows                  |

  @id:RISK-005 @must @since:0.1 @profile:approval @needs:host_access @mutant:takes-every-volume-for-the-host
  Scenario Outline: What stays with the engine reaches nothing outside
    Containers that reach nothing outside are to go on without questions, or nobody reads these any more (https://github.com/NousResearch/hermes-agent/pull/97727).
    When the backend is asked how far <mount> would reach
    Then it is said to reach nothing outside

    Examples:
      | mount                                 |
      | a volume                              |
      | a volume, to be read only             |
      | a volume in the long form             |
      | a volume without a name               |
      | memory                                |

  @id:RISK-006 @must @since:0.1 @profile:approval @needs:host_access @mutant:does-not-see-what-is-read-only @mutant:takes-what-is-read-only-for-nothing
  Scenario Outline: What can be read, and not changed, is told apart from both
    Files of the host, credentials among them, came into containers to be read, and counted for nothing (https://github.com/NousResearch/hermes-agent/issues/92571).
    When the backend is asked how far <mount> would reach
    Then it is said to reach files outside, and only to read them

    Examples:
      | mount                                                          |
      | a directory by its whole path, to be read only                 |
      | a directory by a path that goes up on its way, to be read only |
      | a directory in the long form, to be read only                  |
      | a volume whose driver mounts a directory, to be read only      |

  @id:RISK-007 @must @since:0.1 @profile:approval @needs:host_access @mutant:takes-a-socket-for-a-file
  Scenario Outline: Whoever reaches the engine has all of the host, and a socket that is mounted to be read only is no less of one
    A mount of the engine's socket was said to be safe because it is read-only (https://github.com/amir20/dozzle/pull/4873).
    When the backend is asked how far <mount> would reach
    Then it is said to reach all of the host

    Examples:
      | mount                                                     |
      | the socket of the engine                                  |
      | the socket of the engine, to be read only                 |
      | the directory of the engine's socket, to be read only     |
      | the socket of the engine, by a path that goes up          |
      | the whole host                                            |
      | a volume whose driver mounts the whole host               |

  @id:RISK-008 @must @since:0.1 @profile:approval @needs:host_access @mutant:calls-nonsense-harmless
  Scenario Outline: What cannot be understood is refused, and never called harmless
    What the check did not understand it called isolated, and commands ran without a question (https://github.com/NousResearch/hermes-agent/pull/109529).
    When the backend is asked how far <mount> would reach
    Then the call is refused as an invalid argument
    And the error names "mounts"
    And the error says what the caller can do

    Examples:
      | mount                                          |
      | nothing                                        |
      | a name without a place                         |
      | a place that is no path                        |
      | a path that is neither a name nor a path       |
      | a directory with a word that nobody knows      |
      | a directory in the long form without a place   |
      | a volume, and then nothing                     |

  @id:RISK-009 @must @since:0.1 @profile:approval @needs:host_access @mutant:the-first-mount-decides @mutant:keeps-its-other-reasons-to-itself
  Scenario: Of several mounts the one that reaches furthest decides, and each has a reason of its own
    Mounts came from two places, and the check looked at one of them (https://github.com/NousResearch/hermes-agent/pull/97727).
    When the backend is asked how far several mounts would reach
    Then it is said to reach as far as the furthest of them, each for a reason of its own
