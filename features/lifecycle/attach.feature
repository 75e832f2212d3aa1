Feature: ATTACH: the same key finds the same sandbox
  Callers come and go; what they have begun stays where the next one finds it.

  @id:ATTACH-001 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:keys-of-one-process @mutant:finds-again-as-new
  Scenario: A key finds its sandbox again when its caller has gone
    Each process made a container of its own rather than use the one that was there for the task (https://github.com/NousResearch/hermes-agent/issues/30336).
    Given a sandbox under a key
    When the key is opened again after its caller has gone
    Then it is the same sandbox, found again
    And the sandbox still runs commands

  @id:ATTACH-002 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:starts-later-callers-elsewhere @mutant:keys-of-one-process
  Scenario: Files and the directory that commands start in carry over
    A session that was resumed worked in another directory than the one that it had filled (https://github.com/NousResearch/hermes-agent/pull/61976).
    Given a sandbox under a key
    And a file in the first one's working directory
    When the key is opened again after its caller has gone
    Then a command finds the mark in the directory that commands start in

  @id:ATTACH-003 @must @since:0.1 @profile:persistent @needs:attach,persist_processes,left_behind=keep @alone @fresh @mutant:ends-what-runs-with-its-caller
  Scenario: What runs in the background goes on while nobody is there
    Servers that had been started for later were killed when the one who had started them was done (https://github.com/google-gemini/gemini-cli/issues/13225).
    Given a sandbox under a key
    And a command that has left a beat behind
    When the key is opened again after its caller has gone
    Then the beat goes on

  @id:ATTACH-004 @must @since:0.1 @profile:persistent @needs:attach,jobs,persist_processes @alone @fresh @mutant:kills-only-its-own-jobs @mutant:keys-of-one-process @mutant:kills-jobs-in-name-only
  Scenario: A job is found, and can be killed, by the next caller
    Tracking was lost on a restart while the process lived on (https://github.com/NousResearch/hermes-agent/issues/31980).
    Given a sandbox under a key
    When a job keeps a beat
    And the key is opened again after its caller has gone
    Then the job is told to run, for as long as it does
    And the beat goes on
    When the job is killed
    Then the beat has stopped

  @id:ATTACH-005 @must @since:0.1 @profile:persistent @needs:attach,jobs,persist_processes @alone @fresh @mutant:outcomes-go-with-their-caller @mutant:jobs-succeed @mutant:keys-of-one-process @mutant:outcomes-are-written-down-at-the-end
  Scenario Outline: How a job ended is kept for the next caller
    What had ended while nobody looked was told without its code (https://github.com/NousResearch/hermes-agent/issues/31980).
    Given a sandbox under a key
    When a job prints three lines and exits with a code
    And the key is opened again after <what came between>
    Then the job is told as exited with its code, also in the list

    Examples:
      | what came between   |
      | its caller has gone |
      | it was let go       |

    @needs:survive_client
    Examples:
      | what came between     |
      | its caller was killed |

  @id:ATTACH-006 @must @since:0.1 @profile:persistent @needs:attach,jobs,persist_processes @alone @fresh @mutant:output-begins-with-the-caller @mutant:keys-of-one-process
  Scenario: The next caller reads every byte of a job, from before and after it came
    A reader that came back to a command in the background found neither its stream nor its log (https://github.com/e2b-dev/E2B/issues/1074).
    Given a sandbox under a key
    When a job writes one half of its output, and the other half on a sign
    And the job is half done
    And the key is opened again after its caller has gone
    And the job is told to go on
    And the job is over
    Then the job gives every byte that it has written

  @id:ATTACH-007 @must @since:0.1 @profile:persistent @needs:attach,concurrency @alone @fresh @mutant:opens-a-key-twice-at-once @mutant:keys-of-one-process @mutant:starts-later-callers-elsewhere @mutant:everybody-has-made-it
  Scenario: Callers that open one key at once share one sandbox
    A check before the creation let two at once make two, and one of them was never used or removed (https://github.com/NousResearch/hermes-agent/issues/74053).
    When 8 callers open one key at once
    Then all callers share one sandbox

  @id:ATTACH-008 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:cleans-up-keys @mutant:finds-keys-by-their-beginning @mutant:keys-in-small-letters @mutant:trims-keys @mutant:keys-with-short-names @mutant:keys-in-composed-letters @mutant:decodes-keys @mutant:keys-are-paths
  Scenario Outline: A key that hardly differs finds another sandbox
    Two homes of the same name matched each other's container and shared what was in it (https://github.com/NousResearch/hermes-agent/pull/79832).
    Given a sandbox under <a key>
    And a file in the first one's working directory
    When another caller opens a key that differs from it in <something> only
    Then it is another sandbox

    Examples:
      | a key                | something                |
      | a key                | a sign                   |
      | a key                | the case of a letter     |
      | a key                | a blank behind it        |
      | a key                | the lack of its last sign |
      | a key                | a blank before it        |
      | a key                | a line end behind it     |
      | a key                | the code of a sign       |
      | a key                | a way there and back     |
      | a long key           | its last sign            |
      | a key with an accent | how an accent is written |

  @id:ATTACH-009 @must @since:0.1 @profile:persistent @needs:attach,survive_client @alone @fresh @mutant:ends-what-runs-when-killed @mutant:finds-again-as-new @mutant:keys-of-one-process
  Scenario: A command goes on when its caller is killed, and its sandbox is found again
    The end of a client by a signal must neither end its command nor leave it where nobody finds it (https://github.com/docker/cli/issues/5309).
    Given a sandbox under a key
    And a command that keeps a beat
    When the key is opened again after its caller was killed
    Then it is the same sandbox, found again
    And the beat goes on

  @id:ATTACH-010 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:detaching-destroys @mutant:finds-again-as-new
  Scenario: A sandbox that is let go is found again
    Switching between a kept and a throw-away sandbox took the files along (https://github.com/NousResearch/hermes-agent/pull/101385).
    Given a sandbox under a key
    And a file in the first one's working directory
    When the key is opened again after it was let go
    Then it is the same sandbox, found again
    And a command finds the mark in the directory that commands start in

  @id:ATTACH-011 @must @since:0.1 @profile:persistent @needs:attach,persist_files,left_behind=keep @alone @fresh @mutant:stopping-only-lets-go
  Scenario: Stopping ends what runs and keeps the files
    A session whose container had been stopped ended in an error rather than a start (https://github.com/SmartManoj/Kevin/issues/393).
    Given a sandbox under a key
    And a file in the first one's working directory
    And a command that has left a beat behind
    When the key is opened again after it was stopped
    Then the beat has stopped
    And a command finds the mark in the directory that commands start in

  @id:ATTACH-012 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:a-key-is-never-new-again
  Scenario: A key whose sandbox was destroyed makes a new one
    The same dead id was repeated for days, although a new sandbox would have done (https://github.com/NousResearch/hermes-agent/issues/36266).
    Given a sandbox under a key
    And a file in the first one's working directory
    When the key is opened again after it was destroyed
    Then it is a new sandbox, with nothing of the one before

  @id:ATTACH-013 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:opens-anew-before-each-command @mutant:a-lost-sandbox-looks-like-a-failed-command @mutant:keys-of-one-process @mutant:leaves-its-callers-waiting
  Scenario: A sandbox that another caller destroys is told as gone
    Commands whose sandbox had been destroyed were taken for commands that had failed (https://github.com/UKGovernmentBEIS/inspect_ai/issues/4709).
    Given a sandbox under a key
    And a command that keeps a beat
    When another caller destroys what it opens under the key
    Then the command is answered as lost with its sandbox
    And it is gone, and whoever uses it is told so

  @id:ATTACH-014 @must @since:0.1 @profile:persistent @needs:attach,env,cwd @alone @fresh @mutant:later-callers-get-what-the-first-asked-for
  Scenario: What a later caller asks for holds, or is refused
    Reuse compared names only, so that whatever else was asked for was ignored (https://github.com/NousResearch/hermes-agent/issues/84969), while a directory alone is
    no reason for another sandbox (https://github.com/NousResearch/hermes-agent/issues/37361).
    Given a sandbox under a key
    When the key is opened again with another variable and the root directory
    Then it is as the last caller has asked

  @id:ATTACH-015 @must @since:0.1 @profile:persistent @needs:attach,list @alone @fresh @mutant:lists-only-what-it-has-opened @mutant:keys-of-one-process
  Scenario: A caller that has opened nothing finds the sandbox in the list, with its key
    What is made and what can be found again must overlap, or nobody removes it (https://github.com/NousResearch/hermes-agent/issues/75467).
    Given a sandbox under a key
    When another caller looks for it
    Then the sandbox still runs commands

  @id:ATTACH-016 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:the-last-caller-takes-all @mutant:finds-again-as-new @mutant:keys-of-one-process
  Scenario: Two callers use one sandbox side by side
    A sandbox that was held for one session was of no use to the other that worked on the same task (https://github.com/NousResearch/hermes-agent/issues/37361).
    Given a sandbox under a key
    When another caller opens the key
    Then it is the same sandbox, found again
    And the sandbox still runs commands

  @id:ATTACH-017 @must @since:0.1 @profile:persistent @needs:attach,sessions @alone @fresh @mutant:sessions-of-one-process @mutant:keys-of-one-process @mutant:starts-later-callers-elsewhere @mutant:sessions-are-written-down-at-the-end
  Scenario Outline: The next caller goes on with a session where the last one left it
    A session that was resumed worked in another directory than the one where it had been left (https://github.com/NousResearch/hermes-agent/pull/61976).
    Given a sandbox under a key
    And a session that carries something
    When the key is opened again after <what came between>
    Then the session has what it carries

    Examples:
      | what came between   |
      | its caller has gone |
      | it was let go       |

    @needs:survive_client
    Examples:
      | what came between     |
      | its caller was killed |

  @id:ATTACH-018 @must @since:0.1 @profile:persistent @needs:attach,jobs,persist_processes,timeout @alone @fresh @mutant:the-caller-watches-the-deadlines-of-jobs
  Scenario: The deadline of a job holds when another caller has come
    A deadline that lived in the process that had set it was gone with a restart, and the work ran on (https://github.com/NousResearch/hermes-agent/issues/31980).
    Given a sandbox under a key
    When a job keeps a beat, with a deadline of 2 seconds
    And the key is opened again after its caller has gone
    And the job is over
    Then the beat has stopped
    And the job is told as timed out

  @id:ATTACH-019 @must @since:0.1 @profile:persistent @needs:attach,jobs,persist_processes,timeout @alone @fresh @mutant:the-caller-watches-the-deadlines-of-jobs
  Scenario Outline: The deadline of a job holds while no caller is there
    A sandbox whose deadline nobody was left to watch ran on and was paid for (https://github.com/NousResearch/hermes-agent/issues/28804).
    Given a sandbox under a key
    When a job would leave a mark a second after its deadline of a second
    And the key is opened again at the time of the mark, after its caller <went>
    Then the mark is not there
    And the job is told as timed out

    Examples:
      | went     |
      | has gone |

    @needs:survive_client
    Examples:
      | went       |
      | was killed |

  @id:ATTACH-020 @must @since:0.1 @profile:persistent @needs:attach,persist_files @alone @fresh @mutant:a-stop-loses-modes @mutant:a-stop-loses-links @mutant:a-stop-loses-times
  Scenario: Files come back from a stop as they were
    Files that were put back lost their permissions (https://github.com/NousResearch/hermes-agent/pull/10618); a store of objects knows neither these nor links.
    Given a sandbox under a key
    And a command that has left files of every kind
    When the key is opened again after it was stopped
    Then a command finds these files as they were

  @id:ATTACH-021 @must @since:0.1 @profile:persistent @needs:attach,state=cwd_env|shell @alone @fresh @mutant:sessions-outlive-their-sandboxes
  Scenario: A key whose sandbox was destroyed has nothing of its sessions either
    Two homes of the same name matched each other's container and shared what was in it (https://github.com/NousResearch/hermes-agent/pull/79832).
    Given a sandbox under a key
    And a session that carries something
    When the key is opened again after it was destroyed
    Then the session starts afresh

  @id:ATTACH-022 @must @since:0.1 @profile:persistent @needs:attach,env @alone @fresh @mutant:variables-live-with-their-opener
  Scenario: A variable of a sandbox is seen by the commands of later callers, too
    An allow-listed variable was silently dropped by one of several backends (https://github.com/NousResearch/hermes-agent/issues/59286).
    Given a sandbox under a key
    When the key is opened again after its caller has gone
    And a command prints the variable "PROBE_CALLER"
    Then standard output is exactly "first"

  @id:ATTACH-023 @must @since:0.1 @profile:persistent @needs:attach,cwd @alone @fresh @mutant:directories-live-with-their-opener
  Scenario: The directory that a sandbox was opened with is where commands of later callers start, too
    A directory option was ignored together with containment (https://github.com/apptainer/singularity/issues/1208).
    Given a sandbox under a key and in the root directory
    When the key is opened again after its caller has gone
    And a command prints its working directory
    Then it is the root directory

  @id:ATTACH-024 @must @since:0.1 @profile:persistent @needs:attach,jobs,persist_files @alone @fresh @mutant:numbers-jobs-anew-after-a-stop
  Scenario: The id of a job that a stop has ended is that of no other
    Threads got each other's results (https://github.com/NousResearch/hermes-agent/issues/17770); so does whoever holds an id that was given again.
    Given a sandbox under a key
    When a job tells its number and waits
    And the key is opened again after it was stopped with its job
    And a job keeps a beat
    And an unknown job is killed by the id of one that was stopped
    Then the beat goes on

  @id:ATTACH-025 @must @since:0.1 @profile:persistent @needs:attach @alone @fresh @mutant:takes-tidy-keys-only @mutant:looks-for-keys-by-patterns
  Scenario Outline: Whatever is in a key, it finds its sandbox again
    A name that was cleaned up for what it had to fit found another one's container (https://github.com/NousResearch/hermes-agent/pull/79832), or none at all.
    When a sandbox is opened under <a key>
    And the key is opened again after its caller has gone
    Then it is the same sandbox, found again
    And the sandbox still runs commands

    Examples:
      | a key                           |
      | a key with slashes              |
      | a key with blanks and quotes    |
      | a key with two lines            |
      | a key that begins with dashes   |
      | a key with signs of patterns    |
      | a key with letters beyond ASCII |
      | a key of 250 signs              |
