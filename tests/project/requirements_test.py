#!/usr/bin/env python3
"""Reads docs/requirements.md: every row of sections A, B and C is there once, its place exists or is a
lesson or quoted, and the test that it names exists, or the words stand in the lesson that it names;
what belongs to a lesson has one, and the lessons' pages name the same rows. Then damages copies of the
page, and sees each refused. Usage: requirements_test.py ROOT"""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(sys.argv[1])
SECTIONS = {"0-": 11, "1-": 30, "2-": 12, "3-": 8, "4-": 26, "B": 33, "C": 11}
IDS = {f"{prefix}{i}" for prefix, last in SECTIONS.items() for i in range(1, last + 1)}

# Rows of section A that are a lesson's text, or are quoted in one; every row of B is in some lesson.
TEXTS = set("0-2 0-3 1-1 1-3 1-5 1-6 1-11 1-17 1-22 1-23 1-29 1-30 2-1 2-2 2-3 3-2 3-7 4-1 4-3 4-4 4-5 "
            "4-8 4-16 4-19".split())

# What a test or a lesson holds, with adjacent literals joined.
HELD = {path.name: re.sub(r"TEST_CASE\(\s*", "TEST_CASE(", re.sub(r'"\s+"', "", path.read_text()))
        for pattern in ("tests/**/*_test.*", "lessons/course/*.cpp")
        for path in ROOT.glob(pattern)}

# (lesson, row) for each row that a comment at the end of a lesson's page names.
ON_PAGES = {(path.stem, row)
            for path in ROOT.glob("docs/lessons/[a-z]*.md")
            for rows in re.findall(r"^<!-- Rows of .* that stand here: (.*)\. -->$", path.read_text(), re.M)
            for row in rows.split(", ")}


def rows_of(page):
    """The cells of each row: its number, what it says, where it lives, what holds it, its lessons."""
    return [[cell.strip() for cell in line.split("|")[1:6]]
            for line in page.splitlines() if re.match(r"\| ([0-4]-|B|C)\d+ \|", line)]


def problems_of(page):
    rows = rows_of(page)
    count = Counter(row[0] for row in rows)
    yield from (f"no row {row}" for row in IDS - count.keys())
    yield from (f"a row too many: {row}" for row, n in count.items() if n > 1 or row not in IDS)
    for row, _, where, held, lessons in rows:
        of_a_lesson = re.search(r"(^|[ ,])lesson", where)
        if not lessons and (row[0] == "B" or row in TEXTS or of_a_lesson):
            yield f"row {row}: no lesson has it"
        files = re.findall("`([^`]+)`", where)
        for file in files:
            if not (ROOT / file).is_file():
                yield f"row {row}: there is no file {file}"
        if not (files or of_a_lesson or re.search(r"(^|[ ,])quoted: [A-Za-z]", where)):
            yield f"row {row}: it lives nowhere"
        tests = re.findall("`([^`]+)`", held)
        if not tests:
            yield f"row {row}: no test holds it"
        for test in tests:
            file, _, words = test.partition(": ")
            case = f'TEST_CASE("{words}' if file.endswith("_test.cpp") else words
            if file not in HELD:
                yield f"row {row}: there is no test or lesson {file}"
            elif not words or case not in HELD[file]:
                yield f"row {row}: {file} has no '{words}'"
    told = {(lesson, row[0]) for row in rows if row[0][0] != "C"
            for lesson in row[4].replace(" ", "").split(",") if lesson}
    yield from (f"row {row}: the page of lesson {n} does not name it" for n, row in told - ON_PAGES)
    yield from (f"row {row}: lesson {n} names it, and its line does not say so"
                for n, row in ON_PAGES - told)


page = (ROOT / "docs/requirements.md").read_text()
problems = list(problems_of(page))
if problems:
    sys.exit("\n".join(problems))

# A row, what is changed in it, and what must be said of it.
for row, old, new, problem in [
        ("2-12", ".*\n", "", "no row 2-12"),
        ("B33", r"\| B33 ", "| B34 ", "no row B33"),
        ("C1", r"(.*\n)", r"\1\1", "too many: C1"),
        ("0-5", "model.cpp", "modell.cpp", "row 0-5: there is no file vit/modell.cpp"),
        ("C2", "the names are timm", "the names are Tim", "row C2: vit_test.cpp has no"),
        ("C2", "vit_test", "wit_test", "row C2: there is no test or lesson wit_test.cpp"),
        ("1-1", r"\| lesson", "| somewhere", "row 1-1: it lives nowhere"),
        ("1-3", r"\| [a-z_]+ \|$", "|", "row 1-3: no lesson has it"),
        ("B2", r"\| [a-z_]+ \|$", "|", "row B2: no lesson has it"),
        ("2-5", r"\| self_attention \|$", "| tape |", "row 2-5: the page of lesson tape does not name it"),
        ("2-5", r"\| self_attention \|$", "| |", "row 2-5: lesson self_attention names it"),
        ("0-5", "`vit_test[^`]*`", "", "row 0-5: no test holds it"),
        ("C9", "`masked_test[^|]*`", "", "row C9: no test holds it"),
        ("1-23", "98.13", "98.31", "row 1-23: where_to_read_on.cpp has no")]:
    line = re.search(rf"^\| {row} \|.*\n", page, re.M)[0]
    damaged = page.replace(line, re.sub(old, new, line, count=1, flags=re.M))
    if damaged == page or not any(problem in said for said in problems_of(damaged)):
        sys.exit(f"row {row} with '{new}' for '{old}' is not refused with '{problem}'")
print(f"{len(rows_of(page))} rows: each has its place and what holds it")
