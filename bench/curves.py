#!/usr/bin/env python3
"""Draws how a training step's time and memory grow: five SVG figures, and a Markdown table.

Each sweep changes one thing of bench_train's cifar shape (batch 64, 65 tokens, D 128, L 6).
"""

import argparse
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#767676"  # told apart by colour-blind eyes (Okabe, Ito)
BATCH, PATCH = 64, 4


class Sweep(NamedTuple):
    name: str  # of the file
    label: str  # of the axis; what stands before the bracket is in the title too
    option: str  # of bench_train
    values: list
    time_slope: int  # the exponent that counting multiply-adds promises
    memory_slope: int  # and that keeping every activation would
    shown: object = staticmethod(lambda value: value)  # the option's value on the axis


def powers_of_two(most):
    """1, 2, 4, ... and `most` itself."""
    return sorted({2**i for i in range(most.bit_length())} | {most})


def sweeps(threads):
    return [
        Sweep("batch", "batch size (images)", "--batch", [8, 16, 32, 64, 128, 256], 1, 1),
        Sweep("tokens", "number of tokens T", "--image-size", [8, 16, 24, 32, 48, 64], 1, 1,
              lambda side: (side // PATCH) ** 2 + 1),
        Sweep("width", "width D (M = 4 D, heads of 32)", "--width", [32, 64, 128, 256, 512], 2, 1),
        Sweep("depth", "depth L (blocks)", "--depth", [1, 2, 4, 6, 8, 16], 1, 1),
        Sweep("threads", "number of threads", "--threads", powers_of_two(threads), -1, 1),
    ]


class Point(NamedTuple):
    x: int
    milliseconds: float
    megabytes: float
    images: float
    gflops: float
    share: float


# --- measuring

def measure(program, sweep, value, seconds):
    command = [program, "--shape", "cifar", "--seconds", f"{seconds:g}", "--batch", str(BATCH)]
    batch = BATCH
    if sweep.option == "--batch":
        batch = value
        command = command[:-2]
    command += [sweep.option, str(value)]
    print(f"curves.py: {sweep.option} {value}", file=sys.stderr)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"curves.py: {' '.join(command)}: {done.stderr.strip() or 'it failed'}")

    def number(pattern):
        found = re.search(pattern, done.stdout)
        if not found:
            sys.exit(f"curves.py: not a measurement: {done.stdout.strip()!r}")
        return float(found[1])

    images = number(r"([\d.]+) img/s")
    # No peak seen means less than is printed, and a logarithm takes no 0.
    megabytes = max(0.1, number(r"peak memory (-?[\d.]+) MB"))
    return Point(sweep.shown(value), 1000 * batch / images, megabytes, images,
                 number(r"([\d.]+) GFLOP/s"), number(r"([\d.]+) of the product"))


# --- drawing: two logarithmic panels side by side

WIDTH, HEIGHT = 760, 320
PANEL = 270, 200  # width and height of the plotting area
TOP = 62


def text(x, y, words, size=12, anchor="middle", fill="#222222", more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{fill}"{more}>{words}</text>')


def line(x1, y1, x2, y2, stroke, more=""):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{stroke}"{more}/>')


def ticks(low, high):
    """Round numbers, 1, 2 and 5 times a power of ten, or the powers alone where those are many."""
    powers = [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    steps = (1, 2, 5) if high / low < 1000 else (1,)
    return [s * p for p in powers for s in steps if low <= s * p <= high]


def panel(left, title, sweep, xs, ys, slope, colour):
    width, height = PANEL
    x_low, x_high = min(xs) / 1.15, max(xs) * 1.15
    # At least a factor of ten, so that what hardly grows looks flat.
    middle = math.sqrt(min(ys) * max(ys))
    reach = max(max(ys) / middle * 1.3, math.sqrt(10))
    y_low, y_high = middle / reach, middle * reach

    def at(x, y):
        return (left + width * math.log(x / x_low) / math.log(x_high / x_low),
                TOP + height * math.log(y_high / y) / math.log(y_high / y_low))

    bottom = TOP + height
    out = [text(left, TOP - 12, title, 13, "start", more=' font-weight="bold"')]
    for y in ticks(y_low, y_high):
        _, row = at(x_low, y)
        out.append(line(left, row, left + width, row, "#e4e4e4"))
        out.append(text(left - 7, row + 4, f"{y:g}", 11, "end"))
    for x in xs:
        column, _ = at(x, y_low)
        out += [line(column, bottom, column, bottom + 4, GREY), text(column, bottom + 17, x, 11)]
    area = f'<rect x="{left}" y="{TOP}" width="{width}" height="{height}"'
    out.append(f'{area} fill="none" stroke="{GREY}"/>')
    out.append(text(left + width / 2, bottom + 38, sweep.label))

    # The reference passes through the last point, where what is constant matters least; that of the
    # threads starts from one.
    x0, y0 = (xs[0], ys[0]) if sweep.name == "threads" else (xs[-1], ys[-1])
    (x1, y1), (x2, y2) = (at(x, y0 * (x / x0) ** slope) for x in (x_low, x_high))
    out.append(line(x1, y1, x2, y2, GREY, f' stroke-dasharray="6 4" clip-path="url(#at{left})"'))
    out.append(f'<clipPath id="at{left}">{area}/></clipPath>')
    legend = TOP + 18 if slope > 0 else bottom - 12  # the corner that the points leave free
    out += [line(left + 10, legend - 4, left + 34, legend - 4, GREY, ' stroke-dasharray="6 4"'),
            text(left + 40, legend, f"slope {slope}".replace("-", "&#8722;"), 11, "start", GREY)]

    points = [at(x, y) for x, y in zip(xs, ys)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
    return out


def figure(sweep, points):
    xs = [p.x for p in points]
    title = f"A training step against the {sweep.label.split(' (')[0]}"
    times, memory = [p.milliseconds for p in points], [p.megabytes for p in points]
    body = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        text(58, 24, title, 15, "start"),
        *panel(58, "time, ms a step", sweep, xs, times, sweep.time_slope, BLUE),
        *panel(438, "peak memory, MB", sweep, xs, memory, sweep.memory_slope, ORANGE),
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img">',
        f"<title>{title}: time and peak memory, both axes logarithmic</title>",
        *body, "</svg>", ""])


def write(path, content):
    part = path.with_name(path.name + ".part")
    part.write_text(content, encoding="utf-8")
    part.replace(path)


def positive(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError
    return value


def main():
    program = Path(__file__).resolve().parent.parent / "build/bin/bench_train"
    parser = argparse.ArgumentParser(description="draws how a training step grows")
    parser.print_usage = lambda file: None  # an error is one line
    parser.add_argument("folder", type=Path, help="of the SVG files, docs/figures for instance")
    parser.add_argument("--seconds", type=positive, default=2, help="a point takes (default: 2)")
    parser.add_argument("--program", default=str(program), help="default: build/bin/bench_train")
    options = parser.parse_args()
    if not os.access(options.program, os.X_OK):
        sys.exit(f"curves.py: there is no program {options.program}; "
                 "cmake --build build --target bench_train makes it")

    # Everything is measured before the first file changes.
    results = [(s, [measure(options.program, s, v, options.seconds) for v in s.values])
               for s in sweeps(len(os.sched_getaffinity(0)))]
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        for sweep, points in results:
            write(options.folder / f"step-{sweep.name}.svg", figure(sweep, points))
    except OSError as error:
        sys.exit(f"curves.py: {error.filename}: {error.strerror}")

    print("| changed | value | ms a step | img/s | GFLOP/s | of the product | peak memory, MB |")
    print("|---|---|---|---|---|---|---|")
    for sweep, points in results:
        for p in points:
            print(f"| {sweep.label} | {p.x} | {p.milliseconds:.1f} | {p.images:,.1f} "
                  f"| {p.gflops:.1f} | {p.share:.2f} | {p.megabytes:.1f} |")


if __name__ == "__main__":
    main()
