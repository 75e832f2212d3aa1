#!/usr/bin/env python3
"""Records what python-dotenv reads from many texts, as the table that the tests of this folder compare with.

    pip install python-dotenv==1.2.4
    python record.py > recorded.jsonl

Each line is an object: the text, whether its letters are the bytes of a file that is no UTF-8 (Hermes reads such a file as
Latin-1), and the values. The only variable of the process is PROCESS. The texts are those below and others made of the
pieces below, always the same ones.
"""

import json
import os
import random
import tempfile

from dotenv import dotenv_values

CHOSEN = [
    "TERMINAL_ENV=docker", "TERMINAL_ENV=docker\n", "TERMINAL_ENV=docker\r", "TERMINAL_ENV=docker\r\n",
    "A=1\rTERMINAL_ENV=docker\r", "A=1\r\rTERMINAL_ENV=docker\r\n", "export TERMINAL_ENV=docker", "export\tTERMINAL_ENV=docker",
    "export  TERMINAL_ENV = docker ", "set TERMINAL_ENV=docker", "TERMINAL_ENV: docker", "TERMINAL_ENV:=docker", "TERMINAL_ENV",
    "TERMINAL_ENV=", "TERMINAL_ENV= ", "TERMINAL_ENV=\"\"", "TERMINAL_ENV=\"\nTERMINAL_BACKEND=docker\n", "TERMINAL_ENV='docker\n",
    "TERMINAL_ENV=\"docker\" # why", "TERMINAL_ENV=\"docker\" why", "TERMINAL_ENV=docker # why", "TERMINAL_ENV=docker# why",
    "TERMINAL_ENV=#docker", "TERMINAL_ENV= #docker", "TERMINAL_ENV=docker\t# why", "#TERMINAL_ENV=docker", " # TERMINAL_ENV=docker",
    "TERMINAL_ENV=\"doc\\x6ber\"", "TERMINAL_ENV=\\\ndocker", "'TERMINAL_ENV'=docker", "\"TERMINAL_ENV\"=docker", "''=docker",
    "A=\"x\nTERMINAL_ENV=docker\n", "A=\"x\nTERMINAL_ENV=docker\n\"\n", "A=\"x\nTERMINAL_ENV=docker\nB=\"y\"\nC=1", "A='x\ry'",
    "A=\"x\r\ny\"", "A=\"it's\"", "A='it\\'s'", "A='\\n'", "A=\"\\n\\t\\\\\\'\\\"\\$\\`\"", "A='x\\'", "A='x\\\\'", "A=it's", "A=\"\\",
    "TERMINAL_ENV=docker\nTERMINAL_ENV=local", "TERMINAL_ENV=docker\nTERMINAL_ENV", "TERMINAL_ENV=docker\nTERMINAL_ENV=",
    "X=docker\nTERMINAL_ENV=${X}", "TERMINAL_ENV=${PROCESS}", "PROCESS=file\nTERMINAL_ENV='${PROCESS}'", "TERMINAL_ENV=${NOWHERE}",
    "TERMINAL_ENV=${NOWHERE:-docker}", "TERMINAL_ENV=${NOWHERE:docker}", "TERMINAL_ENV=$PROCESS", "A\nTERMINAL_ENV=${A:-x}", "A=${A${B}}",
    "A=${a:b}${PROCESS:-x}", "\ufeffTERMINAL_ENV=docker", "\ufeff\ufeffTERMINAL_ENV=docker", "A=1\n\ufeffTERMINAL_ENV=docker",
    "A=1\u2028TERMINAL_ENV=docker", "\u00a0TERMINAL_ENV=docker", "TERMINAL_ENV=docker\u00a0", "A\u00a0=\u00a0'x'\u00a0# y",
    "=docker", "=", "A==b", "A=b=c", "A.B=c", "A-B = c", "A B=c", "- TERMINAL_ENV=docker", "[terminal]\nTERMINAL_ENV=docker", "export", "export ",
    "export=1", "export\nTERMINAL_ENV=docker", "exportTERMINAL_ENV=docker", "A=1;TERMINAL_ENV=docker", "A=1 TERMINAL_ENV=docker", "", "\n\r\n \t\n",
    "A=b \\\nTERMINAL_ENV=docker", "A=`x`", "TERMINAL_ENV='docker'\"\"", "A='a' 'b'\nB=1", "A #b", "A#b=c", "A= 'x'", "A=x'y'", "A=\"a#b\" #c",
]
LATIN = ["# caf\u00e9\nTERMINAL_ENV=docker\n", "A=\u00e9\u00a0# x\nB=1", "A=\u00e9\u0085TERMINAL_ENV=docker", "\u0085A=\u00ff"]
PIECES = [
    "TERMINAL_ENV", "TERMINAL_ENV=docker", "TERMINAL_ENV", "A", "B", "=", "=", "=", " = ", "\"", "\"", "'", "'", "\\", "\\n", "\n", "\n", "\n", "\r", "\r",
    "\r\n", " #", "#", " ", "\t", "docker", "local", "export ", "${A}", "${A:-x}", "${PROCESS}", "$A", "{", "}", ":", "\u00e9", "\u00a0", "\u2028", "\ufeff",
]


def values(text, encoding):
    with tempfile.NamedTemporaryFile() as file:
        file.write(text.encode(encoding))
        file.flush()
        return dotenv_values(file.name, encoding=encoding)


def main():
    os.environ.clear()
    os.environ["PROCESS"] = "from the process"
    chance = random.Random(5)
    made = {"".join(chance.choices(PIECES, k=chance.randint(3, 16))) for _ in range(1500)}
    for text in [*CHOSEN, *sorted(made)]:
        print(json.dumps({"text": text, "values": values(text, "utf-8")}))
    for text in LATIN:
        print(json.dumps({"text": text, "latin": True, "values": values(text, "latin-1")}))


main()
