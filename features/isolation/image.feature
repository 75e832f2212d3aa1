Feature: IMAGE: a sandbox needs little of its image
  What a backend needs for its own work it brings along, and what an image lacks is told as that.

  @id:IMAGE-001 @must @since:0.1 @profile:isolated @needs:image,shell=posix @mutant:needs-bash
  Scenario: Commands run in an image that has nothing but BusyBox
    No sandbox came up from an image without Bash, and nothing said what was missing (https://github.com/NVIDIA/OpenShell/issues/3146).
    Given a world whose image has nothing but BusyBox
    When a command tells that it runs, run by a shell
    Then it is told so

  @id:IMAGE-002 @must @since:0.1 @profile:isolated @needs:image @mutant:keeps-its-own-files-among-the-temporary-ones
  Scenario Outline: Commands run where there is no directory for temporary files
    Where the folder for temporary files could not be made, every command failed before it began (https://github.com/anthropics/claude-code/issues/44168).
    Given a world whose image has no directory for temporary files
    When a command tells that it runs, <somehow>
    Then it is told so

    Examples:
      | somehow             |
      | run by a shell      |
    @needs:argv
    Examples:
      | somehow             |
      | run without a shell |
    @needs:jobs
    Examples:
      | somehow             |
      | run as a job        |
    @needs:sessions
    Examples:
      | somehow             |
      | run in a session    |

  @id:IMAGE-003 @must @since:0.1 @profile:isolated @needs:image @mutant:runs-its-helper-among-the-temporary-files
  Scenario Outline: Commands run where nothing in the directory for temporary files can be
    A script that was put among the temporary files to be run there was denied (https://github.com/uyuni-project/uyuni-tools/issues/594).
    Given a world whose temporary files cannot be run
    When a command tells that it runs, <somehow>
    Then it is told so

    Examples:
      | somehow             |
      | run by a shell      |
    @needs:argv
    Examples:
      | somehow             |
      | run without a shell |
    @needs:jobs
    Examples:
      | somehow             |
      | run as a job        |
    @needs:sessions
    Examples:
      | somehow             |
      | run in a session    |

  @id:IMAGE-004 @must @since:0.1 @profile:isolated @needs:image @mutant:looks-for-its-shell-on-the-search-path
  Scenario Outline: Commands run in an image whose search path leads nowhere
    A shell came up in an image whose search path was not set as it should be, and found no program (https://github.com/skiffos/docker-nixos/issues/1).
    Given a world whose image has a search path with nothing on it
    When a command tells that it runs, <somehow>
    Then it is told so

    Examples:
      | somehow             |
      | run by a shell      |
    @needs:jobs
    Examples:
      | somehow             |
      | run as a job        |
    @needs:sessions
    Examples:
      | somehow             |
      | run in a session    |

  @id:IMAGE-005 @must @since:0.1 @profile:isolated @needs:image @mutant:keeps-its-state-at-home
  Scenario Outline: Commands run as an ordinary user whose home cannot be written to
    Commands ran as a user who had no right to write to the home that was told (https://github.com/JonathonReinhart/scuba/issues/45).
    Given a world whose image has an ordinary user, and a home that cannot be written to
    When a command tells that it runs, <somehow>
    Then it is told so

    Examples:
      | somehow             |
      | run by a shell      |
    @needs:argv
    Examples:
      | somehow             |
      | run without a shell |
    @needs:jobs
    Examples:
      | somehow             |
      | run as a job        |
    @needs:sessions
    Examples:
      | somehow             |
      | run in a session    |

  @id:IMAGE-006 @must @since:0.1 @profile:isolated @needs:image @mutant:hands-its-command-to-the-entry-point
  Scenario: What an image does by itself when it starts does not end the sandbox
    The command that was to keep a container alive was handed to the entry point of its image, and every command found it gone (https://github.com/PrimeIntellect-ai/verifiers/pull/2015).
    Given a world whose image has an entry point of its own
    When a command tells that it runs, run by a shell
    Then it is told so

  @id:IMAGE-007 @must @since:0.1 @profile:isolated @needs:image @mutant:hands-its-command-to-the-entry-point @mutant:leaves-the-dead
  Scenario: Processes that lose their parent do not stay as dead ones
    With its entry point replaced an image lost the process that waits for the others, and hundreds were left (https://github.com/NousResearch/hermes-agent/issues/111577).
    Given a world whose image has an entry point of its own
    When a command uses processes that lose their parent, and looks for them when they have ended
    Then it was left with none of them

  @id:IMAGE-008 @must @since:0.1 @profile:isolated @needs:image @mutant:no-shell-is-a-failed-command
  Scenario: In an image without a shell a text is a failure of the set-up
    An image need not have a shell, and whoever asks for one there is told that it is no such file (https://github.com/GoogleContainerTools/distroless/issues/891).
    Given a world whose image has no shell
    When a sandbox is opened and a command is run at once
    Then the outcome is set-up failed because the shell was not found

  @id:IMAGE-009 @must @since:0.1 @profile:isolated @needs:image,argv @mutant:runs-programs-by-a-shell
  Scenario: In an image without a shell programs run all the same
    An image need not have a shell, but the application and what it needs to run (https://github.com/GoogleContainerTools/distroless/issues/891).
    Given a world whose image has no shell
    When a program tells that it runs
    Then standard output is exactly "running\n"

  @id:IMAGE-010 @must @since:0.1 @profile:isolated @needs:image @fresh @mutant:no-shell-is-a-failed-command @mutant:always-the-usual-image
  Scenario: An image that is named is the one that the sandbox is made from
    Several adapters took an option and dropped it (https://github.com/Arize-ai/phoenix/pull/13378).
    When a sandbox is opened with the image that has no shell
    And a command prints "ready\n"
    Then the outcome is set-up failed because the shell was not found

  @id:IMAGE-011 @must @since:0.1 @profile:isolated @needs:image @fresh @serial @mutant:always-the-usual-image @mutant:vague-about-images @mutant:lists-what-had-no-image
  Scenario: An image that does not exist is told by its name, and leaves nothing
    Until an image was there the first calls ran on the machine itself (https://github.com/NousResearch/hermes-agent/issues/54354).
    When a sandbox is opened with an image that does not exist
    Then the call is refused because there is no such image
    And the error names the image
    And it is as if nobody had asked
