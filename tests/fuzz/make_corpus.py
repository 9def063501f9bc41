#!/usr/bin/env python3
"""Writes small good files for the fuzzers to start from, and the words of their formats:
make_corpus.py FOLDER makes a folder FOLDER/TARGET for each target, and FOLDER/TARGET.dict where it
helps. Needs nothing but Python and the files beside it."""

import base64
import gzip
import io
import json
import pathlib
import re
import struct
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests" / "golden"


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


def tar(entries, packed):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz" if packed else "w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
            info.size = len(data or b"")
            archive.addfile(info, io.BytesIO(data or b""))
    return stream.getvalue()[:None if packed else -8192]


def weights(seeds):
    few = {"a": {"shape": [2, 1], "values": [1, 2]}, "b": {"shape": [], "values": [3]}}
    for dtype, code in (("F32", "f"), ("F16", "e"), ("F64", "d"), ("I64", "q"), ("BOOL", "?")):
        whole = {n: {**t, "values": [int(x) for x in t["values"]]} if code in "q?" else t
                 for n, t in few.items()}
        seeds["safetensors/" + dtype] = safetensors(whole, dtype, code)
    seeds |= {"npz/few": npz(few, zipfile.ZIP_STORED), "npz/packed": npz(few, zipfile.ZIP_DEFLATED),
              "npz/half": npz(few, zipfile.ZIP_STORED, "<f2", "e")}
    for path in sorted((GOLDEN / "pth").glob("*.p*t*")):
        seeds["pth/" + path.name] = path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                seeds["pickle/" + path.name] = archive.read(
                    next(n for n in archive.namelist() if n.endswith("data.pkl")))
    models = json.loads((GOLDEN / "naming.json").read_text())
    for scheme in ("torchvision", "hf", "jax"):
        seeds["names/" + scheme] = safetensors(models[scheme]["parameters"])


def pictures(seeds):
    golden = json.loads((GOLDEN / "pictures.json").read_text())
    seeds["jpeg/cmyk"] = base64.b64decode(golden["cmyk"])
    kinds = {"png": "png", "jpg": "jpeg", "pgm": "pnm", "ppm": "pnm"}
    for picture in golden["files"]:
        name, data = picture["name"], base64.b64decode(picture["bytes"])
        if len(data) < 20000:
            seeds[kinds[name.rsplit(".", 1)[1]] + "/" + name] = data


def data_sets(seeds):
    images = struct.pack(">4I", 0x803, 2, 2, 3) + bytes(range(12))
    labels = struct.pack(">2I", 0x801, 3) + bytes((7, 3, 9))
    text = bytes(range(256)) * 12
    two = gzip.compress(text[:101], 9, mtime=0) + gzip.compress(text * 40, 1, mtime=0)
    seeds |= {"idx/images": images, "idx/labels": labels, "idx/packed": gzip.compress(images, mtime=0),
              "gzip/plain": text, "gzip/two": two, "gzip/stored": gzip.compress(text, 0, mtime=0),
              "cifar/10": bytes((3,)) + text, "cifar/100": bytes((3, 40)) + text,
              "cifar/packed": gzip.compress(bytes((3,)) + text, mtime=0)}
    entries = {"d": None, "d/x": b"hello", "y": bytes(600), "e/" + "long/" * 30 + "z": b"z"}
    seeds |= {"tar/plain": tar(entries, False), "tar/packed": tar(entries, True)}


def runs(seeds):
    settings = {"dataset": "digits", "epochs": 4, "lr": 2e-3, "optimizer": "adamw", "width": 64,
                "mlp_dropout": None, "flip": 0.5, "skip_bad": False, "made_by": {"version": "0.1.0"}}
    model = {"C": 1, "H": 28, "W": 28, "P": 7, "D": 64, "L": 4, "h": 4, "M": 256, "K": 10, "eps": 1e-6,
             "dropout": 0.0, "attention_dropout": 0.0, "positions": "sincos", "qkv_bias": False}
    lines = [{"kind": "step", "step": 3, "loss": 2.3, "lr": 0.001, "grad_norm": 0.7},
             {"kind": "epoch", "epoch": 1, "step": 31, "train_loss": 1.0, "train_accuracy": 0.7,
              "val_accuracy": None, "test_loss": 0.5, "test_accuracy": 0.9, "lr": 0.001},
             {"kind": "test", "test_loss": 0.4, "test_accuracy": 0.95},
             {"epoch": 1, "seconds": 1.5, "images_per_second": 900.0}]
    state = {"version": 1, "settings": "{}", "data": "0f0f", "key": 2**64 - 1, "epochs": 2, "step": 62,
             "loss_sum": 0.25, "grad_norm_sum": 1.5, "lr": 0.001, "correct": 10, "seen": 64,
             "best_epoch": 2, "best_accuracy": 0.9, "best_loss": 0.5, "metrics_size": 4096,
             "finished": False, "moments_t": {"head.weight": 62}, "crc32": {"model.head.weight": "00ff00ff"}}
    seeds |= {"config/run": json.dumps(settings, indent=2).encode(), "config/model": json.dumps(model).encode(),
              "metrics/lines": "".join(json.dumps(x) + "\n" for x in lines).encode(),
              "state/state": json.dumps(state).encode()}


def words():
    """The words of the formats, the names of settings and fields from the sources that hold them."""
    def names(file, pattern):
        return sorted(set(re.findall(pattern, (ROOT / file).read_text())))

    numbers = ["1e999", "-1", "1e308", "18446744073709551616", "null", "true", "[[[[", "\\xff"]
    header = names("nn/safetensors_file.cpp", r'TypeName\{"(\w+)"')
    return {"safetensors": header + ["__metadata__", "dtype", "shape", "data_offsets", "4294967296"],
            "npz": ["'descr'", "'fortran_order'", "'shape'", "<f4", "|V2", "<i8", "True", "PK\\x01\\x02",
                    "PK\\x03\\x04", "PK\\x05\\x06", "\\x93NUMPY\\x01\\x00"],
            "pth": ["data.pkl", "PK\\x01\\x02", "PK\\x03\\x04", "PK\\x05\\x06", "PK\\x06\\x06", "PK\\x06\\x07"],
            "pickle": ["ccollections\\x0aOrderedDict\\x0a", "ctorch._utils\\x0a_rebuild_tensor_v2\\x0a",
                       "ctorch._utils\\x0a_rebuild_parameter\\x0a", "ctorch\\x0aFloatStorage\\x0a", "storage", "model"],
            "png": ["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA"],
            "config": names("train/settings/settings.hpp", r'visit\(\s*[\w.]+,\s*\{"(\w+)"') + names("vit/fields.hpp", r'"(\w+)"') + numbers,
            "metrics": names("report/run_record.cpp", r'"([a-z_]+)"') + numbers,
            "state": names("train/run/checkpoint_file.cpp", r'visit\("(\w+)"') + ["crc32", "version"] + numbers}


def main():
    folder = pathlib.Path(sys.argv[1])
    seeds = {}
    for add in (weights, pictures, data_sets, runs):
        add(seeds)
    for name, data in seeds.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for target, list_of in words().items():
        (folder / f"{target}.dict").write_text("".join(f'"{word}"\n' for word in list_of))


if __name__ == "__main__":
    main()
