#!/usr/bin/env python3
"""Times Vitruvian beside PyTorch, and beside onnxruntime where it is there; or, with --switches,
beside itself with one thing switched off at a time. In turns, so that a busy minute of the machine
hits both, and by medians. PyTorch is as well tuned as this can find, in float32 and under bfloat16
autocast; either is said. Prints a Markdown table, on Linux."""

import argparse
import functools
import glob
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
OURS = os.environ.get("BENCH_TRAIN", str(HERE.parent / "build/bin/bench_train"))
PACKAGES = HERE.parent / "build/bench"  # node_modules, and ViT-B as ONNX
CORES = len(os.sched_getaffinity(0))


class Result(NamedTuple):
    name: str  # as the program said it, "cifar train batch 64"
    rate: float  # images a second
    gflops: float
    share: float  # of the product
    megabytes: float  # None, as those before, where the program does not say


def measure(*command, **environment):
    """Runs a program that prints one line of images a second."""
    environment = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0 or " img/s" not in done.stdout:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")

    def number(pattern):
        found = re.search(pattern, done.stdout)
        return float(found[1]) if found else None

    return Result(done.stdout.split(" threads")[0], number(r"([\d.]+) img/s"),
                  number(r"([\d.]+) GFLOP/s"), number(r"([\d.]+) of the product"),
                  number(r"peak memory (-?[\d.]+) MB"))


def note(text):
    print(text, file=sys.stderr)


def said_by(*command):
    """What a program prints; "" where it fails."""
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


FLAGS = set(Path("/proc/cpuinfo").read_text().split())
# Without the instructions both round by hand: ours is somewhat slower than float32, PyTorch's
# autocast a hundred times as slow.
PRECISIONS = {"float32": [], **({"bfloat16": ["--bfloat16"]} if "avx512_bf16" in FLAGS else {})}


# --- PyTorch's settings

def aspects():
    """What may make PyTorch faster, the likely value of each aspect first."""
    # Debian's OpenBLAS runs threads of its own, which fight PyTorch's; the OpenMP build shares them.
    openmp = glob.glob("/usr/lib/*/openblas-openmp")
    threads = [{"OMP_NUM_THREADS": str(n), **({"LD_LIBRARY_PATH": path} if path else {})}
               for n in (CORES, 1) for path in [*openmp, None]]
    # OpenBLAS misjudges processors newer than itself.
    names = {"avx512vl": "SkylakeX", "avx2": "Haswell", "avx512_bf16": "Cooperlake"}
    kernels = [{"OPENBLAS_CORETYPE": name} for flag, name in names.items() if flag in FLAGS]
    # glibc gives every large activation back to the kernel, and gets it again as pages of zeros.
    keep = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "4000000000",
            "MALLOC_TOP_PAD_": "268435456"}
    vectors = [{"ATEN_CPU_CAPABILITY": "avx512"}] if "avx512vl" in FLAGS else []
    return [threads, kernels + [{}], [keep, {}], [{}] + vectors]


class PyTorch:
    def __init__(self, tries):
        self.tries = tries
        for self.python in (os.environ.get("PYTHON", "python3"), "/usr/bin/python3"):
            if self.version():
                return
        sys.exit("compare.py: PyTorch is missing: apt-get install python3-torch libopenblas0-openmp")

    def version(self):
        return said_by(self.python, "-c", "import torch; print(torch.__version__)")

    def run(self, arguments, setting, seconds):
        # BLAS keeps all its threads: beside one thread of PyTorch they are in nobody's way.
        return measure(self.python, str(HERE / "pytorch_train.py"), "--seconds", str(seconds),
                       *arguments, OPENBLAS_NUM_THREADS=str(CORES), **setting)

    def tuned(self, arguments):
        """The fastest setting found, and the least memory that any took. It goes from aspect to
        aspect, by default twice: other work can only make a run slower, so the better of two runs
        some time apart says more than one. A lucky minute says nothing: the three that were fastest
        then run in turns, and the median decides."""
        every = aspects()
        fastest, memory = {}, []

        def timed(setting):
            result = self.run(arguments, setting, 2)
            note(f"  {result.rate} img/s  {words(setting)}")
            memory.append(result.megabytes)
            return result.rate

        def tried(values):
            setting = {name: value for aspect in values for name, value in aspect.items()}
            key = tuple(sorted(setting.items()))
            fastest[key] = max(fastest.get(key, 0), timed(setting))
            return fastest[key]

        for _ in range(self.tries):
            values = [aspect[0] for aspect in every]
            best = tried(values)
            for i, aspect in enumerate(every):
                for value in aspect[1:]:
                    other = values[:i] + [value] + values[i + 1:]
                    rate = tried(other)
                    if rate > best:
                        values, best = other, rate
        if not fastest:
            return {name: value for aspect in every for name, value in aspect[0].items()}, memory
        last = [dict(key) for key in sorted(fastest, key=fastest.get)[-3:]]
        note("  the fastest three in turns")
        rates = zip(*[[timed(setting) for setting in last] for _ in range(3)])
        return max(zip(map(median, rates), last), key=lambda one: one[0])[1], memory


