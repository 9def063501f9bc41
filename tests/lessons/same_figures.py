"""Whether a lesson's figures are those of its page: the same files, the same words and marks, and
numbers that differ by no more than rounding on another machine (a pixel). Pictures inside of them
are compared by their place alone. Usage: same_figures.py EXPECTED GOT LESSON"""

import pathlib
import re
import sys

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def parts(path):
    text = re.sub(r'href="data:[^"]*"', 'href=""', path.read_text())
    return NUMBER.split(text), [float(n) for n in NUMBER.findall(text)]


def differs(expected, got):
    words, numbers = parts(expected)
    said, measured = parts(got)
    if words != said or len(numbers) != len(measured):
        return f"{expected.name}: other words or marks"
    for n, m in zip(numbers, measured):
        if abs(n - m) > max(1.0, 0.01 * abs(n)):
            return f"{expected.name}: {m} instead of {n}"
    return None


expected, got, lesson = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
names = [{path.name for path in folder.glob(f"{lesson}-*.svg")} for folder in (expected, got)]
problems = [f"{name} is there only once" for name in names[0] ^ names[1]]
problems += filter(None, (differs(expected / name, got / name) for name in names[0] & names[1]))
print("\n".join(problems), end="\n" if problems else "")
sys.exit(bool(problems))
