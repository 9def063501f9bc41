#!/usr/bin/env python3
"""Writes small good files for the fuzzers to start from: make_corpus.py FOLDER makes one folder a
target. Needs nothing but Python and the golden files beside it."""

import base64
import io
import json
import pathlib
import struct
import sys
import zipfile

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def safetensors(tensors, dtype="F32", code="f"):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, t in tensors.items():
        packed = struct.pack(f"<{len(t['values'])}{code}", *t["values"])
        header[name] = {"dtype": dtype, "shape": t["shape"],
                        "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npz(tensors, method, descr="<f4", code="f"):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, t in tensors.items():
            shape = "(" + "".join(f"{n}, " for n in t["shape"]) + ")"
            text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
            data = struct.pack(f"<{len(t['values'])}{code}", *t["values"])
            archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data)
    return stream.getvalue()


def main():
    folder = pathlib.Path(sys.argv[1])
    models = json.loads((GOLDEN / "naming.json").read_text())
    pictures = json.loads((GOLDEN / "pictures.json").read_text())
    few = {"a": {"shape": [2, 1], "values": [1, 2]}, "b": {"shape": [], "values": [3]}}
    seeds = {"safetensors/few": safetensors(few), "safetensors/half": safetensors(few, "F16", "e"),
             "safetensors/double": safetensors(few, "F64", "d"),
             "npz/few": npz(few, zipfile.ZIP_STORED), "npz/packed": npz(few, zipfile.ZIP_DEFLATED),
             "npz/half": npz(few, zipfile.ZIP_STORED, "<f2", "e"),
             "npz/jax": npz(models["jax"]["parameters"], zipfile.ZIP_DEFLATED),
             "jpeg/cmyk": base64.b64decode(pictures["cmyk"])}
    for scheme in ("torchvision", "hf", "jax"):
        seeds["safetensors/" + scheme] = safetensors(models[scheme]["parameters"])
    kinds = {"png": "png", "jpg": "jpeg", "pgm": "pnm", "ppm": "pnm"}
    for picture in pictures["files"]:
        name = picture["name"]
        seeds[kinds[name.rsplit(".", 1)[1]] + "/" + name] = base64.b64decode(picture["bytes"])
    for name, data in seeds.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