def words(setting):
    return " ".join(f"{name}={value}" for name, value in setting.items())


# --- the measurements

class Machine:
    """What others took of the processors meanwhile, the machine below this one included."""

    def __init__(self):
        self.before = self.ticks()

    @staticmethod
    def ticks():
        first = [int(x) for x in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        own = sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")
        return sum(first), sum(first) - first[3] - first[4] - own

    def percent_of_others(self):
        now = self.ticks()
        return 100 * (now[1] - self.before[1]) / max(1, now[0] - self.before[0])


def in_turns(rounds, programs):
    """Their results, a list each, round after round."""
    results = [[] for _ in programs]
    for round in range(1, rounds + 1):
        for all_of_one, program in zip(results, programs):
            all_of_one.append(program())
            note(f"round {round} of {rounds}: {all_of_one[-1].name}: {all_of_one[-1].rate} img/s")
    return results


MEASUREMENTS = {"mnist": "--shape mnist --batch 128", "cifar": "--shape cifar --batch 64",
                "cifar-inference": "--shape cifar --batch 256 --inference",
                "vit-b": "--shape vit-b --batch 1 --inference"}


def against_others(options):
    machine, pytorch, settings, lines = Machine(), PyTorch(options.tries), {}, []

    def ours(arguments, *precision):
        return lambda: measure(OURS, "--seconds", str(options.seconds), "--threads", str(CORES),
                               *arguments, *precision)

    def ratio(us, them):
        ratios = [a.rate / b.rate for a, b in zip(us, them)]
        return f"**{median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f})"

    def rows(who, arguments, theirs, tried):
        """A row for each precision of ours, beside their programs: float32 first, then, where there
        is one, bfloat16. Their best is the faster of the two by the median. `tried` is what each of
        theirs took of memory while settings were looked for."""
        mine = {precision: ours(arguments, *flags) for precision, flags in PRECISIONS.items()}
        results = in_turns(options.rounds, [*mine.values(), *theirs.values()])
        them = dict(zip(theirs, results[len(mine):]))
        best = max(them, key=lambda precision: median(r.rate for r in them[precision]))
        said = ", ".join(f"{precision} {median(r.rate for r in of_one):,.1f}"
                         for precision, of_one in them.items())
        for precision, us in zip(mine, results):
            # Beside the same precision, and the least of any setting: a fast one may take more.
            memory = [*tried.get(precision, []), *(r.megabytes for r in them.get(precision, []))]
            beside = "not measured"
            if memory and None not in memory:
                taken = median(r.megabytes for r in us)
                beside = f"{taken:.1f}, {min(memory):.1f}, {taken / min(memory):.2f}"
            lines.append(f"| {results[0][0].name}, {precision} | {median(r.rate for r in us):,.1f} "
                         f"| {who} {said} | {ratio(us, them['float32'])} | {ratio(us, them[best])} "
                         f"| {median(r.share for r in us):.2f} | {beside} |")

    for name in options.only:
        if name == "vit-b":
            continue  # beside onnxruntime, below
        arguments = MEASUREMENTS[name].split()
        tried, theirs = {}, {}
        for precision, flags in PRECISIONS.items():
            what = [*arguments, *flags]
            note(f"PyTorch's settings for {' '.join(what)}")
            setting, tried[precision] = pytorch.tuned(what)
            settings[" ".join(what)] = setting
            theirs[precision] = functools.partial(pytorch.run, what, setting, options.seconds)
        rows("PyTorch", arguments, theirs, tried)

    runtime = PACKAGES / "node_modules/onnxruntime-node/package.json"
    version = "not measured"
    if "vit-b" in options.only and runtime.exists():
        version = re.search(r'"version": "([^"]*)"', runtime.read_text())[1]
        model = PACKAGES / "vit-b.onnx"
        if not model.exists():
            subprocess.run([pytorch.python, HERE / "pytorch_train.py", "--export", model], check=True)
        infer = ("node", str(HERE / "infer.mjs"), "--model", str(model), "--packages",
                 str(PACKAGES), "--threads", str(CORES), "--seconds", str(options.seconds))
        rows("onnxruntime", MEASUREMENTS["vit-b"].split(),
             {"float32": lambda: measure(*infer)}, {})
    elif "vit-b" in options.only:
        note("vit-b is skipped: npm install --prefix build/bench --ignore-scripts onnxruntime-node")

    others = machine.percent_of_others()
    if others > 5:
        note(f"others used {others:.0f} % of the processors meanwhile: measure again")
    processor = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$",
                                Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    commit = said_by("git", "-C", str(HERE), "describe", "--always", "--dirty")
    return "\n".join([
        "| measurement | Vitruvian, img/s | the other, img/s | over its float32 (least to most) "
        "| over its best | share of the product | peak memory, MB: ours, theirs, ratio |",
        "|---|---|---|---|---|---|---|", *lines, "",
        "Medians over the rounds; a ratio is of one round, its median over the rounds. PyTorch's "
        "bfloat16 is autocast of the forward pass; its best is the faster of the two. The share is of "
        "the product in the same precision; so is memory, theirs the least of all runs, those that "
        "looked for settings included.", "",
        f"- {processor.get('model name', 'unknown processor')} (family "
        f"{processor.get('cpu family', '?')}, model {processor.get('model', '?')}), {CORES} threads",
        f"- PyTorch {pytorch.version()}, onnxruntime {version}, Vitruvian {commit}",
        f"- rounds: {options.rounds}, seconds of each measurement: {options.seconds}, "
        f"{time.strftime('%Y-%m-%d')}",
        f"- others used {others:.0f} % of the processors meanwhile",
        *(f"- PyTorch for `{name}`: `{words(setting)}`" for name, setting in settings.items())])


# What is switched off: bench_train's flags, or its environment.
SWITCHES = {
    "nothing": {},
    "the matrix unit: oneDNN": {"VITRUVIAN_GEMM": "onednn"},
    "the matrix unit and oneDNN: our own packed product": {"VITRUVIAN_GEMM": "packed"},
    "AVX-512: AVX2 kernels and packed product": {"VITRUVIAN_GEMM": "packed",
                                                 "VITRUVIAN_SIMD": "avx2"},
    "all vectors beyond SSE2, and the libraries": {"VITRUVIAN_GEMM": "packed", "VITRUVIAN_SIMD": "sse2"},
    "micro-batches: op by op over the whole batch": ["--micro-batch", "100000"],
    "fused ops: the readable twins": ["--composed"],
    "the second thread": ["--threads", "1"],
}


def against_itself(options):
    def program(shape, switch):
        flags, environment = ([], switch) if isinstance(switch, dict) else (switch, {})
        command = [OURS, "--shape", shape, "--seconds", str(options.seconds), *flags]
        return lambda: measure(*command, **environment)

    shapes = ("mnist", "cifar")
    results = in_turns(options.rounds, [program(shape, switch)
                                        for switch in SWITCHES.values() for shape in shapes])
    rates = [median(r.rate for r in of_one) for of_one in results]
    lines = ["| switched off | MNIST shape, img/s | step takes | CIFAR shape, img/s | step takes |",
             "|---|---|---|---|---|"]
    for what, mnist, cifar in zip(SWITCHES, rates[::2], rates[1::2]):
        lines.append(f"| {what} | {mnist:.0f} | x {rates[0] / mnist:.2f} "
                     f"| {cifar:.0f} | x {rates[1] / cifar:.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--switches", action="store_true", help="beside itself, a switch at a time")
    parser.add_argument("--rounds", type=int, default=3, help="measure everything so often (3)")
    parser.add_argument("--seconds", type=int, help="of each measurement (8; 3 with --switches)")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS),
                        metavar="NAME", help="of " + ", ".join(MEASUREMENTS) + " these alone")
    parser.add_argument("--tries", type=int, default=2,
                        help="go through PyTorch's settings so often (2); 0 takes the likely ones")
    parser.add_argument("--quick", action="store_true",
                        help="one round of 2 seconds, PyTorch's likely settings")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds, options.tries = 1, 2, 0
    options.seconds = options.seconds or (3 if options.switches else 8)
    if min(options.rounds, options.seconds) < 1:
        parser.error("--rounds and --seconds take a count")
    print((against_itself if options.switches else against_others)(options))


if __name__ == "__main__":
    main()
