Feature: ARGS: long texts and lists of arguments arrive whole
  What is too long for the machine is refused before anything runs; everything else arrives, byte for byte.

  @id:ARGS-001 @must @since:0.1 @profile:core @mutant:cuts-text-at-64-kib
  Scenario: A text just shorter than an argument may be runs whole
    Text without a bound failed deep inside a backend (https://github.com/PrimeIntellect-ai/verifiers/pull/2076).
    Given an open sandbox
    When a command whose text has 127 KiB is run
    Then the digest is that of all that was printed
    And the outcome is exited with code 0

  @id:ARGS-002 @must @since:0.1 @profile:core @mutant:text-as-one-argument @mutant:forgets-the-end-of-an-argument
  Scenario Outline: A text longer than an argument may be runs whole
    Text that held a file failed with "argument list too long" (https://github.com/langchain-ai/deepagents/pull/2117).
    Given an open sandbox
    When a command whose text has <size> KiB is run
    Then the digest is that of all that was printed
    And the outcome is exited with code 0

    Examples:
      | size |
      | 128  |
      | 129  |
      | 3072 |

  @id:ARGS-003 @must @since:0.1 @profile:core @needs:argv @mutant:cuts-argument-lists-at-1024
  Scenario Outline: Many arguments arrive, and much in arguments
    A large payload in the arguments of a helper hit a limit (https://github.com/langfuse/langfuse/pull/16831).
    Given an open sandbox
    When a program is given <arguments>
    Then standard output is these arguments

    Examples:
      | arguments                 |
      | 10000 arguments           |
      | arguments of 1 MiB in all |

  @id:ARGS-004 @must @since:0.1 @profile:core @needs:argv @mutant:drops-empty-arguments @mutant:expands-arguments @mutant:joins-lines-of-arguments @mutant:unquotes-arguments @mutant:takes-dashes-for-its-own @mutant:arguments-in-ascii
  Scenario Outline: An argument arrives as it was given, and no shell reads it
    What was quoted became code when a wrapper took it apart (https://github.com/NousResearch/hermes-agent/pull/65).
    Given an open sandbox
    When a program is given arguments of <a kind>
    Then standard output is these arguments

    Examples:
      | a kind                    |
      | no bytes                  |
      | blanks and newlines       |
      | quotes and backslashes    |
      | what a shell would expand |
      | what looks like options   |
      | letters beyond ASCII      |

  @id:ARGS-005 @must @since:0.1 @profile:core @needs:argv @mutant:splits-program-names-at-blanks
  Scenario: The name of a program is not read by a shell
    The first element of an argument list is a file's name, whatever is in it (https://pubs.opengroup.org/onlinepubs/9799919799/functions/exec.html).
    Given an open sandbox
    When a program whose name a shell would take apart is run
    Then the outcome is exited with code 0
    And standard output is these arguments

  @id:ARGS-006 @must @since:0.1 @profile:core @needs:argv @mutant:cuts-long-arguments @mutant:too-much-is-a-failed-command
  Scenario Outline: Arguments that no machine takes are refused, and nothing runs
    An argument that was too long came back as a raw error of the system, from each backend another (https://github.com/PrimeIntellect-ai/verifiers/pull/2076).
    Given an open sandbox
    When a command that leaves a mark is given <too much>
    Then the call is refused as an invalid argument
    And the mark is not there

    Examples:
      | too much                       |
      | an argument of 3 MiB           |
      | arguments of 8 MiB in all      |

  @id:ARGS-007 @must @since:0.1 @profile:core @needs:env @mutant:cuts-long-variables
  Scenario: A variable that no machine takes is refused, and nothing runs
    A variable is an argument to the system, and has the same bound (https://man7.org/linux/man-pages/man2/execve.2.html).
    Given an open sandbox
    When a command that leaves a mark is given a variable of 3 MiB
    Then the call is refused as an invalid argument
    And the mark is not there

  @id:ARGS-008 @must @since:0.1 @profile:core @mutant:text-in-ascii @mutant:reads-messages-in-blocks
  Scenario Outline: Letters beyond ASCII in a text arrive
    Text was damaged when it was converted on its way (https://github.com/Eynzof/Hermes-CN-Desktop/issues/71).
    Given an open sandbox
    When a command whose text holds <many> letters beyond ASCII is run
    Then standard output is what that text asks for

    Examples:
      | many             |
      | some             |
      | 30000            |
      | a sign and 30000 |

  @id:ARGS-009 @must @since:0.1 @profile:core @mutant:texts-as-unicode
  Scenario: Bytes in a text that are not valid UTF-8 arrive
    A file's name may hold any byte but two, and a text has to be able to say it (https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap03.html).
    Given an open sandbox
    When a command whose text holds bytes that are not valid UTF-8 is run
    Then standard output is what that text asks for

  @id:ARGS-010 @must @since:0.1 @profile:core @needs:argv @mutant:calls-programs-by-their-paths
  Scenario: A program is called by the name that it was given
    Many programs are one file, and which one is meant says the name that it is called by (https://www.busybox.net/FAQ.html).
    Given an open sandbox
    When a program tells the name that it was called by
    Then standard output is exactly "sh\n"

  @id:ARGS-011 @must @since:0.1 @profile:core @mutant:long-texts-lose-their-code @mutant:long-texts-come-from-a-file @mutant:long-texts-lose-their-variables @mutant:long-texts-lose-their-directory @mutant:long-texts-lose-their-input @mutant:long-texts-have-no-deadline
  Scenario Outline: A text that is longer than an argument may be is run as any other
    What is too long for one way goes another, on which other things get lost (https://github.com/NousResearch/hermes-agent/pull/22913).
    Given an open sandbox
    When a command whose text has 200 KiB behind what <does something> is run
    Then the outcome is <so>
    And standard output is what that text asks for

    Examples:
      | does something                         | so                 |
      | exits with 3 in its middle             | exited with code 3 |
      | turns on errexit and then fails with 7 | exited with code 7 |
      | looks at its name and its parameters   | exited with code 0 |
      | looks at its options                   | exited with code 0 |
      | reads its input before it goes on      | exited with code 0 |
    @needs:env
    Examples:
      | does something                         | so                 |
      | prints its variable                    | exited with code 0 |
    @needs:cwd
    Examples:
      | does something                         | so                 |
      | prints its directory                   | exited with code 0 |
    @needs:stdin
    Examples:
      | does something                         | so                 |
      | repeats its input                      | exited with code 0 |
    @needs:timeout
    Examples:
      | does something                         | so                 |
      | sleeps beyond its deadline             | timed out          |

  @id:ARGS-012 @must @since:0.1 @profile:core @needs:cancel @mutant:long-texts-cannot-be-cancelled
  Scenario: A command whose text is longer than an argument may be can be cancelled
    An interrupt ended the call while the command ran on (https://github.com/NousResearch/hermes-agent/issues/65298); what is started in another way is ended in another way.
    Given an open sandbox
    And a command that keeps a beat, as a long text
    When the command is cancelled
    Then the outcome is cancelled
    And the beat has stopped
