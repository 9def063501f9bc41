#!/usr/bin/env python3
"""Measures what docs/cluster.md promises of several ranks on this machine, each thing beside what it
is compared with, in turns, by medians, and at the highest ordinary priority where that is allowed (as
root, so that little else interrupts): 2 ranks of 1 thread against 1 of 2, memory, lanes, and the
ordered sum against MPI_Allreduce. A quarter of an hour with ViT-B. Prints a Markdown table; its exit
code is 1 where something was not reached. On Linux, with two cores that are free."""

import argparse
import os
import re
import shlex
import subprocess
import sys
from statistics import median

from compare import OURS, in_turns, measure, note

GRADIENTS_OF_VIT_B = 4e-6 * 86_567_656  # megabytes


def allowed_priority():
    # Not a real-time one: from that Linux takes a twentieth (kernel.sched_rt_runtime_us), of each
    # core at a moment of its own, which may cost ranks that wait for one another twice.
    command = ["nice", "-n", "-20"]
    if subprocess.run([*command, "true"], capture_output=True).stderr:
        note("no higher priority here (nice -n -20): other work on this machine is in the figures")
        return []
    try:
        with open("/proc/sys/kernel/sched_autogroup_enabled") as autogroup:
            if autogroup.read().strip() == "1":
                note("kernel.sched_autogroup_enabled: a priority weighs in this session alone")
    except OSError:
        pass
    return command


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="measure every pair so often (7)")
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement (4)")
    parser.add_argument("--mpirun", default=os.environ.get("MPIRUN", "mpirun"),
                        help="what starts ranks, with its options")
    parser.add_argument("--no-vit-b", action="store_true", help="two minutes instead of fifteen")
    options = parser.parse_args()
    if os.geteuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    first = allowed_priority()

    def command(n, *arguments):
        launcher = [] if n == 1 else [*shlex.split(options.mpirun), "-n", str(n)]
        return [*first, *launcher, OURS, "--seconds", str(options.seconds), *arguments]

    def ranks(n, *arguments):
        return lambda: measure(*command(n, *arguments))

    rows, reached = [], True

    def row(what, figure, asked, holds):
        nonlocal reached
        reached = reached and holds
        rows.append(f"| {what} | {figure} | {asked} | {'yes' if holds else '**no**'} |")

    def against(what, asked, rounds, *both):
        """A row for the speed of one as a share of the other's; their results."""
        one, other = in_turns(rounds, both)
        ratios = sorted(a.rate / b.rate for a, b in zip(one, other))
        row(what, f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", f"{asked:.2f}",
            median(ratios) >= asked)
        return one, other

    def two_against_one(what, asked, rounds, *arguments):
        two, one = against(f"{what}: 2 ranks of 1 thread, of the speed of 1 of 2", asked, rounds,
                           ranks(2, "--threads", "1", *arguments),
                           ranks(1, "--threads", "2", *arguments))
        rates = [f"{median(r.rate for r in results):.1f}" for results in (two, one)]
        note(f"{what}: {rates[0]} img/s of 2 ranks, {rates[1]} of 2 threads")

    two_against_one("CIFAR shape, batch 64, 8 lanes", 0.95, options.rounds, "--shape", "cifar")
    two_against_one("the same, 2 lanes", 0.95, options.rounds, "--shape", "cifar", "--lanes", "2")
    for shape in "mnist", "cifar":
        many = ["--shape", shape, "--batch", "512"]
        eight, one = against(f"{shape}, batch 512: 8 lanes, of the speed of 1, one process", 0.98,
                             options.rounds, ranks(1, *many, "--lanes", "8"),
                             ranks(1, *many, "--lanes", "1"))
        more = median(r.megabytes for r in eight) - median(r.megabytes for r in one)
        note(f"{shape}: 8 lanes take {more:.1f} MB more than one")
    if not options.no_vit_b:
        big = ["--shape", "vit-b", "--batch", "8"]
        two_against_one("ViT-B, batch 8, 2 lanes", 0.9, max(options.rounds // 2, 1), *big,
                        "--lanes", "2")
        rank, alone = in_turns(1, [ranks(2, "--threads", "1", *big, "--lanes", "2"),
                                   ranks(1, "--threads", "1", *big, "--lanes", "1")])
        more = rank[0].megabytes - alone[0].megabytes
        row("ViT-B: memory of a step of one of 2 ranks, above that of one process of a thread",
            f"{more:.0f} of {alone[0].megabytes:.0f} MB", f"{GRADIENTS_OF_VIT_B:.0f}: the gradients",
            more <= GRADIENTS_OF_VIT_B)
    note("the sum against MPI_Allreduce")
    sums = subprocess.run(command(2, "--sums"), capture_output=True, text=True)
    if sums.returncode != 0:
        sys.exit(sums.stderr.strip())
    for numbers, ours, theirs in re.findall(
            r"(\d+) numbers: in the lanes' order ([\d.]+) ms, MPI_Allreduce ([\d.]+) ms", sums.stdout):
        row(f"{int(numbers):,} numbers: the sum in the lanes' order, of the time of MPI_Allreduce",
            f"{float(ours) / float(theirs):.2f} ({ours}, {theirs} ms)", "2",
            float(ours) <= 2 * float(theirs))
    print("| what | median (least to largest) | asked | reached |\n|---|---|---|---|")
    print("\n".join(rows))
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
