Feature: ENV: a command sees the variables it was given, and no secrets
  Variables are data. What the caller did not give does not leak in.

  @id:ENV-001 @must @since:0.1 @profile:core @needs:env @mutant:expands-variables @mutant:expands-a-tilde
  Scenario Outline: A value arrives as it was given
    Names and values that no script could hold made every later command fail (https://github.com/unixwin/niubash/issues/102).
    Given an open sandbox
    When a command with a variable that holds <a value> prints it
    Then standard output is that value

    Examples:
      | a value                   |
      | nothing                   |
      | spaces and quotes         |
      | several lines             |
      | what a shell would expand |
      | a tilde at its beginning  |
      | what looks like options   |
      | an equals sign            |
      | letters beyond ASCII      |
      | 100000 bytes              |

  @id:ENV-002 @must @since:0.1 @profile:core @needs:env @mutant:variables-stick @mutant:variables-stick-where-set-up-failed
  Scenario: A variable of one command is not seen by the next
    Variables set for one run were found by another (https://github.com/NousResearch/hermes-agent/issues/91440).
    Given an open sandbox
    And a command was run with the variable "PROBE_ONCE" set to "once"
    When a command asks whether the variable "PROBE_ONCE" is set
    Then it is not

  @id:ENV-003 @must @since:0.1 @profile:core @mutant:leaks-the-environment
  Scenario Outline: Secrets in the backend's own environment are not seen by commands
    Keys of the agent were inherited by the commands that it ran (https://github.com/NousResearch/hermes-agent/pull/1157).
    Given an open sandbox
    When a command lists all its variables
    Then the secret that the backend was started with as <a name> is not among them

    Examples:
      | a name                |
      | OPENAI_API_KEY        |
      | AWS_SECRET_ACCESS_KEY |
      | HERM_CANARY_TOKEN     |
      | HARMLESS_LOOKING_NAME |

  @id:ENV-004 @must @since:0.1 @profile:core @fresh @needs:env @mutant:sandbox-variables-win @mutant:empty-values-are-none
  Scenario Outline: A variable of a command wins over one of the sandbox
    Which value counted depended on who had made the sandbox first (https://github.com/NousResearch/hermes-agent/issues/100444).
    Given a sandbox opened with the variable "PROBE_WHO" set to "sandbox"
    When a command with the variable "PROBE_WHO" set to "<value>" prints it between two signs
    Then standard output is exactly "[<value>]"

    Examples:
      | value   |
      | command |
      |         |

  @id:ENV-005 @must @since:0.1 @profile:core @mutant:without-a-path
  Scenario: The usual programs are found
    A corrupted search path broke every later command for good (https://github.com/NousResearch/hermes-agent/issues/38249).
    Given an open sandbox
    When a command uses cat, ls, sleep, tr and wc
    Then the outcome is exited with code 0

  @id:ENV-006 @must @since:0.1 @profile:core @needs:env @mutant:drops-impossible-variables
  Scenario Outline: A variable that cannot exist is refused
    A name that is no name made a script that could not be read (https://github.com/unixwin/niubash/issues/102).
    Given an open sandbox
    When a command that leaves a mark is given a variable with <a name>
    Then the call is refused as an invalid argument
    And the mark is not there

    Examples:
      | a name                     |
      | no name                    |
      | an equals sign in its name |

  @id:ENV-007 @must @since:0.1 @profile:core @needs:env,stream_bytes=exact @mutant:variables-as-text
  Scenario: A value is bytes
    The environment is a list of strings of bytes, and no text (https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html).
    Given an open sandbox
    When a command with a variable that holds bytes that are not valid UTF-8 prints it
    Then standard output is that value

  @id:ENV-008 @must @since:0.1 @profile:core @needs:env,argv @mutant:drops-names-that-no-shell-holds
  Scenario Outline: A name that no shell can hold reaches a program
    Names with brackets in them made every later command fail (https://github.com/unixwin/niubash/issues/102).
    Given an open sandbox
    When a program is given a variable with <a name>
    Then it is among the variables that it sees
    And the sandbox still runs commands

    Examples:
      | a name                 |
      | a dot in its name      |
      | a dash in its name     |
      | brackets in its name   |
      | a digit before its name |

  @id:ENV-009 @must @since:0.1 @profile:core @needs:env @mutant:runs-what-looks-like-a-function
  Scenario: A value that looks like a function is not run
    A shell ran what stood behind such a function in a variable (https://nvd.nist.gov/vuln/detail/CVE-2014-6271).
    Given an open sandbox
    When a command with a variable that holds what a shell once took for a function prints it
    Then standard output is that value

  @id:ENV-010 @must @since:0.1 @profile:core @needs:env,concurrency @mutant:commands-share-variables
  Scenario: Commands at the same time see each their own variable
    Parallel calls wrote and read one file of variables, and a reader saw those of another (https://github.com/NousResearch/hermes-agent/issues/38249).
    Given an open sandbox
    When 8 commands that print their own variable run at the same time
    Then each has received its own number and nothing else

  @id:ENV-011 @must @since:0.1 @profile:core @needs:argv @mutant:leaks-the-environment-to-programs
  Scenario Outline: A program that no shell starts sees no secrets either
    Of all the places that start something, one passed the whole environment on (https://github.com/NousResearch/hermes-agent/pull/56202).
    Given an open sandbox
    When a program lists its variables
    Then the secret that the backend was started with as <a name> is not among them

    Examples:
      | a name                |
      | OPENAI_API_KEY        |
      | HARMLESS_LOOKING_NAME |

  @id:ENV-012 @must @since:0.1 @profile:jobs @needs:jobs @mutant:leaks-the-environment-to-jobs
  Scenario Outline: A job sees no secrets either
    Keys of the agent were inherited by what it started, in the foreground and in the background (https://github.com/NousResearch/hermes-agent/pull/1157).
    Given an open sandbox
    When a job lists its variables
    Then the secret that the backend was started with as <a name> is not among them

    Examples:
      | a name                |
      | AWS_SECRET_ACCESS_KEY |
      | HARMLESS_LOOKING_NAME |

  @id:ENV-013 @must @since:0.1 @profile:core @needs:env @mutant:drops-empty-variables
  Scenario: A variable that is given as empty is set
    To a program, a variable without a value and no variable are two things (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html).
    Given an open sandbox
    When a command with the variable "PROBE_EMPTY" set to "" asks whether it is set
    Then standard output is exactly "set\n"

  @id:ENV-014 @must @since:0.1 @profile:core @needs:env @mutant:loses-the-search-path
  Scenario: A search path that a command was given is the one that it uses
    A search path that was corrupted on its way broke every later command for good (https://github.com/NousResearch/hermes-agent/issues/38249).
    Given an open sandbox
    When a command uses a program that is on its own search path
    Then the outcome is exited with code 0
    And standard output is that value

  @id:ENV-015 @must @since:0.1 @profile:core @needs:env,argv @mutant:loses-the-search-path-of-programs @mutant:looks-programs-up-on-its-own-path
  Scenario: A program is looked for on the search path that it was given
    A program is looked for along PATH in the environment that it gets (https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html).
    Given an open sandbox
    When a program that is on its own search path is run
    Then the outcome is exited with code 0
    And standard output is that value

  @id:ENV-016 @must @since:0.1 @profile:core @fresh @needs:env @mutant:loses-the-search-path-of-sandboxes
  Scenario: A search path that a sandbox was given is that of its commands
    Which value of a setting counted depended on who had made the sandbox first (https://github.com/NousResearch/hermes-agent/issues/100444).
    Given a sandbox opened with the variable "PATH" set to "/herm/its/own:/usr/local/bin:/usr/bin:/bin"
    When a command prints the variable "PATH"
    Then standard output is exactly "/herm/its/own:/usr/local/bin:/usr/bin:/bin"
    When a program lists its variables
    Then it is among the variables that it sees

  @id:ENV-017 @must @since:0.1 @profile:core @fresh @needs:env @mutant:takes-quotes-off-values @mutant:takes-quotes-off-the-values-of-programs @mutant:takes-quotes-off-the-values-of-sandboxes @mutant:cuts-values-at-comments @mutant:ends-values-before-carriage-returns @mutant:expands-a-tilde
  Scenario Outline: A value that looks like a line of a file is taken as it is
    Files of variables have rules of their own for quotes, comments and escapes
    (https://docs.docker.com/compose/how-tos/environment-variables/variable-interpolation/#env-file-syntax); a value that goes through one is changed by them.
    Given an open sandbox
    When <who> variables that look like lines of a file
    Then each is as it was given

    Examples:
      | who                      |
      | a command uses           |
      | a sandbox is opened with |

    @needs:argv
    Examples:
      | who            |
      | a program uses |

  @id:ENV-018 @must @since:0.1 @profile:core @needs:env @mutant:takes-no-variables-of-the-system @mutant:needs-its-own-search-path @mutant:keeps-what-shells-read-first-for-itself
  Scenario Outline: A variable that others read, too, is what it was given as
    An allow-listed variable was silently dropped by one of several backends (https://github.com/NousResearch/hermes-agent/issues/59286).
    Given an open sandbox
    When a command with the variable "<name>" set to "/probe/value" prints it
    Then the outcome is exited with code 0
    And standard output is exactly "/probe/value"

    Examples:
      | name            |
      | HOME            |
      | LD_LIBRARY_PATH |
      | PATH            |
      | PYTHONPATH      |
      | TERM            |
      | TMPDIR          |
      | USER            |
      | BASH_ENV        |
      | ENV             |
      | SHELL           |
      | LOGNAME         |
      | HOSTNAME        |
      | HTTPS_PROXY     |
      | SSH_AUTH_SOCK   |
    @needs:streams_apart,streams=apart
    Examples: of which a shell may complain
      | name            |
      | LANG            |
      | LC_ALL          |

  @id:ENV-019 @must @since:0.1 @profile:core @needs:env @mutant:names-in-any-case-are-one
  Scenario: Variables whose names differ in the case of a letter are two
    Names are compared as they are written (https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html).
    Given an open sandbox
    When a command with the variable "probe_name" set to "small" prints it beside one in capital letters
    Then standard output is exactly "small PROBE_NAME"

  @id:ENV-020 @must @since:0.1 @profile:core @needs:env @mutant:the-first-value-counts
  Scenario: Of two values of one variable the last one counts
    Which value counted depended on who had made the sandbox first (https://github.com/NousResearch/hermes-agent/issues/100444); a caller that puts its own behind
    those of others means its own.
    Given an open sandbox
    When a command with the variable "PROBE_TWICE" set to "its own" behind another value prints it
    Then standard output is exactly "its own"

  @id:ENV-021 @must @since:0.1 @profile:core @needs:env @mutant:takes-five-hundred-variables
  Scenario: A thousand variables arrive
    What is taken from a list that is bounded without a word is taken for all (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command uses a thousand variables of its own
    Then standard output is exactly "1000\n"
