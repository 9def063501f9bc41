#!/usr/bin/env python3
"""Draws how a training step's time and memory grow: five SVG figures, and a Markdown table.

Each sweep changes one thing of bench_train's cifar shape (batch 64, 65 tokens, D 128, L 6). Needs
python3-matplotlib."""

import argparse
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

from compare import CORES, OURS, measure, note

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#767676"  # told apart by colour-blind eyes (Okabe, Ito)
BATCH, PATCH = 64, 4

# Name of the file: label of the axis, option of bench_train, its values, and the exponents that
# counting multiply-adds promises of the time, and keeping every activation of the memory.
SWEEPS = {
    "batch": ("batch size (images)", "--batch", [8, 16, 32, 64, 128, 256], 1, 1),
    "tokens": ("number of tokens T", "--image-size", [8, 16, 24, 32, 48, 64], 1, 1),
    "width": ("width D (M = 4 D, heads of 32)", "--width", [32, 64, 128, 256, 512], 2, 1),
    "depth": ("depth L (blocks)", "--depth", [1, 2, 4, 6, 8, 16], 1, 1),
    "threads": ("number of threads", "--threads",
                sorted({2**i for i in range(CORES.bit_length())} | {CORES}), -1, 1),
}


def point(option, value, seconds):
    """What stands on the axis, milliseconds a step, and what bench_train says."""
    note(f"curves.py: {option} {value}")
    batch = value if option == "--batch" else BATCH
    result = measure(OURS, "--shape", "cifar", "--seconds", str(seconds), "--batch", str(batch),
                     *([] if option == "--batch" else [option, str(value)]))
    x = (value // PATCH) ** 2 + 1 if option == "--image-size" else value
    # No peak seen means less than is printed, and a logarithm takes no 0.
    return x, 1000 * batch / result.rate, result._replace(megabytes=max(0.1, result.megabytes))


def panel(axes, title, label, xs, ys, slope, from_first, colour):
    """Both axes logarithmic; dashed the slope that is promised."""
    x0, y0 = (xs[0], ys[0]) if from_first else (xs[-1], ys[-1])
    axes.plot(xs, [y0 * (x / x0) ** slope for x in xs], "--", color=GREY, label=f"slope {slope}")
    axes.plot(xs, ys, "o-", color=colour)
    axes.set(xscale="log", yscale="log", xlabel=label, title=title)
    axes.set_xticks(xs, xs)
    axes.xaxis.set_minor_locator(NullLocator())
    # At least a factor of ten, so that what hardly grows looks flat.
    middle = (min(ys) * max(ys)) ** 0.5
    reach = max(1.3 * max(ys) / middle, 10**0.5)
    axes.set_ylim(middle / reach, middle * reach)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color="#e4e4e4")
    axes.legend(frameon=False)


def draw(path, name, points):
    label, _, _, time_slope, memory_slope = SWEEPS[name]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained")
    figure.suptitle(f"A training step against the {label.split(' (')[0]}")
    xs = [x for x, _, _ in points]
    # What is constant matters least at the last point; threads start from one.
    of_threads = name == "threads"
    times, memory = [ms for _, ms, _ in points], [r.megabytes for _, _, r in points]
    panel(left, "time, ms a step", label, xs, times, time_slope, of_threads, BLUE)
    panel(right, "peak memory, MB", label, xs, memory, memory_slope, of_threads, ORANGE)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description="draws how a training step grows")
    parser.add_argument("folder", type=Path, help="of the SVG files, docs/figures for instance")
    parser.add_argument("--seconds", type=int, default=2, help="a point takes (default: 2)")
    options = parser.parse_args()
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "vitruvian"})
    # Everything is measured before the first file changes.
    results = {name: [point(option, value, options.seconds) for value in values]
               for name, (_, option, values, _, _) in SWEEPS.items()}
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| changed | value | ms a step | img/s | GFLOP/s | of the product | peak memory, MB |")
    print("|---|---|---|---|---|---|---|")
    for name, points in results.items():
        draw(options.folder / f"step-{name}.svg", name, points)
        for x, ms, r in points:
            print(f"| {SWEEPS[name][0]} | {x} | {ms:.1f} | {r.rate:,.1f} | {r.gflops:.1f} "
                  f"| {r.share:.2f} | {r.megabytes:.1f} |")


if __name__ == "__main__":
    main()
