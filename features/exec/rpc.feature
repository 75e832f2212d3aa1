Feature: RPC: code in the sandbox calls tools of its caller
  An agent's script uses the agent's own tools from where it runs, those that it was allowed and no others.

  @id:RPC-001 @must @since:0.1 @profile:core @needs:rpc @mutant:tool-replies-as-text
  Scenario: A command calls a tool of its caller, with bytes both ways
    In containers no call of a script ever reached the agent, and all of them were told to have worked (https://github.com/NousResearch/hermes-agent/issues/13142).
    Given an open sandbox
    When a command calls a tool with every byte value
    Then the outcome is exited with code 0
    And standard output is that reply
    And the tool was called once

  @id:RPC-002 @must @since:0.1 @profile:core @needs:rpc @mutant:asks-again-when-it-takes-long
  Scenario: A tool that takes its time is called once
    A tool was called twice for each attempt, and whatever it does was done twice (https://github.com/crewAIInc/crewAI/issues/7449).
    Given an open sandbox
    When a command calls a tool that takes its time
    Then standard output is exactly "123"
    And the tool was called once

  @id:RPC-003 @must @since:0.1 @profile:core @needs:rpc @mutant:cuts-tool-replies-at-64-kib
  Scenario Outline: Arguments and replies arrive whole, whatever their size
    Results of more than 128 KiB did not reach the sandbox, since they were put into a command's text (https://github.com/NousResearch/hermes-agent/pull/22913).
    Given an open sandbox
    When a command calls a tool with <arguments>
    Then the outcome is exited with code 0
    And standard output is that reply

    Examples:
      | arguments     |
      | 0 bytes       |
      | 8 bytes       |
      | empty lines   |
      | 1048576 bytes |
      | 3000000 bytes |

  @id:RPC-004 @must @since:0.1 @profile:core @needs:rpc @mutant:allows-tools-by-their-beginning @mutant:allows-tools-in-any-case @mutant:asks-for-tools-that-were-not-allowed
  Scenario Outline: A tool that was not allowed is refused, and its caller is never asked
    Scripts could call the tool that runs commands outside of their sandbox (https://github.com/NousResearch/hermes-agent/pull/6623).
    Given an open sandbox
    When a command calls a tool <that was not allowed>
    Then the outcome is exited with code 77
    And the tool was not called

    Examples:
      | that was not allowed                               |
      | that was not allowed                               |
      | whose name begins as an allowed one's              |
      | whose name is an allowed one's in capital letters  |

  @id:RPC-005 @must @since:0.1 @profile:core @needs:rpc,concurrency,streams_apart,streams=apart @mutant:lends-tools-to-other-commands
  Scenario: A command that may call nothing cannot call with what another one was given
    Every process that could reach the socket could call the agent's tools (https://github.com/NousResearch/hermes-agent/pull/56255).
    Given an open sandbox
    When a command calls a tool with what another command was given
    Then the code that called was refused
    And the tool was not called

  @id:RPC-006 @must @since:0.1 @profile:core @needs:rpc,left_behind=keep @mutant:calls-outlive-their-command
  Scenario: What a command has left behind can call nothing any more
    Processes that survived their agent went on with what they had been started for (https://github.com/NousResearch/hermes-agent/pull/40350).
    Given an open sandbox
    When a command calls a tool from a worker that it has left behind
    Then the code that called was refused
    And the tool was not called

  @id:RPC-007 @must @since:0.1 @profile:core @needs:rpc,streams_apart,streams=apart @mutant:forgets-how-many-calls-are-allowed @mutant:looks-before-it-counts
  Scenario Outline: A command calls no more often than it may
    A sandbox that is not trusted may ask its host again and again, so that the host has to set the bound (https://cwe.mitre.org/data/definitions/770.html).
    Given an open sandbox
    When a command calls a tool <three times>, and may twice
    Then standard output is exactly "0\n0\n77\n"
    And the tool was called twice

    Examples:
      | three times         |
      | three times         |
      | three times at once |

  @id:RPC-008 @must @since:0.1 @profile:core @needs:rpc @mutant:forgets-how-much-may-be-said
  Scenario: Arguments that are longer than they may be are refused, and never sent
    Results of any size went on to where they were paid for by the byte (https://github.com/NousResearch/hermes-agent/issues/50807).
    Given an open sandbox
    When a command calls a tool with more than it may say
    Then the outcome is exited with code 65
    And the tool was not called

  @id:RPC-009 @must @since:0.1 @profile:core @needs:rpc,streams_apart,streams=apart @mutant:tool-failures-are-replies
  Scenario: A tool that fails is told as such, and not as a reply
    A transport that hands a fault over as a result lets a script go on with it; the two are told apart (https://www.jsonrpc.org/specification#response_object).
    Given an open sandbox
    When a command calls a tool that fails
    Then the outcome is exited with code 70
    And standard output is empty
    And the tool was called once

  @id:RPC-010 @must @since:0.1 @profile:core @needs:rpc,timeout @mutant:waits-for-its-caller
  Scenario: A caller that never answers does not hold up the deadline
    An agent sat in a call whose result never came, and did not end by itself (https://github.com/multica-ai/multica/issues/6583).
    Given an open sandbox
    When a command calls a tool that never answers, for a second
    Then the outcome is timed out, no later than 1 second after the deadline
    And the sandbox still runs commands

  @id:RPC-011 @must @since:0.1 @profile:core @needs:rpc @mutant:mixes-up-calls @mutant:one-call-at-a-time
  Scenario: Calls at the same time get each its own reply
    Threads of a script got each other's results (https://github.com/NousResearch/hermes-agent/issues/17770).
    Given an open sandbox
    When a command calls two tools at the same time
    Then standard output is exactly "onetwo"
    And the tool was called twice

  @id:RPC-012 @must @since:0.1 @profile:jobs @needs:rpc,jobs @mutant:forgets-the-tools-of-a-job
  Scenario: A job, which nobody waits for, cannot be given tools
    A call was accepted and never carried out, and nobody was told (https://github.com/daytonaio/daytona/issues/4520).
    Given an open sandbox
    When a command that leaves a mark is run with detachment and tools
    Then the call is refused as an invalid argument
    And the mark is not there

  @id:RPC-013 @should @since:0.1 @profile:core @needs:rpc @mutant:cuts-tool-replies-at-16-mib @mutant:cuts-tool-replies-at-64-kib
  Scenario: Arguments and replies of 64 MiB arrive whole
    Arguments that were longer than a buffer were replaced by nothing, and the tool was told to have worked (https://github.com/NousResearch/hermes-agent/issues/62948).
    Given an open sandbox
    When a command calls a tool that repeats 67108864 bytes
    Then the outcome is exited with code 0

  @id:RPC-014 @must @since:0.1 @profile:core @needs:rpc,streams_apart,streams=apart @mutant:forgets-how-much-may-be-said
  Scenario: A reply that is longer than it may be is refused, and not cut
    Output was cut without a word, and what was left was taken for the whole (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command calls a tool that says more than it may
    Then the outcome is exited with code 65
    And standard output is empty

  @id:RPC-015 @must @since:0.1 @profile:core @needs:rpc @mutant:asks-again-after-four-seconds @mutant:makes-a-call-twice @mutant:asks-again-when-it-takes-long
  Scenario: A tool that takes longer than others would wait is called once
    A tool was called twice for each attempt, and whatever it does was done twice (https://github.com/crewAIInc/crewAI/issues/7449).
    Given an open sandbox
    When a command calls a tool that takes longer than others would wait
    Then standard output is exactly "123"
    And the tool was called once

  @id:RPC-016 @must @since:0.1 @profile:sessions @needs:rpc,sessions @mutant:sessions-carry-the-word-for-tools @mutant:sessions-hide-the-way-to-tools @mutant:counts-the-calls-of-a-session
  Scenario Outline: Each command of a session calls tools with what it was given itself
    Variables of one run were found by another (https://github.com/NousResearch/hermes-agent/issues/91440): with what the session had kept, tools could be called once.
    Given an open sandbox
    When a command calls a tool <in a session>
    Then standard output is exactly "123"
    And the tool was called once

    Examples:
      | in a session                                        |
      | in a session that has called one before             |
      | in a session that has set the way to tools before   |
      | in a session that has called as often as it might   |

  @id:RPC-017 @must @since:0.1 @profile:sessions @needs:rpc,sessions,streams_apart,streams=apart @mutant:sessions-lend-tools
  Scenario: What one command of a session may call, the next may not
    Processes went on with what another one had been started for (https://github.com/NousResearch/hermes-agent/pull/40350).
    Given an open sandbox
    When a command calls a tool in a session whose last command was allowed to
    Then the code that called was refused
    And the tool was not called

  @id:RPC-018 @must @since:0.1 @profile:core @needs:rpc,streams_apart,streams=apart @mutant:whoever-is-late-is-denied @mutant:whoever-is-denied-is-late @mutant:calls-outlive-their-command @mutant:lends-tools-to-other-commands
  Scenario Outline: Code that may not call is told whether it is late, or was never allowed to
    A refusal that says nothing of its reason is tried again for ever; the codes are apart for that (https://man.freebsd.org/cgi/man.cgi?query=sysexits).
    Given an open sandbox
    When a command calls a tool <how>
    Then the code that called was <told>
    And the tool was not called

    Examples:
      | how                                           | told   |
      | with what a command was given that has ended  | denied |

    @needs:concurrency
    Examples:
      | how                                  | told   |
      | with what another command was given  | denied |

    @needs:left_behind=keep
    Examples:
      | how                                    | told                         |
      | from a worker that it has left behind  | told that nobody can be asked |

  @id:RPC-019 @must @since:0.1 @profile:core @needs:rpc @mutant:keeps-the-words-of-tools-to-itself
  Scenario: What a tool says of its failure reaches the code that called
    A transport that hands a fault over without its message leaves a script nothing to go by (https://www.jsonrpc.org/specification#error_object).
    Given an open sandbox
    When a command calls a tool that fails, and looks for its words among the errors
    Then standard output is exactly "1\n"
    And the tool was called once

  @id:RPC-020 @must @since:0.1 @profile:core @needs:rpc,argv @mutant:tools-only-for-texts
  Scenario: A program that no shell starts calls a tool, too
    In one of the ways to run it no call of a script ever reached the agent (https://github.com/NousResearch/hermes-agent/issues/13142).
    Given an open sandbox
    When a command calls a tool as a program
    Then standard output is exactly "123"
    And the tool was called once

  @id:RPC-021 @must @since:0.1 @profile:core @needs:rpc @mutant:says-less-than-it-may
  Scenario: Arguments and a reply that are just as long as they may be arrive
    One layer cut at a length at which the next one did not yet keep the whole (https://github.com/NousResearch/hermes-agent/issues/86401).
    Given an open sandbox
    When a command calls a tool with just as much as it may say
    Then the outcome is exited with code 0
    And standard output is that reply
    And the tool was called once
