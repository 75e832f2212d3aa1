Feature: JOB: work that outlives its command
  The end of the shell is the end of the command; what it left in the background is another matter.

  @id:JOB-001 @must @since:0.1 @profile:core @mutant:waits-for-what-is-left-behind @mutant:waits-for-who-holds-its-errors
  Scenario Outline: A command ends when its shell ends, although a worker still holds its output
    A call blocked for ever when its command had started a server in the background (https://github.com/NousResearch/hermes-agent/pull/10584).
    Given an open sandbox
    When a command prints "started\n" and leaves a worker that holds <an output>
    Then it was answered within 3 seconds
    And the outcome is exited with code 0
    And standard output is exactly "started\n"

    Examples:
      | an output       |
      | its output      |
      | its errors only |

  @id:JOB-002 @must @since:0.1 @profile:core @needs:left_behind=keep @mutant:ends-what-is-left-behind
  Scenario: A worker that a command leaves in the background lives on
    Servers started in the background were killed as soon as the call was over (https://github.com/google-gemini/gemini-cli/issues/13225).
    Given an open sandbox
    When a command leaves a beat behind
    Then the beat goes on

  @id:JOB-003 @must @since:0.1 @profile:jobs @needs:jobs @mutant:detaches-in-name-only
  Scenario: A job is started at once, and goes on
    A daemon started over a connection held that connection, so the start ran into its own limit (https://github.com/NousResearch/hermes-agent/issues/96129).
    Given an open sandbox
    When a job keeps a beat
    Then the job was started at once
    And the beat goes on

  @id:JOB-004 @must @since:0.1 @profile:jobs @needs:jobs @mutant:jobs-begin-at-the-beginning @mutant:jobs-are-read-as-text @mutant:tells-the-end-too-early @mutant:never-tells-the-end-of-nothing
  Scenario: What a job has written is read from any cursor, up to its end
    A reader that came back was given again what it had, or lost what it had not (https://github.com/NousResearch/hermes-agent/issues/65298).
    Given an open sandbox
    When a job prints three lines and exits with a code
    And the job is over
    Then the job gives its output from every cursor

  @id:JOB-005 @must @since:0.1 @profile:jobs @needs:jobs @mutant:jobs-succeed
  Scenario: How a job ended is told to whoever waits, and in the list
    With a lost status, work that had failed was taken for done (https://github.com/apache/airflow/pull/72910).
    Given an open sandbox
    When a job prints three lines and exits with a code
    Then the job is told as exited with its code, also in the list

  @id:JOB-006 @must @since:0.1 @profile:jobs @needs:jobs @mutant:kills-jobs-in-name-only
  Scenario: A job that is killed is dead
    Processes started in the background survived the end of the agent, and kept their ports (https://github.com/NousResearch/hermes-agent/pull/40350).
    Given an open sandbox
    When a job keeps a beat
    And the job is killed
    Then the beat has stopped
    And the job is told as cancelled

  @id:JOB-007 @must @since:0.1 @profile:jobs @needs:jobs @mutant:never-forgets
  Scenario: A job that is forgotten is not known any more
    Records without their processes were left for good (https://github.com/apptainer/singularity/issues/1233).
    Given an open sandbox
    When a job prints three lines and exits with a code
    And the job is over and forgotten
    Then the job is not known any more

  @id:JOB-008 @must @since:0.1 @profile:jobs @needs:jobs,timeout @mutant:jobs-without-deadlines
  Scenario: A deadline ends a job although nobody waits for it
    Remote commands ran without a bound, since the deadline that was given never reached them (https://github.com/langchain-ai/deepagents/pull/1756).
    Given an open sandbox
    When a job keeps a beat, with a deadline of 1 second
    And the job is over
    Then the beat has stopped
    And the job is told as timed out

  @id:JOB-009 @must @since:0.1 @profile:jobs @needs:jobs @mutant:looks-every-four-seconds @mutant:no-time-is-any-time
  Scenario Outline: Waiting for a job takes no longer than was asked
    A call that waited for a command of minutes outlived every limit that its caller had set (https://github.com/NousResearch/hermes-agent/issues/96129).
    Given an open sandbox
    When a job keeps a beat
    Then the job is <looked after>
    And the beat goes on

    Examples:
      | looked after                       |
      | waited for no longer than was asked |
      | told to run without any waiting    |

  @id:JOB-010 @must @since:0.1 @profile:jobs @needs:jobs,kill_scope=tree @mutant:kills-only-the-group-of-a-job @mutant:kills-jobs-in-name-only
  Scenario: Killing a job ends what has left its process group
    Descendants that had made themselves a session of their own survived the kill (https://github.com/NousResearch/hermes-agent/pull/94187).
    Given an open sandbox
    When a job starts a worker in a session of its own that keeps a beat
    And the job is killed
    Then the beat has stopped

  @id:JOB-011 @must @since:0.1 @profile:jobs @needs:jobs @mutant:knows-every-job @mutant:kills-jobs-in-name-only @mutant:never-forgets
  Scenario Outline: A job that never was is told to be unknown
    A process that was asked for by an id that nobody had was looked for without an end (https://github.com/NousResearch/hermes-agent/issues/17327).
    Given an open sandbox
    When an unknown job is <asked about>
    Then the call is refused because the job is not there

    Examples:
      | asked about |
      | read        |
      | waited for  |
      | killed      |
      | forgotten   |

  @id:JOB-012 @must @since:0.1 @profile:jobs @needs:jobs @mutant:deaths-are-exits-of-jobs
  Scenario: A job that another process has killed is told as ended by that signal
    A status that was lost became an exit code, and work that had been killed was taken for work that had failed (https://github.com/apache/airflow/pull/72910).
    Given an open sandbox
    When a job tells its number and waits
    And the job is killed by another command
    Then the job is told as ended by a signal

  @id:JOB-013 @must @since:0.1 @profile:jobs @needs:jobs @mutant:end-of-output-is-the-end-of-a-job @mutant:jobs-succeed
  Scenario Outline: A job that lets go of its output runs until it ends
    A process whose output went to files was told as exited, without a code, while it ran (https://github.com/NousResearch/hermes-agent/issues/86416), and
    one that closed its output early became a zombie whose code nobody learned (https://github.com/NousResearch/hermes-agent/pull/111464).
    Given an open sandbox
    When a job <lets go of its output> and exits on a sign
    Then the job is told to run, for as long as it does
    When the job is told to go on
    Then the job is told as exited with its code, also in the list

    Examples:
      | lets go of its output       |
      | sends its output to a file  |
      | closes its output           |

  @id:JOB-014 @must @since:0.1 @profile:jobs @needs:jobs @mutant:misses-quick-ends
  Scenario: Jobs that end at once are told to have ended
    A command that ended within milliseconds was shown as running for minutes (https://github.com/NousResearch/hermes-agent/issues/17327).
    Given an open sandbox
    When 20 jobs end at once, without a word
    Then each job is told as it ended

  @id:JOB-015 @must @since:0.1 @profile:jobs @needs:jobs,concurrency @mutant:lists-fifty-jobs
  Scenario: Sixty-four jobs at once are told apart
    A registry of bounded size lost track of processes that went on (https://github.com/NousResearch/hermes-agent/issues/31980).
    Given an open sandbox
    When 64 jobs run at the same time, each with words and a code of its own
    Then each job is told as it ended

  @id:JOB-016 @must @since:0.1 @profile:jobs @needs:jobs @mutant:a-late-kill-rewrites-the-past @mutant:jobs-succeed
  Scenario: Killing a job that is over changes nothing
    A number that had been given to another process by then must not be signalled, and what has ended keeps its outcome (https://github.com/NousResearch/hermes-agent/issues/115697).
    Given an open sandbox
    When a job prints three lines and exits with a code
    And the job is over and killed
    Then the job is told as exited with its code, also in the list

  @id:JOB-017 @must @since:0.1 @profile:jobs @needs:jobs @mutant:forgets-what-runs @mutant:kills-jobs-in-name-only @mutant:never-forgets
  Scenario: A job that runs is not forgotten
    Processes whose records were gone went on, and nobody could find them any more (https://github.com/apptainer/singularity/issues/1233).
    Given an open sandbox
    When a job keeps a beat
    And the job is forgotten while it runs
    Then the call is refused as an invalid argument
    When the job is killed
    Then the beat has stopped
    And the job is told as cancelled

  @id:JOB-018 @must @since:0.1 @profile:jobs @needs:jobs @mutant:tells-the-past-again-beyond-the-end @mutant:jobs-begin-at-the-beginning
  Scenario: Beyond the end of a job's output there is nothing
    A reader that came back with a cursor of its own was given once more what it had (https://github.com/NousResearch/hermes-agent/issues/65298).
    Given an open sandbox
    When a job prints three lines and exits with a code
    And the job is over
    Then the job gives nothing from beyond its end

  @id:JOB-019 @must @since:0.1 @profile:jobs @needs:jobs,spool_full=block @mutant:a-full-job-stays-full @mutant:drops-what-nobody-reads @mutant:jobs-begin-at-the-beginning @mutant:jobs-succeed
  Scenario: A job that writes more than is kept for it waits, and goes on when it is read
    A command stopped for good as soon as nobody took its output (https://github.com/modal-labs/modal-client/pull/2416), and where nothing stopped it, what it wrote
    filled tens of gigabytes (https://github.com/Gitlawb/zero/pull/353).
    Given an open sandbox
    When a job writes more than is kept for it
    Then the job goes on whenever it is read, and loses nothing
    And the job is told as exited with its code, also in the list

  @id:JOB-020 @must @since:0.1 @profile:jobs @needs:jobs @mutant:kills-all-jobs @mutant:kills-jobs-in-name-only
  Scenario: Killing one job leaves the others alone
    A kill that is given too little to go by reaches a group, or everything (https://man7.org/linux/man-pages/man2/kill.2.html).
    Given an open sandbox
    When a job keeps a beat
    And a job tells its number and waits
    And the job is killed
    Then the job is told as cancelled
    And the beat goes on

  @id:JOB-021 @must @since:0.1 @profile:jobs @needs:jobs,concurrency @mutant:a-killed-job-takes-commands-along @mutant:kills-jobs-in-name-only
  Scenario: Killing a job leaves commands alone that run beside it
    A kill that is given too little to go by reaches a group, or everything (https://man7.org/linux/man-pages/man2/kill.2.html).
    Given an open sandbox
    And a command that keeps a beat
    When a job tells its number and waits
    And the job is killed
    Then the job is told as cancelled
    And the beat goes on

  @id:JOB-022 @must @since:0.1 @profile:jobs @needs:jobs,concurrency @mutant:tells-one-of-those-who-wait
  Scenario: All who wait for a job are told how it ended
    The system hands a status out once, and whoever waits second is told that there is no such child (https://man7.org/linux/man-pages/man2/wait.2.html).
    Given an open sandbox
    When a job tells its number and waits
    Then the job tells all who wait how it has ended
    And the job is told as exited with its code, also in the list

  @id:JOB-023 @must @since:0.1 @profile:jobs @needs:jobs,concurrency @mutant:one-reading-for-all-who-read @mutant:jobs-are-read-as-text
  Scenario: Whoever reads a job at the same time as others is given what is behind their own cursor
    Readers that share one offset take each other's bytes (https://man7.org/linux/man-pages/man2/dup.2.html).
    Given an open sandbox
    When a job prints three lines and exits with a code
    And the job is over
    Then the job gives each of many readers at once what is behind its own cursor

  @id:JOB-024 @must @since:0.1 @profile:jobs @needs:jobs,concurrency @fresh @mutant:lists-commands-as-jobs
  Scenario: A command that its caller waits for is no job
    What was listed as running in the background did not run there (https://github.com/NousResearch/hermes-agent/issues/17327).
    Given an open sandbox
    And a command that keeps a beat
    Then it is no job

  @id:JOB-025 @must @since:0.1 @profile:jobs @needs:jobs @mutant:reads-job-ids-as-numbers @mutant:kills-jobs-in-name-only
  Scenario: An id that only looks like a job's is that of no job
    A number may be read with blanks, a sign and zeros before it, so that many spellings are one (https://man7.org/linux/man-pages/man3/strtol.3.html).
    Given an open sandbox
    When a job keeps a beat
    And an unknown job is killed by an id like the job's
    Then the call is refused because the job is not there
    And the beat goes on

  @id:JOB-026 @must @since:0.1 @profile:jobs @needs:jobs,streams_apart,streams=apart @mutant:keeps-only-the-output-of-jobs
  Scenario: What a job writes as errors is read as errors
    Diagnostics go to a stream of their own, so that whoever reads the output finds none in it (https://man7.org/linux/man-pages/man3/stderr.3.html).
    Given an open sandbox
    When a job writes on both streams and exits with a code
    And the job is over
    Then the job gives each stream its own bytes

  @id:JOB-027 @must @since:0.1 @profile:jobs @needs:jobs @mutant:forgets-all-that-is-over
  Scenario: Forgetting one job forgets no other
    A registry lost track of what nobody had told it to forget (https://github.com/NousResearch/hermes-agent/issues/31980).
    Given an open sandbox
    When 12 jobs end at once, without a word
    And a job prints three lines and exits with a code
    And the job is over and forgotten
    Then the job is not known any more
    And each job is told as it ended

  @id:JOB-028 @must @since:0.1 @profile:jobs @needs:jobs,concurrency @mutant:eight-waits-at-a-time @mutant:tells-one-of-those-who-wait @mutant:kills-jobs-in-name-only
  Scenario: A job is killed although many wait for it
    One frozen helper held up every other call (https://github.com/docker/sbx-releases/issues/163).
    Given an open sandbox
    When a job keeps a beat
    And the job is killed while 16 wait for it
    Then the beat has stopped

  @id:JOB-029 @must @since:0.1 @profile:jobs @needs:jobs @mutant:jobs-lose-their-variables @mutant:jobs-lose-their-directory @mutant:jobs-lose-their-input @mutant:shells-read-the-arguments-of-jobs
  Scenario Outline: A job is given what its command was given
    A background start dropped the input that was asked for, and programs that expected it ended at once (https://github.com/e2b-dev/E2B/issues/927).
    Given an open sandbox
    When a job tells the <part> that it was given
    Then the job has written just that

    @needs:env
    Examples:
      | part     |
      | variable |

    @needs:cwd
    Examples:
      | part      |
      | directory |

    @needs:stdin
    Examples:
      | part  |
      | input |

    @needs:argv
    Examples:
      | part      |
      | arguments |

  @id:JOB-030 @must @since:0.1 @profile:jobs @needs:jobs,timeout @mutant:output-restarts-the-deadline-of-jobs @mutant:jobs-without-deadlines
  Scenario: A job that prints all the time is ended at its deadline
    What ran in the background wrote without a bound, since nothing ended it (https://github.com/Gitlawb/zero/pull/353).
    Given an open sandbox
    When a job prints again and again and keeps a beat, with a deadline of 1 second
    And the job is over
    Then the beat has stopped
    And the job is told as timed out

  @id:JOB-031 @must @since:0.1 @profile:jobs @needs:jobs,spool_full=block @mutant:hides-that-a-job-waits @mutant:jobs-seem-to-wait-for-ever
  Scenario: A job that waits for a reader is told to wait
    A command stopped for good as soon as nobody took its output, and looked as if it ran (https://github.com/modal-labs/modal-client/pull/2416).
    Given an open sandbox
    When a job writes more than is kept for it
    Then the job is told to wait for a reader, and that only while it does

  @id:JOB-032 @must @since:0.1 @profile:jobs @needs:jobs,spool_full=drop_oldest @mutant:drops-without-a-gap @mutant:loses-a-byte-where-the-spool-begins-anew
  Scenario: A job that nobody reads goes on, and what was dropped of it is told as a gap
    What nothing bounds fills a disk (https://github.com/Gitlawb/zero/pull/353), and what is dropped without a word is taken for the whole.
    Given an open sandbox
    When a job writes more than is kept for it
    Then the job is told as exited with its code, also in the list
    And the job keeps the end of its output, and tells a gap before it

  @id:JOB-033 @must @since:0.1 @profile:jobs @needs:jobs @fresh @mutant:gives-ids-again
  Scenario: The id of a job that was forgotten is that of no other
    Threads got each other's results (https://github.com/NousResearch/hermes-agent/issues/17770); so does whoever holds an id that was given again.
    Given an open sandbox
    When a job prints three lines and exits with a code
    And the job is over and forgotten
    And a job keeps a beat
    And an unknown job is killed by the id of one that was forgotten
    Then the call is refused because the job is not there
    And the beat goes on

  @id:JOB-034 @must @since:0.1 @profile:jobs @needs:jobs @mutant:drops-the-bounds-of-jobs
  Scenario: A job, whose output is read when it is wanted, cannot be given bounds on it
    A call was accepted and never carried out, and nobody was told (https://github.com/daytonaio/daytona/issues/4520).
    Given an open sandbox
    When a command that leaves a mark is run with detachment and only the ends of its output
    Then the call is refused as an invalid argument
    And the mark is not there

  @id:JOB-035 @must @since:0.1 @profile:jobs @needs:jobs @mutant:gives-more-than-was-asked-for @mutant:takes-nothing-for-everything @mutant:jobs-begin-at-the-beginning @mutant:jobs-are-read-as-text
  Scenario: A reader of a job gets no more than it has asked for
    A caller whose buffer is full is given what it has no place for (https://man7.org/linux/man-pages/man2/read.2.html), and half a gigabyte froze one
    (https://github.com/NousResearch/hermes-agent/issues/64435).
    Given an open sandbox
    When a job prints three lines and exits with a code
    And the job is over
    Then the job gives no more than it is asked for

  @id:JOB-036 @must @since:0.1 @profile:jobs @needs:jobs,sessions @mutant:jobs-begin-without-their-session @mutant:jobs-leave-their-state
  Scenario: A job of a session begins with what it carries, and leaves it as it was
    Two jobs shared one environment, and the second ran in the first one's directory (https://github.com/NousResearch/hermes-agent/pull/61976).
    Given an open sandbox
    And a session that carries something
    When a job of the session looks around and changes everything
    Then the job has written just that
    And the session has what it carries

  @id:JOB-037 @must @since:0.1 @profile:jobs @needs:jobs @mutant:the-last-byte-is-the-end
  Scenario: Where a job that runs has written nothing more yet, its output has no end
    A reader that is told of an end reads no more, and the rest of the log was never seen (https://github.com/e2b-dev/E2B/issues/1074).
    Given an open sandbox
    When a job tells its number and waits
    Then the job has more to come

  @id:JOB-038 @must @since:0.1 @profile:jobs @needs:jobs @mutant:lists-jobs-without-their-commands @mutant:jobs-do-not-grow-older
  Scenario: A job is listed with what it was started with, and for how long it has been there
    Whoever looks for what still runs knows it by its command (https://github.com/NousResearch/hermes-agent/issues/31980).
    Given an open sandbox
    When a job tells its number and waits
    Then the job is listed with its command, and grows older

  @id:JOB-039 @must @since:0.1 @profile:jobs @needs:jobs @mutant:lists-jobs-by-their-ids-as-text
  Scenario: Jobs are listed from the oldest on
    Names with numbers in them are not in the order of the numbers (https://www.gnu.org/software/coreutils/manual/html_node/Version-sort-overview.html).
    Given an open sandbox
    When 12 jobs are started one after the other
    Then the job list has them from the oldest on

  @id:JOB-040 @must @since:0.1 @profile:jobs @needs:jobs @mutant:drops-the-byte-order-mark-of-jobs
  Scenario: A mark of the byte order at the beginning of a job's output is kept
    In a protocol that always says what is text, the mark is data (https://www.rfc-editor.org/rfc/rfc3629#section-6).
    Given an open sandbox
    When a job writes text behind a mark of its byte order
    Then the job has written just that
