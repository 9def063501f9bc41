#!/usr/bin/env python3
"""Makes the golden numbers: what PyTorch computes in float64 for the ops, the layers, the
optimizers, and Vision Transformers, seen from inside too; whole runs of training; one ViT under
other projects' names; position embeddings resized by the functions of four projects; pictures and
what Pillow makes of them; augmentations by torchvision. The C++ tests read the JSON files and never run this.

    /usr/bin/python3 tests/golden/make_golden.py          # writes the files beside this script
    /usr/bin/python3 tests/golden/make_golden.py --check  # exit 1 if they are not what it would write
    /usr/bin/python3 tests/golden/make_golden.py run      # only run.json

Made with Debian 12's python3-torch (1.13.1), python3-torchvision (0.14.1), python3-scipy (1.10.1)
and python3-pil (9.4). Every case draws its numbers from a seed of its own name, so that adding a
case leaves the others alone. Floats are printed with repr: nothing is lost. The layout of each file
is described in the script that makes it.
"""

import argparse
import importlib
import pathlib
import sys

import torch

SCRIPTS = ("ops", "layers", "modules", "optimizers", "training", "run", "vit", "switches",
           "inspect", "naming", "positions", "pictures", "augment", "torchvision")


def documents(scripts):
    """The name and the text of every file."""
    for name in scripts:
        made = importlib.import_module(f"golden_{name}").make()
        yield from made.items() if isinstance(made, dict) else [(name, made)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("scripts", nargs="*", metavar="NAME", help="only golden_NAME.py's files")
    arguments = parser.parse_args()

    # Debian's PyTorch 1.13.1 has a wrong GELU gradient with oneDNN; and sums must not depend on
    # the number of threads.
    torch._C._set_mkldnn_enabled(False)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)

    folder = pathlib.Path(__file__).parent
    differing = []
    for name, text in documents(arguments.scripts or SCRIPTS):
        path = folder / f"{name}.json"
        if not arguments.check:
            path.write_text(text)
            print(f"{path.name}: {len(text):,} bytes")
        elif not path.exists() or path.read_text() != text:
            differing.append(path.name)
    if differing:
        sys.exit("not what this script writes: " + ", ".join(differing))


if __name__ == "__main__":
    main()
