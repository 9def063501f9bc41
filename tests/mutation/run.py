#!/usr/bin/env python3
"""Mutation testing: are the tests red when the code is wrong?

    tests/mutation/run.py [--only WORD]... [--jobs N] [--build DIR] [--list]

Every mutant of mutants.py is put into one copy of the sources, each behind a switch that the
environment turns (VITRUVIAN_MUTANT=17), so the program is compiled once and a mutant costs no more
than the tests that look at it. They run in the order that mutants.py names for the file, until one
is red. A mutant that no test sees is a survivor; the last line counts, and the exit code is 1 when
fewer than 95 % are caught. --only takes a word of a mutant's file or its number. --list prints them,
and fails where one no longer fits the code or no test is named for it.

    tests/mutation/run.py --rows [--only ROW]...

The same for docs/requirements.md: each row of rows.py makes a requirement untrue, and a test case
that the page names for it must be red. All must be; every case that a row names must be red for one
of the row's mutants, and a row that names a case must have one.
"""

import argparse
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
from mutants import MUTANTS, SCRIPTS, TESTS  # noqa: E402
from rows import PROGRAMS, ROWS  # noqa: E402

SWITCH = """#pragma once
#pragma GCC diagnostic ignored "-Wdangling-else"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wconversion"
#include <cstdlib>
#include <string>
namespace mutation {
inline const int active = std::getenv("VITRUVIAN_MUTANT") ? std::atoi(std::getenv("VITRUVIAN_MUTANT")) : 0;
inline bool on(int id) { return active == id; }
inline std::string text(int id, std::string whole, const std::string& from, const std::string& to) {
  const auto at = whole.find(from);
  if (on(id) && at != std::string::npos) whole.replace(at, from.size(), to);
  return whole;
}
}  // namespace mutation
"""


class Mutant:
    """old -> new in a file: a statement where old ends as one, else an expression. Guillemets mark
    the part that changes where that alone is not unique. Or, where old is a tuple (anchor, from), a
    change inside the raw string literal that holds the anchor."""

    def __init__(self, number, file, old, new, row=""):
        self.number, self.file, self.old, self.new, self.row = number, file, old, new, row

    def __str__(self):
        old = self.old if isinstance(self.old, str) else self.old[1]
        return f"{self.number:3} {self.row + ' ' if self.row else ''}{self.file}: {' '.join(old.split())} -> {' '.join(self.new.split()) or '(nothing)'}"


def mutants():
    return [Mutant(i, *entry) for i, entry in enumerate(MUTANTS, 1)]


def rows():
    """A mutant for each row: 1001 and up."""
    return [Mutant(i, file, old, new, row) for i, (row, file, old, new) in enumerate(ROWS, 1001)]


def cases_of_rows(where):
    """The cases that docs/requirements.md names, as commands: {row: {case: command}}."""
    rows_of_page = {}
    for line in (ROOT / "docs" / "requirements.md").read_text().splitlines():
        if not re.match(r"\| ([0-4]-|B|C)\d+ \|", line):
            continue
        _, row, _, _, held, *_ = (cell.strip() for cell in line.split("|"))
        cases = rows_of_page.setdefault(row, {})
        for file, case in re.findall(r"`([^`]+?): ([^`]+)`", held):
            if file not in PROGRAMS:
                continue  # words of a lesson: tests/project/requirements_test.py reads them
            if PROGRAMS[file] in SCRIPTS:
                cases[f"{file}: {case}"] = ("ctest", "--no-tests=error", "-R", f"^{PROGRAMS[file]}$")
            else:
                escaped = case.replace(",", "\\,")
                cases[f"{file}: {case}"] = (where / "bin" / PROGRAMS[file], f"--test-case={escaped}*")
    return rows_of_page


def check_whole(m, code):
    """A piece of an expression, as "a, b" of a call or "if (a) {", is another program behind a switch, or none."""
    if code.rstrip().endswith((";", "}")):
        return  # statements
    depth, commas = 0, 0
    for c in re.sub(r"'\\?.'|\"(?:\\.|[^\"])*\"", "", code):
        depth += (c in "([{") - (c in ")]}")
        commas += c == "," and depth == 0
    if depth or commas or code.endswith("?") or code.startswith("if "):
        sys.exit(f"{m}: '{code}' is no whole expression")


