#!/usr/bin/env python3
"""Makes the golden numbers: what PyTorch computes in float64 for the ops, the layers, the
optimizers, and Vision Transformers, seen from inside too; whole runs of training; ridge regression; one ViT under
other projects' names; position embeddings resized by the functions of four projects; pictures and
what Pillow makes of them; augmentations by torchvision. The C++ tests read the JSON files and never run this.

    /usr/bin/python3 tests/golden/make_golden.py          # writes the files beside this script
    /usr/bin/python3 tests/golden/make_golden.py --check  # exit 1 if they are not what it would write, but for rounding
    /usr/bin/python3 tests/golden/make_golden.py run      # only run.json

Made with Debian 12's python3-torch (1.13.1), python3-torchvision (0.14.1), python3-scipy (1.10.1)
and python3-pil (9.4). Every case draws its numbers from a seed of its own name, so that adding a
case leaves the others alone. Floats are printed with repr: nothing is lost. The layout of each file
is described in the script that makes it. A tensor is {"shape": [2, 3], "values": [...]} with the values in
row-major order; NaN and infinities are the strings "nan", "inf" and "-inf".
"""

import argparse
import array
import base64
import importlib
import json
import math
import pathlib
import sys
import zlib

import torch

NAMES = ("ops", "modules", "torchvision", "run", "ridge", "vit", "switches", "naming", "layouts", "figure7",
         "pictures", "masked", "teacher")


def generator(name):
    """A random stream of this name."""
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


def randn(stream, *shape):
    return torch.randn(shape, generator=stream, dtype=torch.float64)


def redraw(stream, parameters, scale=0.3):
    """N(0, scale^2), the weights of layer norms around 1: so all of them matter."""
    with torch.no_grad():
        for name, p in parameters.items():
            norm = "norm" in name.lower() or ".ln" in name
            mean = 1.0 if norm and name.endswith(("weight", "scale")) else 0.0
            p.copy_(scale * randn(stream, *p.shape) + mean)


def numbers(first, shape):
    """Number i of a sequence that needs no file: ((7919 i + 31 (i^2 mod 613)) mod 1009) / 504.5 - 1."""
    i = first + torch.arange(torch.Size(shape).numel())
    return (((7919 * i + 31 * (i * i % 613)) % 1009) / 504.5 - 1).double().reshape(shape)


def normalised(pixels, mean, std):
    mean, std = (torch.tensor(x).reshape(-1, 1, 1) for x in (mean, std))
    return (pixels - mean) / std


def number(x):
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return x


def tensor(x):
    x = x.detach()
    return {"shape": list(x.shape), "values": [number(v) for v in x.flatten().tolist()]}


def raw(x, kind):
    """A tensor's numbers, little-endian: "f32" or "f64"."""
    dtype = torch.float32 if kind == "f32" else torch.float64
    return x.detach().to(dtype).contiguous().numpy().tobytes()


def packed(x, kind):
    """A tensor with these numbers in base64."""
    return {"shape": list(x.shape), kind: base64.b64encode(raw(x, kind)).decode()}


def save_safetensors(path, tensors, kind, metadata):
    """The header's length, the header, and the numbers."""
    header, data = {"__metadata__": metadata}, bytearray()
    for name, x in tensors.items():
        begin = len(data)
        data += raw(x, kind)
        header[name] = {"dtype": kind.upper(), "shape": list(x.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.write(data)


def tensors(named):
    return {name: tensor(x) for name, x in named.items()}


def dump(document):
    """JSON with one line for each entry of the top-level list, so that differences can be read."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list):
            body = ",\n".join("  " + json.dumps(entry) for entry in value)
            lines.append(f"{json.dumps(key)}: [\n{body}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def same(a, b):
    """Whether two documents say the same but for rounding: another processor's BLAS sums in another order."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(unpacked(k, a[k]), unpacked(k, b[k])) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or isinstance(a, float) and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def unpacked(kind, x):
    """What packed() made, as a list of numbers; anything else as it is."""
    return array.array({"f32": "f", "f64": "d"}[kind], base64.b64decode(x)).tolist() if kind in ("f32", "f64") else x


def set_up():
    # Debian's PyTorch 1.13.1 has a wrong GELU gradient with oneDNN; and sums must not depend on
    # the number of threads.
    torch._C._set_mkldnn_enabled(False)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only golden_NAME.py's NAME.json")
    arguments = parser.parse_args()
    set_up()
    folder = pathlib.Path(__file__).parent
    differing = []
    for name in arguments.names or NAMES:
        text = dump(importlib.import_module(f"golden_{name}").make())
        path = folder / f"{name}.json"
        if not arguments.check:
            path.write_text(text)
            print(f"{path.name}: {len(text):,} bytes")
        elif not path.exists() or not same(json.loads(text), json.loads(path.read_text())):
            differing.append(path.name)
    if differing:
        sys.exit("not what this script writes: " + ", ".join(differing))


if __name__ == "__main__":
    main()
