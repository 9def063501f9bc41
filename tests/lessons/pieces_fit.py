#!/usr/bin/env python3
"""Reads a lesson with --step at a terminal of 24 rows, and fails where what stands between two waits is longer.

usage: pieces_fit.py PROGRAM
"""
import os
import pty
import re
import select
import sys

WAITS = re.compile(r"\[Enter\] next .*?uit: |press Enter\) ")

child, terminal = pty.fork()
if child == 0:
    os.environ.update(TERM="xterm", NO_COLOR="1")
    os.execvp("sh", ["sh", "-c", 'stty rows 24 cols 80 -echo; exec "$0" --step', sys.argv[1]])

pieces, text = [], b""
while select.select([terminal], [], [], 60)[0]:
    try:
        read = os.read(terminal, 65536)
    except OSError:  # it has ended
        break
    text += read
    while wait := WAITS.search(text.decode(errors="replace")):
        pieces.append(text.decode()[: wait.end()])
        text = text.decode()[wait.end() :].encode()
        os.write(terminal, b"\n")
pieces.append(text.decode())

if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 or len(pieces) < 5:
    sys.exit(f"it did not come to its end: {pieces[-1]}")
for piece in pieces:
    if piece.count("\n") + 1 > 24:
        sys.exit(f"a piece of {piece.count(chr(10)) + 1} lines:\n{piece}")