def place_of(m, text):
    """Where in `text` the code is that m changes: (begin, end)."""
    whole = m.old[0] if isinstance(m.old, tuple) else m.old.replace("«", "").replace("»", "")
    if text.count(whole) != 1:
        sys.exit(f"{m}: {text.count(whole)} places, not one")
    at = text.index(whole)
    if isinstance(m.old, tuple):
        begin = text.rindex('R"(', 0, at + 3)
        return begin, text.index(')"', begin) + 2
    if text.rfind('R"(', 0, at) > text.rfind(')"', 0, at):
        sys.exit(f"{m}: inside a literal, where a switch is text")
    begin, end = (m.old.index("«"), m.old.index("»") - 1) if "«" in m.old else (0, len(whole))
    for code in whole[begin:end], m.new:
        check_whole(m, code)
    return at + begin, at + end


def switched(code, group, is_statement):
    """`code` behind the switches of all mutants that change it."""
    for m in group:
        if isinstance(m.old, tuple):
            code = f'::mutation::text({m.number}, {code}, R"__({m.old[1]})__", R"__({m.new})__")'
        elif is_statement:
            code = f"if (::mutation::on({m.number})) {{ {m.new} }} else {{ {code} }}"
        else:
            code = f"(::mutation::on({m.number}) ? ({m.new}) : ({code}))"
    return code


def rendered(text, begin, end, groups):
    """text[begin:end] with the switches of the groups inside; one place may hold another."""
    result, at = "", begin
    inside = sorted((place for place in groups if begin <= place[0] and place[1] <= end), key=lambda p: (p[0], -p[1]))
    for place in inside:
        if place[0] < at:
            if place[1] > at:
                sys.exit(f"two mutants overlap: {groups[place][0]}")
            continue  # inside the one before
        rest = {p: g for p, g in groups.items() if p != place}
        code = rendered(text, *place, rest)
        result += text[at : place[0]] + switched(code, groups[place], text[: place[1]].rstrip().endswith(";"))
        at = place[1]
    return result + text[at:end]


def plant(source, every):
    """The sources in `source`, with all mutants; files that stay the same keep their time."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True)
    by_file = {}
    for m in every:
        by_file.setdefault(m.file, []).append(m)
    fragments = [f'#include "vitruvian/{name}"'.encode() for name in by_file if name.endswith(".inl")]
    for name in listed.stdout.splitlines():
        origin, copy = ROOT / name, source / name
        if not origin.is_file():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        data = origin.read_bytes()
        if name in by_file:
            text = data.decode()
            groups = {}
            for m in by_file[name]:
                groups.setdefault(place_of(m, text), []).append(m)
            text = rendered(text, 0, len(text), groups)
            data = text.encode()
        # A fragment is included inside a namespace: the switch stands before whatever includes it.
        if name in by_file and not name.endswith(".inl") or any(fragment in data for fragment in fragments):
            data = b'#include "mutation.hpp"\n' + data
        if not copy.exists() or copy.read_bytes() != data:
            copy.write_bytes(data)
            shutil.copymode(origin, copy)
    header = source / "mutation.hpp"
    if not header.exists() or header.read_text() != SWITCH:
        header.write_text(SWITCH)


def programs_of(tests):
    """What must be built for these tests: a script runs the command line's program."""
    scripts = {"vitruvian", "vitruvian_double", "gradcheck"} if any(test in SCRIPTS for test in tests) else set()
    return sorted(scripts | {f"test_{test}" for test in tests if test not in SCRIPTS})


def build(source, where, every, programs, jobs):
    plant(source, every)
    if not (where / "build.ninja").exists():
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        subprocess.run(
            ["cmake", "-G", "Ninja", "-S", source, "-B", where, "-DCMAKE_BUILD_TYPE=Release",
             "-DVITRUVIAN_UNITY=OFF", "-DVITRUVIAN_BUILD_BENCH=OFF", "-DVITRUVIAN_BUILD_LESSONS=OFF",
             *launcher], check=True)
    subprocess.run(["cmake", "--build", where, "-j", str(jobs), "--target", *programs], check=True)


