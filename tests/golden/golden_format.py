"""How golden numbers are drawn and written.

A tensor is {"shape": [2, 3], "values": [...]} with the values in row-major order; NaN and infinities
are the strings "nan", "inf" and "-inf".
"""

import base64
import json
import math
import zlib

import torch


def generator(name):
    """A random stream of this name."""
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


def randn(stream, *shape):
    return torch.randn(shape, generator=stream, dtype=torch.float64)


def number(x):
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return x


def tensor(x):
    x = x.detach()
    return {"shape": list(x.shape), "values": [number(v) for v in x.flatten().tolist()]}


def packed(x, kind):
    """A tensor as base64 of little-endian numbers: "f32" or "f64"."""
    x = x.detach().to(torch.float32 if kind == "f32" else torch.float64).contiguous()
    return {"shape": list(x.shape), kind: base64.b64encode(x.numpy().tobytes()).decode()}


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
