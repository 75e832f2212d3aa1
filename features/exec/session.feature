Feature: SESSION: what a shell knows is carried from command to command
  An agent works as a person does: it goes somewhere, sets something, and goes on from there.

  @id:SESSION-001 @must @since:0.1 @profile:sessions @needs:sessions @mutant:sessions-forget-the-directory @mutant:sessions-read-directories-by-line @mutant:sessions-trim-directories @mutant:sessions-expand-directories
  Scenario Outline: A command starts where the one before it in its session went
    The directory was kept only when nothing went wrong on the way (https://github.com/NousResearch/hermes-agent/pull/13397).
    Given an open sandbox
    And a directory named "<name>"
    And a session in which a command has gone to this directory
    When a command of the session tells where it is
    Then it is this directory

    Examples:
      | name              |
      | a place           |
      | it's \\"quoted\\" |
      | $HOME and `pwd`   |
      | two\\nlines       |
      | ends with\\n      |
      | ends with\\s      |
      | \\sbegins so      |
      | -P                |
      | back\\\\slash\\\\n |
      | [a]*?             |
      | ~                 |
      | grün-日本         |

  @id:SESSION-002 @must @since:0.1 @profile:sessions @needs:state=cwd_env|shell @mutant:sessions-read-values-again @mutant:sessions-keep-only-the-first-line @mutant:sessions-split-values-at-equals-signs @mutant:sessions-drop-what-looks-like-a-function @mutant:sessions-lose-control-characters
  Scenario Outline: An exported value arrives in the next command as it was
    Names and values that no script could hold made every later command fail (https://github.com/unixwin/niubash/issues/102).
    Given an open sandbox
    And a session in which a command has exported <a value>
    When a command of the session prints the value
    Then standard output is that value

    Examples:
      | a value                         |
      | nothing                         |
      | spaces and quotes               |
      | several lines                   |
      | what a shell would expand       |
      | a tilde at its beginning        |
      | 100000 bytes                    |
      | letters beyond ASCII            |
      | bytes that are not valid UTF-8  |
      | an equals sign                  |
      | backslashes                     |
      | control characters              |
      | what looks like options         |
      | what a shell once took for a function |

  @id:SESSION-003 @must @since:0.1 @profile:sessions @needs:state=shell @mutant:sessions-forget-functions @mutant:sessions-forget-functions-with-here-documents @mutant:sessions-quote-aliases-once-more
  Scenario Outline: A name that a command has given is known to the next
    A shell keeps functions and aliases until it ends (https://www.gnu.org/software/bash/manual/html_node/Shell-Functions.html).
    Given an open sandbox
    And a session in which a command has defined <a name>
    When a command of the session uses the name
    Then standard output is exactly "hello you\n"

    Examples:
      | a name                          |
      | a function                      |
      | a function with a here-document |
      | a function with quotes          |
      | an alias                        |
      | an alias with quotes            |

  @id:SESSION-004 @must @since:0.1 @profile:sessions @needs:sessions @mutant:new-sessions-begin-with-the-last @mutant:commands-join-a-session
  Scenario: Nobody else sees what a session carries
    Two jobs shared one environment, and the second ran in the first one's directory (https://github.com/NousResearch/hermes-agent/pull/61976).
    Given an open sandbox
    And a session that carries something
    Then a command without a session starts afresh
    And another session starts afresh
    And the session has what it carries

  @id:SESSION-005 @must @since:0.1 @profile:sessions @needs:sessions @mutant:closes-sessions-in-name-only
  Scenario: A session that is closed is forgotten
    Cleaning up used another name than making, and the old state was found again (https://github.com/NousResearch/hermes-agent/issues/91440).
    Given an open sandbox
    And a session that carries something
    When the session is closed
    Then the session starts afresh

  @id:SESSION-006 @must @since:0.1 @profile:sessions @needs:sessions @mutant:complains-about-closing-no-session
  Scenario: Closing a session that is not there is no error
    Resources were leaked because the second cleaning was an error (https://github.com/NousResearch/hermes-agent/issues/91440).
    Given an open sandbox
    When the session is closed though there is none
    Then the session starts afresh

  @id:SESSION-007 @must @since:0.1 @profile:sessions @needs:sessions @mutant:sessions-end-with-their-shell @mutant:sessions-keep-state-by-their-mask @mutant:sessions-keep-state-among-temporary-files @mutant:sessions-read-first-what-they-are-told
  Scenario Outline: Whatever a command does, its session goes on
    A command that ended the shell ended everything that came after it, too (https://github.com/SWE-agent/SWE-agent/issues/642).
    Given an open sandbox
    And a session that carries something
    When a command of the session <ends or spoils its shell>
    Then the session has what it carries

    Examples:
      | ends or spoils its shell        |
      | exits                           |
      | becomes another program         |
      | kills its shell                 |
      | cannot be parsed                |
      | has no end                      |
      | sets a trap on its end          |
      | loses its search path           |
      | splits words at slashes         |
      | has a variable of 1 MiB         |
      | has constants                   |
      | names a function cd             |
      | closes its streams              |
      | lets nobody use its files       |
      | may write no files              |
      | has no place for temporary files |
      | has no home                     |
      | ignores requests to end         |
      | names what shells are to read first |

  @id:SESSION-008 @must @since:0.1 @profile:sessions @needs:sessions @mutant:options-stick
  Scenario: An option that ends shells ends no later command
    A command that set errexit poisoned the session, and the next failure ended it (https://github.com/OpenHands/OpenHands/pull/10821).
    Given an open sandbox
    And a session that carries something
    When a command of the session sets errexit and fails
    Then the outcome is exited with code 1
    And the session has what it carries

  @id:SESSION-009 @must @since:0.1 @profile:sessions @needs:sessions,streams_apart @mutant:bookkeeping-decides-the-code @mutant:bookkeeping-in-the-output
  Scenario: A command of a session is told as it was
    The code of a command was that of what kept the session's state (https://github.com/OpenHands/OpenHands/pull/10579).
    Given an open sandbox
    When a command of the session prints on both streams and fails
    Then the outcome is exited with code 7
    And standard output is exactly "out"
    And standard error is exactly "err"

  @id:SESSION-010 @must @since:0.1 @profile:sessions @needs:sessions,timeout @mutant:sessions-without-deadlines @mutant:half-a-command-counts
  Scenario: A deadline ends a command and leaves its session as it was
    A call waited for ever for the end of a command in a shell that had gone (https://github.com/gofixpoint/amika/pull/342).
    Given an open sandbox
    And a session that carries something
    When a command of the session changes everything and runs into its deadline
    Then the outcome is timed out
    And the session has what it carries

  @id:SESSION-011 @must @since:0.1 @profile:sessions @needs:sessions @mutant:sessions-stand-in-what-is-gone @mutant:heals-without-a-word @mutant:sessions-stand-where-a-file-is
  Scenario Outline: A session whose directory is gone goes on, and says so
    Every later command of the session failed for good when its directory was deleted (https://github.com/NousResearch/hermes-agent/issues/62169).
    Given an open sandbox
    And a directory named "gone"
    And a session in which a command has gone to this directory
    When the directory is <gone>, and a command of the session runs
    Then the outcome is exited with code 0
    And a notice names the directory

    Examples:
      | gone                       |
      | removed                    |
      | removed with the one above |
      | moved                      |
      | replaced by a file         |

  @id:SESSION-012 @must @since:0.1 @profile:sessions @needs:state=cwd_env|shell,concurrency @mutant:sessions-mix-states
  Scenario: Of two commands at the same time, the last to end leaves all of its state
    Parallel calls rewrote shared state, and a reader saw half of each (https://github.com/NousResearch/hermes-agent/issues/38249).
    Given an open sandbox
    When the session is used by two commands at once, of which the first ends last
    Then the session has what the last to end has left

  @id:SESSION-013 @must @since:0.1 @profile:sessions @needs:sessions,cwd @mutant:own-directories-stick
  Scenario: The directory of one command is not the session's
    A directory of one call became the session's, and broke what came later (https://github.com/NousResearch/hermes-agent/issues/4669).
    Given an open sandbox
    And a session that carries something
    When a command of the session is run in a directory of its own
    Then the session has what it carries

  @id:SESSION-014 @must @since:0.1 @profile:sessions @needs:state=cwd_env|shell,env @mutant:own-variables-stick @mutant:own-variables-go-with-what-is-exported
  Scenario Outline: A variable of one command is not the session's
    Variables set for one run were found by another (https://github.com/NousResearch/hermes-agent/issues/91440).
    Given an open sandbox
    And a session that carries something
    When a command of the session <is given something>
    Then standard output is exactly "own\n"
    And the session has what it carries

    Examples:
      | is given something                                     |
      | is given another value of its own                      |
      | is given another value of its own, and exports others  |

  @id:SESSION-015 @must @since:0.1 @profile:sessions @needs:sessions @mutant:sessions-are-named-like-files @mutant:sessions-in-small-letters @mutant:sessions-with-short-names @mutant:sessions-in-composed-letters
  Scenario Outline: Sessions whose names hardly differ are two
    Two homes whose names were taken for the same used each other's container (https://github.com/NousResearch/hermes-agent/pull/79832).
    Given an open sandbox
    And a session named with <something> that carries something
    Then a session named with <something else> starts afresh
    And the session has what it carries

    Examples:
      | something              | something else                                         |
      | a dot                  | a blank                                                |
      | a dot                  | an underscore                                          |
      | a slash                | an underscore                                          |
      | an underscore          | an underscore, and a blank at the end                  |
      | an underscore          | the code of an underscore                              |
      | an underscore          | an underscore, behind a way there and back             |
      | an underscore          | a capital letter                                       |
      | a letter of two bytes  | another letter of two bytes                            |
      | a letter of two bytes  | a letter and its accent                                |
      | as many letters as may be, the last of which is an a | as many letters as may be, the last of which is a b |

  @id:SESSION-016 @must @since:0.1 @profile:sessions @needs:sessions @fresh @mutant:keeps-the-sixteen-last-sessions
  Scenario: However many sessions there are, each has what it carries
    A registry of bounded size lost track of what went on (https://github.com/NousResearch/hermes-agent/issues/31980), and a service has a session for each conversation.
    Given an open sandbox
    And a session that carries something, as the first of 70
    Then every session has what it carries

  @id:SESSION-017 @must @since:0.1 @profile:sessions @needs:state=cwd_env|shell,env @fresh @mutant:variables-of-sandboxes-come-back
  Scenario: A variable of the sandbox that a command has taken away stays away in its session
    Unsetting a variable takes it out of the environment, wherever it was from (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html).
    Given a sandbox opened with the variable "PROBE_EXPORTED" set to "of its sandbox"
    And a session in which a command has found a variable of its sandbox
    When a command of the session takes away the variable
    And a command of the session looks for the variable
    Then standard output is exactly "gone\n"

  @id:SESSION-018 @must @since:0.1 @profile:sessions @needs:state=cwd_env|shell @mutant:exported-variables-come-back @mutant:exports-what-is-set @mutant:names-come-back
  Scenario Outline: What a command has taken away stays away in its session
    What is carried as a list of what there is leaves out what there is no more
    (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html); whoever only adds such lists up brings it back.
    Given an open sandbox
    And a session in which a command has <given>
    When a command of the session takes away <it>
    And a command of the session looks for <it>
    Then standard output is exactly "gone\n"

    Examples:
      | given                      | it                         |
      | exported spaces and quotes | the variable               |
      | exported spaces and quotes | the variable from programs |

    @needs:state=shell
    Examples:
      | given              | it           |
      | defined a function | the function |
      | defined an alias   | the alias    |

  @id:SESSION-019 @must @since:0.1 @profile:sessions @needs:sessions,cancel @mutant:the-cancelled-lose-their-sessions
  Scenario: A cancel ends a command and leaves its session as it was
    Parallel calls rewrote shared state, and a reader saw half of each (https://github.com/NousResearch/hermes-agent/issues/38249); a cancel must not do the same.
    Given an open sandbox
    And a session that carries something
    When a command of the session changes everything and is cancelled
    Then the outcome is cancelled
    And the session has what it carries

  @id:SESSION-020 @must @since:0.1 @profile:sessions @needs:sessions @mutant:sessions-take-short-texts-only
  Scenario: A text of a session may be longer than an argument may be
    A large payload in the arguments of a helper hit a limit (https://github.com/langfuse/langfuse/pull/16831).
    Given an open sandbox
    When a command of the session writes 200 KiB by a here-document
    Then the outcome is exited with code 0
    And standard output is exactly "204800\n"

  @id:SESSION-021 @must @since:0.1 @profile:sessions @needs:state=cwd_env|shell @mutant:only-last-lines-leave-state @mutant:traps-lose-the-state @mutant:functions-exit-without-state
  Scenario Outline: A command leaves its state to its session however its shell comes to its end
    A shell comes to its end by its last line, by exit or by errexit, and a trap on EXIT sees each of them (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#trap).
    Given an open sandbox
    When a command of the session changes what it carries and <ends>
    Then the session has what it carries

    Examples:
      | ends                            |
      | exits with 3                    |
      | fails with errexit on           |
      | has a trap for its end          |
      | exits within a function         |

  @id:SESSION-022 @must @since:0.1 @profile:sessions @needs:sessions @mutant:keeps-the-end-of-sessions-for-itself @mutant:traps-wait-for-exit @mutant:sessions-have-parameters @mutant:sessions-do-not-expand
  Scenario Outline: A text of a session is read as any other text
    A text that turned on errexit poisoned the shell of all, and the next failing command ended the session (https://github.com/OpenHands/OpenHands/pull/10821).
    Given an open sandbox
    When a command of the session whose text <reads so> is run
    Then standard output is what that text asks for

    Examples:
      | reads so                                          |
      | has a trap for its end and exits with 4           |
      | has a trap for its end and comes to its last line |
      | exits with 3 in its middle                        |
      | turns on errexit and then fails with 7            |
      | replaces its shell by a program that exits with 5 |
      | ends with the end of a here-document              |
      | ends with a comment                               |
      | ends with a backslash                             |
      | looks at its name and its parameters              |
      | looks at its options                              |
      | is a program of many lines                        |
      | uses what every POSIX shell has                   |
      | has all of its lines indented                     |
      | ends with a blank that is escaped                 |
      | reads its input before it goes on                 |
      | prints words that somebody on the way might decode |
      | closes its outputs and exits with 5 a second later |
      | ends with an ampersand                            |
      | ends with a semicolon                             |
      | begins with the name of another interpreter       |
      | begins with a parenthesis                         |
      | begins with an exclamation mark                   |
      | begins with the value of a variable               |
      | begins with blank lines and a comment             |

  @id:SESSION-023 @must @since:0.1 @profile:sessions @needs:state=cwd_env|shell @mutant:sessions-of-all-sandboxes @mutant:closes-sessions-everywhere @mutant:sessions-end-with-another-sandbox
  Scenario Outline: A session of the same name in another sandbox is another session
    Two jobs shared one environment, and the second ran in the first one's directory (https://github.com/NousResearch/hermes-agent/pull/61976).
    Given an open sandbox
    And a session that carries something
    When the session is <ended> another sandbox
    Then the session has what it carries

    Examples:
      | ended     |
      | closed in |
      | lost with |

  @id:SESSION-024 @must @since:0.1 @profile:sessions @needs:sessions,streams_apart,streams=apart @mutant:other-options-stick
  Scenario Outline: No option that a command has turned on is on in the next
    A command that set errexit poisoned the session (https://github.com/OpenHands/OpenHands/pull/10821); other options spoil what comes after them in other ways.
    Given an open sandbox
    When a command of the session turns on <option>
    And a command of the session does what <option> would not allow
    Then standard output is exactly "done\n"
    And standard error is empty

    Examples:
      | option    |
      | nounset   |
      | noglob    |
      | noclobber |
      | xtrace    |

  @id:SESSION-025 @must @since:0.1 @profile:sessions @needs:state=cwd_env|shell @mutant:sessions-forget-the-way-back @mutant:sessions-forget-links
  Scenario Outline: A command knows as well how its session came to where it is
    A shell keeps the way by which it came to a directory, and the one that it left, in PWD and OLDPWD (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/cd.html).
    Given an open sandbox
    And a directory named "behind"
    And a session in which a command has gone <there>
    When a command of the session goes <on>, and tells where it is
    Then it is the directory that commands start in

    Examples:
      | there             | on       |
      | to this directory | back     |
      | there by a link   | above it |

  @id:SESSION-026 @must @since:0.1 @profile:sessions @needs:state=cwd_env|shell @mutant:sessions-have-the-usual-search-path @mutant:sessions-carry-no-variables-of-the-system
  Scenario Outline: A variable that others read, too, is carried as any other
    An allow-listed variable was silently dropped by one of several backends (https://github.com/NousResearch/hermes-agent/issues/59286); what activates an environment of
    Python changes the search path of all that comes after it (https://docs.python.org/3/library/venv.html#how-venvs-work).
    Given an open sandbox
    And a session in which a command has given another value to <a variable>
    When a command of the session prints its value of <a variable>
    Then standard output is that value

    Examples:
      | a variable      |
      | PATH            |
      | HOME            |
      | USER            |
      | SHELL           |
      | TERM            |
      | TMPDIR          |
      | LD_LIBRARY_PATH |
      | PYTHONPATH      |
      | BASH_ENV        |
      | ENV             |
