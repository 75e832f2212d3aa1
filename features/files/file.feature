Feature: FILE: a file holds what was written, byte for byte
  Commands and the file calls see the same files.

  @id:FILE-001 @must @since:0.1 @profile:files @needs:files @mutant:files-as-text @mutant:cuts-files-at-64-kib @mutant:drops-a-byte-behind-full-blocks
  Scenario Outline: What is written is what is read
    Binary files broke when the transport became a pipe of text (https://github.com/UKGovernmentBEIS/inspect_ai/pull/130).
    Given an open sandbox
    When a file is written with <content>
    Then reading it gives the same bytes

    Examples:
      | content                  |
      | nothing                  |
      | text without a newline   |
      | every byte value         |
      | blank lines only         |
      | a megabyte               |
      | 1 bytes                  |
      | 4097 bytes               |
      | 65535 bytes              |
      | 65536 bytes              |
      | 65537 bytes              |
      | 1048577 bytes            |

  @id:FILE-002 @must @since:0.1 @profile:files @needs:files @mutant:files-live-elsewhere @mutant:files-as-text
  Scenario: Commands see what was written
    Calls in the background and in the foreground saw two different file systems (https://github.com/NousResearch/hermes-agent/issues/20127).
    Given an open sandbox
    When a file is written with every byte value
    Then a command that prints the file prints the same bytes

  @id:FILE-003 @must @since:0.1 @profile:files @needs:files @mutant:files-live-elsewhere @mutant:reads-from-a-cache
  Scenario: What a command has changed is what is read
    File operations went around the sandbox that commands ran in (https://github.com/NousResearch/hermes-agent/issues/20127).
    Given an open sandbox
    And a file that was written and read
    When a command changes the file to other text
    Then reading it gives the other text

  @id:FILE-004 @must @since:0.1 @profile:files @needs:files @mutant:cleans-up-names
  Scenario Outline: A file's name is taken literally
    The name of a file led a read to write outside of its own folder (https://github.com/UKGovernmentBEIS/inspect_ai/pull/4369).
    Given an open sandbox
    When a file named "<name>" is written
    Then a command finds exactly that name in its directory
    And reading it gives the same bytes

    Examples:
      | name              |
      | with a space.txt  |
      | it's \\"quoted\\"     |
      | $HOME `id`        |
      | two\\nlines        |
      | ends with a line\\n |
      | ends with a blank\\s |
      | -n                |
      | grün-日本.txt     |
      | .hidden           |

  @id:FILE-005 @must @since:0.1 @profile:files @needs:files,missing_parent=create @mutant:refuses-missing-directories
  Scenario: Missing directories are made
    One suite expects missing directories to be made, another takes either answer (https://github.com/langchain-ai/langchain/issues/37905).
    Given an open sandbox
    When a file is written into a directory that is missing
    Then reading it gives the same bytes

  @id:FILE-006 @must @since:0.1 @profile:files @needs:files,overwrite=replace @mutant:overwrites-without-cutting @mutant:writing-nothing-does-nothing
  Scenario Outline: Writing again replaces all of the content
    A suite in wide use expects the new content and nothing of the old (https://github.com/UKGovernmentBEIS/inspect_ai).
    Given an open sandbox
    And a file that was written with 1000 bytes
    When it is written again with <many> bytes
    Then reading it gives the same bytes

    Examples:
      | many |
      | 10   |
      | 0    |

  @id:FILE-007 @must @since:0.1 @profile:files @needs:files,overwrite=replace @mutant:resets-permissions
  Scenario Outline: Writing again keeps the permissions
    An atomic replace reset permissions, and scripts could not be run any more (https://github.com/NousResearch/hermes-agent/pull/10618).
    Given an open sandbox
    And a file that was written with 10 bytes
    And the file has the permissions <mode>
    When it is written again with <bytes> bytes
    Then the file still has the permissions <mode>

    Examples:
      | mode | bytes   |
      | 0755 | 20      |
      | 0664 | 20      |
      | 0600 | 20      |
      | 0755 | 2000000 |

  @id:FILE-008 @must @since:0.1 @profile:files @needs:files @mutant:empty-for-missing @mutant:what-is-missing-is-done @mutant:internal-error-for-everything @mutant:lists-nothing-for-what-is-missing
  Scenario Outline: A file that is not there is named in a typed error
    A suite in wide use asks for a typed error that names the file (https://github.com/UKGovernmentBEIS/inspect_ai).
    Given an open sandbox
    When a file that is not there is <used>
    Then the call is refused because the file is not there
    And the error names the file

    Examples:
      | used                    |
      | read                    |
      | described               |
      | removed                 |
      | moved                   |
      | given other permissions |
      | listed                  |

  @id:FILE-009 @must @since:0.1 @profile:files @needs:files @mutant:internal-error-for-everything
  Scenario Outline: A directory is no file
    A suite in wide use asks for a typed error here, so that it does not look like a broken backend (https://github.com/UKGovernmentBEIS/inspect_ai).
    Given an open sandbox
    When a directory is <used> as a file
    Then the call is refused because it is a directory

    Examples:
      | used    |
      | read    |
      | written |

  @id:FILE-010 @must @since:0.1 @profile:files @needs:files @mutant:ignores-ranges @mutant:reads-parts-as-text @mutant:reads-lengths-in-32-bits @mutant:stumbles-far-beyond-the-end
  Scenario Outline: A part of a file is read by its place and length
    Backends are asked by a standard suite to page through files, at and past the end, too (https://github.com/langchain-ai/langchain/issues/37905).
    Given an open sandbox
    And a file that was written with 1000 bytes
    When <length> bytes from <offset> on are read
    Then these are the bytes from <offset> up to <end>
    And the size of the whole is told as 1000 bytes

    Examples:
      | offset | length | end  |
      | 0      | 10     | 10   |
      | 990    | 10     | 1000 |
      | 995    | 10     | 1000 |
      | 1000   | 10     | 1000 |
      | 5000   | 10     | 5000 |
      | 500    | 0      | 500  |
      | 0      | 1      | 1    |
      | 999    | 1      | 1000 |
      | 0      | 4294967296 | 1000 |
      | 10     | 9007199254740991 | 1000 |
      | 9007199254740991 | 10 | 9007199254740991 |

  @id:FILE-011 @must @since:0.1 @profile:files @needs:files,relative_path=workdir @mutant:relative-to-the-root
  Scenario: A relative path is taken from the directory that commands start in
    The path domain of file tools differed from that of commands (https://github.com/NousResearch/hermes-agent/issues/113894).
    Given an open sandbox
    When a file is written by a relative path
    Then a command finds it in the directory that commands start in

  @id:FILE-012 @must @since:0.1 @profile:files @needs:files,overwrite=replace @mutant:writes-in-two-steps
  Scenario: Nobody sees a file that is half written
    A reader saw half of a file that was being rewritten, and its search path was corrupted for good (https://github.com/NousResearch/hermes-agent/issues/38249).
    Given an open sandbox
    And a file that was written with 30000 bytes
    When it is written again and again while a command reads it
    Then the command has seen only whole files

  @id:FILE-013 @must @since:0.1 @profile:files @needs:files @mutant:new-files-are-private
  Scenario: A new file has the permissions of one that a command makes
    A file that was written through a temporary one could be read by nobody else (https://github.com/NousResearch/hermes-agent/pull/10618).
    Given an open sandbox
    When a file is written with nothing
    Then the file has the permissions of one that a command makes

  @id:FILE-014 @must @since:0.1 @profile:files @needs:files,missing_parent=create @mutant:new-directories-are-private @mutant:refuses-missing-directories
  Scenario: Directories that were missing have the permissions of those that a command makes
    Directories got permissions that nobody had asked for, and what lay in them was refused (https://github.com/NousResearch/hermes-agent/issues/17767).
    Given an open sandbox
    When a file is written into a directory that is missing
    Then the file lies in directories as a command makes them

  @id:FILE-015 @must @since:0.1 @profile:files @needs:files,overwrite=replace @mutant:replaces-links @mutant:replaces-links-that-lead-to-nothing @mutant:files-live-elsewhere
  Scenario Outline: Writing through a link changes the file that it leads to
    A rename puts a new file in the place of a link, and what the link led to stays as it was (https://pubs.opengroup.org/onlinepubs/9799919799/functions/rename.html).
    Given an open sandbox
    When a file is written through <a link>
    Then the file is found where the link leads to, and the link is one
    And reading it gives the same bytes

    Examples:
      | a link                          |
      | a link                          |
      | a link that leads to nothing yet |
      | a link to another link          |

  @id:FILE-016 @must @since:0.1 @profile:files @needs:files @mutant:cleans-up-paths
  Scenario: The path of a file is followed as commands follow it
    A path is followed part by part, and what it means cannot be read off its words (https://man7.org/linux/man-pages/man7/path_resolution.7.html).
    Given an open sandbox
    When a file is written above the directory that a link leads to
    Then a command that prints the file prints the same bytes

  @id:FILE-017 @must @since:0.1 @profile:files @needs:files @mutant:lists-a-thousand-files @mutant:lists-no-hidden-files @mutant:lists-text-only @mutant:lists-in-no-order @mutant:lists-links-as-what-they-lead-to @mutant:empty-directories-are-missing
  Scenario Outline: A list has everything that is in the directory
    A list that is given page by page ends with the first one for whoever knows of no other (https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api).
    Given an open sandbox
    When a directory with <content> in it is listed
    Then each thing in it is told once, as what it is, in the order of the bytes of its name

    Examples:
      | content                 |
      | nothing                 |
      | 2500 files              |
      | something of every kind |

  @id:FILE-018 @must @since:0.1 @profile:files @needs:files @mutant:removes-what-links-lead-to
  Scenario Outline: What a link leads to stays when the link is removed
    Removing a directory with all that is in it takes its links, and nothing that they lead to (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/rm.html).
    Given an open sandbox
    When a directory that <kind> is removed with all that is in it
    Then a command finds that it is gone, and the other one as it was

    Examples:
      | kind                       |
      | is a link to another one   |
      | holds links to another one |

  @id:FILE-019 @must @since:0.1 @profile:files @needs:files @mutant:sizes-in-32-bits @mutant:sizes-end-at-2-gib @mutant:lists-sizes-in-32-bits
  Scenario: The size of a large file is told as it is
    A size that a number cannot hold is an error of its own (https://man7.org/linux/man-pages/man2/stat.2.html), or is told as another one.
    Given an open sandbox
    When a directory with files of up to 5 GiB in it is listed
    Then each is told with its size

  @id:FILE-020 @must @since:0.1 @profile:files @needs:files @mutant:reads-at-places-in-32-bits @mutant:reads-sizes-in-32-bits
  Scenario Outline: What stands far behind in a large file is read by its place
    Where a place is kept in 32 bits, reading begins elsewhere (https://man7.org/linux/man-pages/man2/lseek.2.html).
    Given an open sandbox
    When a file is written by a command, behind <much>
    Then reading it gives what was written there

    Examples:
      | much  |
      | 2 GiB |
      | 4 GiB |

  @id:FILE-021 @must @since:0.1 @profile:files @needs:files @mutant:moves-by-copying @mutant:moves-lose-permissions @mutant:moves-over-nothing @mutant:moves-by-removing-first @mutant:a-move-to-its-own-name-removes
  Scenario Outline: A file that is moved is at its new place, as it was, and no longer at its old one
    A rename replaces what has the new name, and changes nothing else of the file (https://pubs.opengroup.org/onlinepubs/9799919799/functions/rename.html).
    Given an open sandbox
    When a file is <moved>
    Then the file is where it was moved to, and nowhere else

    Examples:
      | moved                  |
      | moved to a new name    |
      | moved over another one |
      | moved onto itself      |
      | moved to its own name  |

  @id:FILE-022 @must @since:0.1 @profile:files @needs:files @mutant:removes-full-directories
  Scenario: A directory that is not empty is removed only with all that is in it, when that is asked for
    A clean-up that took the caller's own folder for the sandbox's could not be undone (https://github.com/NousResearch/hermes-agent/pull/44144).
    Given an open sandbox
    When a directory that is not empty is removed by itself
    Then the call is refused because it is a directory
    And a command finds that nothing of it is gone

  @id:FILE-023 @must @since:0.1 @profile:files @needs:files @mutant:describes-what-links-lead-to @mutant:tells-usual-permissions
  Scenario: What a path names is told as what it is
    What a link leads to is another thing than the link (https://man7.org/linux/man-pages/man2/stat.2.html).
    Given an open sandbox
    When a file is described
    Then the file is told as what it is

  @id:FILE-024 @must @since:0.1 @profile:files @needs:files @mutant:forgets-new-permissions @mutant:knows-nine-permissions @mutant:takes-no-permissions-for-the-usual
  Scenario Outline: The permissions that a file is given are those that it has
    A file that was written through a temporary one could be read by nobody else (https://github.com/NousResearch/hermes-agent/pull/10618).
    Given an open sandbox
    When a file is given the permissions <mode>
    Then the file still has the permissions <mode>

    Examples:
      | mode |
      | 0755 |
      | 0600 |
      | 0444 |
      | 4755 |
      | 1777 |
      | 2755 |
      | 7777 |
      | 0000 |

  @id:FILE-025 @must @since:0.1 @profile:files @needs:files @mutant:directories-are-made-once @mutant:makes-directories-anew
  Scenario: A directory that is there is made again without harm
    Whoever makes sure of a directory does not want to know whether somebody was faster (https://man7.org/linux/man-pages/man1/mkdir.1.html).
    Given an open sandbox
    When a directory is made again when there is something in it
    Then reading it gives the same bytes

  @id:FILE-026 @must @since:0.1 @profile:files @needs:files @mutant:reads-as-much-as-it-is-told
  Scenario: A file that does not tell its size is read whole
    Files that the system makes up when they are read say that they are empty (https://man7.org/linux/man-pages/man5/proc.5.html).
    Given an open sandbox
    When a file is printed that does not tell its size
    Then reading it gives the same bytes

  @id:FILE-027 @must @since:0.1 @profile:files @needs:files @mutant:moves-into-directories
  Scenario: A file is not moved to where a directory with something in it is
    A rename gives one thing one name, and puts it nowhere else (https://pubs.opengroup.org/onlinepubs/9799919799/functions/rename.html).
    Given an open sandbox
    When a directory with something in it is where a file is moved to
    Then the call is refused because something is there
    And a command finds that nothing of it is gone

  @id:FILE-028 @must @since:0.1 @profile:files @needs:files @mutant:makes-directories-where-files-are
  Scenario: A directory is not made where a file is
    Whoever makes sure of a directory is told when something else has its name (https://pubs.opengroup.org/onlinepubs/9799919799/functions/mkdir.html).
    Given an open sandbox
    When a directory is made where a file is
    Then the call is refused because a file is there
    And reading it gives the same bytes

  @id:FILE-029 @must @since:0.1 @profile:files @needs:files @mutant:long-names-leave-no-room @mutant:paths-in-1024-bytes
  Scenario Outline: A name or a path may be as long as it may be for commands
    The temporary file that was to become the file had a name that was longer than names may be (https://github.com/npm/write-file-atomic/issues/63).
    Given an open sandbox
    When a file is written under <what is long>
    Then reading it gives the same bytes
    And a command that prints the file prints the same bytes

    Examples:
      | what is long                   |
      | a name of 255 bytes            |
      | a path of more than 3000 bytes |

  @id:FILE-030 @must @since:0.1 @profile:files @needs:files @mutant:lists-files-as-directories @mutant:internal-error-for-everything
  Scenario: A file is no directory
    Whoever walks through a tree tells by this error where it ends (https://man7.org/linux/man-pages/man3/opendir.3.html).
    Given an open sandbox
    When a file is listed as a directory
    Then the call is refused because it is no directory

  @id:FILE-031 @must @since:0.1 @profile:files @needs:files @mutant:moves-directories-into-themselves
  Scenario: A directory is not moved into itself
    A directory that is copied into itself and removed is lost, with all that was in it (https://pubs.opengroup.org/onlinepubs/9799919799/functions/rename.html).
    Given an open sandbox
    When a directory is moved into itself
    Then the call is refused as an invalid argument
    And a command finds that nothing of it is gone

  @id:FILE-032 @must @since:0.1 @profile:files @needs:files @mutant:moves-files-only
  Scenario: A directory is moved with all that is in it
    A rename gives one thing another name, whatever it is (https://pubs.opengroup.org/onlinepubs/9799919799/functions/rename.html).
    Given an open sandbox
    When a directory is moved with all that is in it, and back
    Then a command finds that nothing of it is gone

  @id:FILE-033 @must @since:0.1 @profile:files @needs:files,relative_path=workdir @mutant:only-writes-by-relative-paths
  Scenario Outline: Whatever is done with a file by a relative path is done where commands start
    The path domain of file tools differed from that of commands (https://github.com/NousResearch/hermes-agent/issues/113894).
    Given an open sandbox
    When a file is <used> by a relative path
    Then a command finds that this was done there, and nothing else

    Examples:
      | used                    |
      | read                    |
      | described               |
      | listed                  |
      | moved                   |
      | removed                 |
      | given other permissions |
      | joined by a directory   |

  @id:FILE-034 @must @since:0.1 @profile:files @needs:files @mutant:cuts-paths-at-nul
  Scenario Outline: A path that cannot be is refused, and nothing is written
    NUL bytes failed deep inside a backend, with a raw error of the system (https://github.com/PrimeIntellect-ai/verifiers/pull/2076), or ended what they stood in.
    Given an open sandbox
    When a file is written under a path that cannot be: <which>
    Then the call is refused as an invalid argument
    And the mark is not there

    Examples:
      | which                          |
      | a path with a NUL byte in it   |
      | no path                        |

  @id:FILE-035 @must @since:0.1 @profile:files @needs:files @mutant:a-refused-move-removes-its-target @mutant:a-refused-move-makes-directories
  Scenario Outline: A move of what is not there changes nothing where it would have gone
    If a rename fails, what has the new name stays as it is (https://pubs.opengroup.org/onlinepubs/9799919799/functions/rename.html).
    Given an open sandbox
    When a file that is not there is moved to <where>
    Then the call is refused because the file is not there
    And a command finds that nothing there has changed

    Examples:
      | where                               |
      | where a file is                     |
      | where an empty directory is         |
      | where a link is                     |
      | below a directory that is not there |

  @id:FILE-036 @must @since:0.1 @profile:files @needs:files @mutant:a-refused-write-leaves-its-temporary-file
  Scenario: A write that is refused leaves nothing beside
    The temporary file that was to become the file stayed where the write had failed (https://github.com/chenhg5/cc-connect/pull/912).
    Given an open sandbox
    When a file is written to where a directory is
    Then the call is refused because it is a directory
    And a command finds that nothing there has changed

  @id:FILE-037 @must @since:0.1 @profile:files @needs:files @mutant:moves-what-links-lead-to
  Scenario Outline: A link that is moved leads to the same place from its new one
    If the old name is that of a link, it is the link that is renamed (https://pubs.opengroup.org/onlinepubs/9799919799/functions/rename.html).
    Given an open sandbox
    When a link to <what> is moved
    Then a command finds that it leads where it led, and that nothing else has changed

    Examples:
      | what        |
      | a file      |
      | a directory |
      | nothing     |

  @id:FILE-038 @must @since:0.1 @profile:files @needs:files @mutant:drops-the-byte-order-mark-of-files
  Scenario: A mark of the byte order at the beginning of a file is kept
    In a protocol that always says what is text, the mark is data (https://www.rfc-editor.org/rfc/rfc3629#section-6).
    Given an open sandbox
    When a file is written behind a mark of its byte order
    Then reading it gives the same bytes
    And a command that prints the file prints the same bytes
