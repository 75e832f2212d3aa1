Feature: ENC: characters arrive whole, and bytes as they are
  However output is cut on its way, what comes out is what went in. All of it is made inside the sandbox, so that damage in both directions cannot hide.

  @id:ENC-001 @must @since:0.1 @profile:core @mutant:decodes-each-piece @mutant:output-as-text
  Scenario: A character whose bytes come one after the other arrives whole
    Text was put together from pieces that had been decoded apart, so a character in two pieces was damaged (https://github.com/anomalyco/opencode/pull/15387).
    Given an open sandbox
    When a command writes characters of one to four bytes, byte by byte
    Then standard output is all that was printed

  @id:ENC-002 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart @mutant:decodes-each-piece-of-errors @mutant:output-as-text
  Scenario: A character whose bytes come one after the other arrives whole as an error, too
    One way of output decoded rightly, and another one did not (https://github.com/NousResearch/hermes-agent/pull/72324).
    Given an open sandbox
    When a command writes characters of one to four bytes, byte by byte, as an error
    Then standard error is all that was printed
    And standard output is empty

  @id:ENC-003 @must @since:0.1 @profile:core @mutant:decodes-blocks-of-4096 @mutant:output-as-text
  Scenario Outline: What lies across the border of two blocks arrives whole
    A reader decoded every buffer on its own, and damaged what lay across its border (https://github.com/Eynzof/Hermes-CN-Desktop/issues/71).
    Given an open sandbox
    When a command writes <something> across the borders of blocks
    Then standard output is all that was printed

    Examples:
      | something  |
      | characters |
    @needs:stream_bytes=exact
    Examples:
      | something                  |
      | bytes that are not UTF-8   |

  @id:ENC-004 @must @since:0.1 @profile:core @needs:stream_bytes=exact @mutant:guesses-the-encoding @mutant:output-as-text
  Scenario Outline: Text in another encoding than UTF-8 arrives byte for byte
    Damage by a lossy conversion cannot be undone later (https://github.com/Eynzof/Hermes-CN-Desktop/issues/71).
    Given an open sandbox
    When a command writes <text>
    Then standard output is all that was printed

    Examples:
      | text                                |
      | text in Latin-1                     |
      | text in Shift JIS                   |
      | text in UTF-16 with its byte order  |
      | half a character at its end         |
      | what only looks like UTF-8          |
      | letters and accents apart           |

  @id:ENC-005 @must @since:0.1 @profile:core @needs:streams_apart,streams=apart,stream_bytes=exact @mutant:errors-as-text @mutant:output-as-text @mutant:errors-are-composed
  Scenario Outline: Text in another encoding arrives byte for byte as an error, too
    What a reader of one stream did right, that of the other did not (https://github.com/NousResearch/hermes-agent/pull/72324).
    Given an open sandbox
    When a command writes <text>, as an error
    Then standard error is all that was printed

    Examples:
      | text                                |
      | text in Latin-1                     |
      | half a character at its end         |
      | words with NUL bytes between them   |
      | text behind a mark of its byte order |
      | letters and accents apart           |

  @id:ENC-006 @must @since:0.1 @profile:core @mutant:cuts-output-at-nul
  Scenario: A NUL byte is output as any other
    A NUL is a character of UTF-8 like others (https://www.rfc-editor.org/rfc/rfc3629).
    Given an open sandbox
    When a command writes words with NUL bytes between them
    Then standard output is all that was printed

  @id:ENC-007 @must @since:0.1 @profile:core @mutant:strips-control-sequences @mutant:carries-out-carriage-returns @mutant:output-in-lines-of-unicode
  Scenario Outline: Control characters arrive as they were written
    What a terminal would do with output is the caller's business (https://pubs.opengroup.org/onlinepubs/9799919799/functions/write.html).
    Given an open sandbox
    When a command writes <control characters>
    Then standard output is all that was printed

    Examples:
      | control characters                 |
      | colours and movements of a cursor  |
      | a line that is written three times over |
      | bells, backspaces and deletes      |
      | ends of lines of other systems     |

  @id:ENC-008 @must @since:0.1 @profile:core @mutant:drops-the-byte-order-mark
  Scenario: A mark of the byte order at the beginning is kept
    In a protocol that always says what is text, the mark is data (https://www.rfc-editor.org/rfc/rfc3629#section-6).
    Given an open sandbox
    When a command writes text behind a mark of its byte order
    Then standard output is all that was printed

  @id:ENC-009 @must @since:0.1 @profile:core @mutant:takes-output-for-messages @mutant:takes-output-for-its-own-mark
  Scenario Outline: Output that looks like the backend's own words is output
    A word in a command's output was taken for the backend's own mark (https://github.com/NousResearch/hermes-agent/issues/3587).
    Given an open sandbox
    When a command writes <words>
    Then standard output is all that was printed
    And the outcome is exited with code 0
    And the sandbox still runs commands

    Examples:
      | words                             |
      | lines that look like messages     |
      | lines that look like marks        |

  @id:ENC-010 @must @since:0.1 @profile:core @needs:stream_bytes=text @mutant:replaces-nothing
  Scenario Outline: Where output is text, each broken sequence is replaced, and nothing else
    Each longest part of a sequence that could have gone on becomes one U+FFFD, as every decoder of the web does it (https://encoding.spec.whatwg.org/#utf-8-decoder).
    Given an open sandbox
    When a command writes <text>
    Then standard output is all that was printed, with what is not UTF-8 replaced

    Examples:
      | text                                |
      | text in Latin-1                     |
      | half a character at its end         |
      | what only looks like UTF-8          |
