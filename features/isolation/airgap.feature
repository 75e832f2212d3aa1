Feature: AIRGAP: a sandbox without a network has none
  Whatever runs in it, and in whichever way it came to run, reaches nothing but the sandbox itself.

  @id:AIRGAP-001 @must @since:0.1 @profile:airgapped @needs:network_none @fresh @mutant:no-network-in-name-only
  Scenario: Its only way is the loopback
    The switch for no network reached one of several ways to make a container (https://github.com/NousResearch/hermes-agent/pull/59149).
    Given a sandbox with no network
    When a command tells its ways to a network
    Then it is told none but the loopback

  @id:AIRGAP-002 @must @since:0.1 @profile:airgapped @needs:network_none @fresh @mutant:no-loopback-either
  Scenario: Its commands still talk to each other over the loopback
    Without a network, the loopback device is made all the same (https://docs.docker.com/engine/network/drivers/none/).
    Given a sandbox with no network
    When a command uses the loopback to talk to another
    Then standard output is exactly "heard\n"

  @id:AIRGAP-003 @must @since:0.1 @profile:airgapped @needs:network_none @fresh @mutant:no-network-in-name-only @mutant:lends-a-connection @mutant:lends-datagrams @mutant:waits-for-a-network
  Scenario Outline: What it sends arrives nowhere on this machine, and keeps nobody waiting
    The switch for no network reached one of several ways to make a container (https://github.com/NousResearch/hermes-agent/pull/59149).
    Given a sandbox with no network
    When a command uses <something> to reach this machine
    Then it was turned away at once, and nobody has heard of it

    Examples:
      | something    |
      | a connection |
      | a datagram   |

  @id:AIRGAP-004 @must @since:0.1 @profile:airgapped @needs:network_none @fresh @mutant:no-network-in-name-only @mutant:asks-for-names-elsewhere
  Scenario: No name is looked up for it
    Where all connections were denied, what was to get out left as the names that were asked for (https://github.com/NVIDIA/OpenShell/issues/1169).
    Given a sandbox with no network
    When a command uses a question for a name to reach this machine
    Then it was turned away at once, and nobody has heard of it

  @id:AIRGAP-005 @must @since:0.1 @profile:airgapped @needs:network_none @fresh @mutant:shares-sockets-of-the-machine
  Scenario Outline: No socket of this machine is seen from it
    Abstract sockets belong to a namespace of the network, and whoever shares that can connect (https://github.com/containerd/containerd/security/advisories/GHSA-36xw-fx78-c5r4).
    Given a sandbox with no network
    When a command uses <a socket> to reach this machine
    Then it was turned away at once, and nobody has heard of it

    Examples:
      | a socket                  |
      | a socket without a file   |
      | a socket that has a file  |

  @id:AIRGAP-006 @must @since:0.1 @profile:airgapped @needs:network_none @fresh @mutant:no-network-in-name-only @mutant:programs-run-where-there-is-a-network @mutant:jobs-run-where-there-is-a-network @mutant:sessions-run-where-there-is-a-network
  Scenario Outline: However a command is run, it has no network
    A helper had the network that its sandbox was denied (https://github.com/NousResearch/hermes-agent/issues/87995).
    Given a sandbox with no network
    When a command tells its ways to a network, run <somehow>
    Then it is told none but the loopback

    Examples:
      | somehow                    |
      | after many others          |
    @needs:argv
    Examples:
      | somehow                    |
      | without a shell            |
    @needs:jobs
    Examples:
      | somehow                    |
      | as a job                   |
    @needs:sessions
    Examples:
      | somehow                    |
      | in a session               |
    @needs:user
    Examples:
      | somehow                    |
      | as another user            |

  @id:AIRGAP-007 @must @since:0.1 @profile:airgapped @needs:network_none,concurrency @fresh @mutant:waits-for-a-network @mutant:sends-through-a-neighbour
  Scenario: A sandbox beside it that has a network lends it none
    A helper had the network that its sandbox was denied (https://github.com/NousResearch/hermes-agent/issues/87995).
    Given a sandbox with no network, beside one with the usual network
    When a command uses a connection to reach the sandbox beside it
    Then it was turned away at once, and nobody has heard of it

  @id:AIRGAP-008 @must @since:0.1 @profile:airgapped @needs:network_none,attach @alone @mutant:no-network-in-name-only @mutant:a-stop-brings-a-network
  Scenario Outline: A sandbox that is found again has no network still
    Arguments about the network were dropped on some ways to start (https://github.com/NousResearch/hermes-agent/pull/46043).
    Given a sandbox under a key and without a network
    When the key is opened again <later>
    And a command tells its ways to a network
    Then it is told none but the loopback

    Examples:
      | later                     |
      | after its caller has gone |
      | after it was let go       |
    @needs:persist_files
    Examples:
      | later                     |
      | after it was stopped      |

  @id:AIRGAP-009 @must @since:0.1 @profile:airgapped @needs:network_none,attach @alone @mutant:no-network-in-name-only @mutant:finds-again-what-has-a-network
  Scenario: A sandbox that has a network is not what a caller gets who asked for none
    An older container with a network was used again where none was asked for (https://github.com/NousResearch/hermes-agent/pull/59149).
    Given a sandbox under a key
    When the key is opened again without a network
    Then it is without a network wherever a command runs

  @id:AIRGAP-010 @must @since:0.1 @profile:airgapped @needs:network_none @fresh @mutant:recovers-with-a-network
  Scenario Outline: What has happened to it behind the backend's back brings no network
    The switch for no network reached one of several ways to make a container (https://github.com/NousResearch/hermes-agent/pull/59149).
    Given a sandbox with no network
    When the sandbox <has lost something> behind the backend's back
    Then it is without a network wherever a command runs

    Examples:
      | has lost something      |
      | is stopped              |
      | loses its first process |
      | is removed              |

  @id:AIRGAP-011 @must @since:0.1 @profile:airgapped @needs:network_none @mutant:takes-the-last-word-about-the-network
  Scenario: A request for no network and for some of it is refused
    Two settings that contradict each other about the network were both taken (https://github.com/NousResearch/hermes-agent/pull/46043).
    When the backend is asked to open a sandbox with no network that reaches two hosts
    Then the call is refused as an invalid argument