def tests_of(file):
    prefix = max((prefix for prefix, _ in TESTS if file.startswith(prefix)), key=len, default=None)
    return dict(TESTS)[prefix] if prefix else sys.exit(f"mutants.py names no tests for {file}")


def fails(command, where, number):
    try:
        run = subprocess.run(command, cwd=where, env={**os.environ, "VITRUVIAN_MUTANT": str(number)},
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900)
    except subprocess.TimeoutExpired:
        return True
    return run.returncode not in (0, 77)  # 77: skipped


def is_red(where, test, number):
    if test in SCRIPTS:
        return fails(["ctest", "--no-tests=error", "-R", f"^{test}$", "--timeout", "600"], where, number)
    return fails([where / "bin" / f"test_{test}", "--abort-after=1"], where, number)


def check_rows(chosen, where, pool):
    cases = cases_of_rows(where)
    for m in chosen:
        if not cases.get(m.row):
            sys.exit(f"{m}: docs/requirements.md names no case for it")

    @functools.cache
    def is_sound(command):
        return not fails(command, where, 0)

    def judge(m):
        named = cases[m.row]
        sound = all(is_sound(command) for command in named.values())
        return m, sound, [case for case, command in named.items() if fails(command, where, m.number)]

    bad = 0
    blind = {(m.row, case) for m in chosen for case in cases[m.row]}
    for m, sound, red in pool.map(judge, chosen):
        print(f"{'red' if red and sound else 'GREEN' if sound else 'red without the mutant':24} {m}", flush=True)
        bad += not (red and sound)
        blind -= {(m.row, case) for case in red}
    for row, case in sorted(blind):
        print(f"row {row}: no mutant turns it red: {case}")
    without = sorted(row for row, named in cases.items() if named and row not in {m.row for m in rows()})
    for row in without:
        print(f"row {row}: rows.py has no mutant")
    print(f"\n{len(chosen) - bad} of {len(chosen)} mutants of {len({m.row for m in chosen})} rows are red")
    return 1 if bad or blind or without else 0


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--build", type=pathlib.Path, default=ROOT / "build-mutation")
    options.add_argument("--list", action="store_true")
    options.add_argument("--rows", action="store_true")
    given = options.parse_args()
    every = mutants() + rows()
    chosen = [m for m in every if bool(m.row) == given.rows
              and (not given.only or any(word in (str(m.number), m.row) or (not word.isdigit() and word in m.file)
                                         for word in given.only))]
    if given.list:
        for m in chosen:
            place_of(m, (ROOT / m.file).read_text())
            if not m.row:
                tests_of(m.file)
            print(m)
        return 0
    where = given.build.resolve()
    where.mkdir(parents=True, exist_ok=True)
    needed = [] if given.rows else sorted({test for m in chosen for test in tests_of(m.file)})
    programs = sorted(set(PROGRAMS.values()) - SCRIPTS | set(programs_of(["cli"]))) if given.rows else programs_of(needed)
    build(where, where / "build", every, programs, given.jobs)

    if given.rows:
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            return check_rows(chosen, where / "build", pool)
    print(f"{len(chosen)} mutants, {len(needed)} tests; first without a mutant", flush=True)
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        red = [t for t, bad in zip(needed, pool.map(lambda t: is_red(where / "build", t, 0), needed)) if bad]
        if red:
            sys.exit(f"red without any mutant: {', '.join(red)}")

        def judge(m):
            begin = time.monotonic()
            for test in tests_of(m.file):
                if is_red(where / "build", test, m.number):
                    return m, test, time.monotonic() - begin
            return m, None, time.monotonic() - begin

        survivors = []
        for m, test, seconds in pool.map(judge, chosen):
            print(f"{'caught by ' + test if test else 'SURVIVED':32} {seconds:4.0f} s  {m}", flush=True)
            if not test:
                survivors.append(m)
    caught = len(chosen) - len(survivors)
    print(f"\n{caught} of {len(chosen)} caught, {100 * caught / max(1, len(chosen)):.1f} %")
    for m in survivors:
        print(f"survived: {m}")
    return 0 if caught >= 0.95 * len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
