#!/usr/bin/env python3
"""Makes the golden numbers: what PyTorch computes in float64 for the ops, the layers, the
optimizers, and Vision Transformers, seen from inside too; one under other projects' names; position
embeddings resized by the functions of four projects; pictures and what Pillow makes of them;
augmentations by torchvision. The C++ tests read the JSON files and never run this.

    /usr/bin/python3 tests/golden/make_golden.py          # writes the files beside this script
    /usr/bin/python3 tests/golden/make_golden.py --check  # exit 1 if they are not what it would write

Made with Debian 12's python3-torch (1.13.1), python3-torchvision (0.14.1), python3-scipy (1.10.1)
and python3-pil (9.4). Every case draws its numbers from a seed of its own name, so that adding a
case leaves the others alone. Floats are printed with repr: nothing is lost. The layout of each file
is described in the script that makes it.
"""

import argparse
import pathlib
import sys

import torch

import golden_augment
import golden_inspect
import golden_layers
import golden_modules
import golden_naming
import golden_ops
import golden_optimizers
import golden_pictures
import golden_positions
import golden_torchvision
import golden_training
import golden_vit


def documents():
    """The name and the text of every file."""
    for module in (golden_ops, golden_layers, golden_modules, golden_optimizers, golden_training,
                   golden_vit, golden_inspect, golden_naming, golden_positions, golden_pictures,
                   golden_augment):
        yield module.__name__.removeprefix("golden_"), module.make()
    yield from golden_torchvision.make().items()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check

    # Debian's PyTorch 1.13.1 has a wrong GELU gradient with oneDNN; and sums must not depend on
    # the number of threads.
    torch._C._set_mkldnn_enabled(False)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)

    folder = pathlib.Path(__file__).parent
    differing = []
    for name, text in documents():
        path = folder / f"{name}.json"
        if not check:
            path.write_text(text)
            print(f"{path.name}: {len(text):,} bytes")
        elif not path.exists() or path.read_text() != text:
            differing.append(path.name)
    if differing:
        sys.exit("not what this script writes: " + ", ".join(differing))


if __name__ == "__main__":
    main()
