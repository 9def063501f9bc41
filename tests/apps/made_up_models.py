#!/usr/bin/env python3
"""Writes files with the names and shapes of published models, of random numbers in float16:

    made_up_models.py FOLDER

the ViT-Ti/16 of 'How to train your ViT' as .npz, DeiT-Ti as .pth (a pickle that is written by hand, as Python
has no PyTorch here), and DINO's ViT-S/16 without its head. Needs nothing but Python."""

import io
import math
import pathlib
import random
import struct
import sys
import zipfile

# Of a float16: small numbers of either sign, 2^-7 to 2^-3.
SMALL = bytes(0x20 + b % 16 if b < 128 else 0xA0 + b % 16 for b in range(256))


def numbers(n):
    low = random.randbytes(n)
    high = random.randbytes(n).translate(SMALL)
    both = bytearray(2 * n)
    both[0::2], both[1::2] = low, high
    return bytes(both)


def write_npz(path, shapes):
    with zipfile.ZipFile(path, "w") as archive:
        for name, shape in shapes.items():
            header = f"{{'descr': '<f2', 'fortran_order': False, 'shape': {tuple(shape)}, }}".encode()
            archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                             numbers(math.prod(shape)))


def write_pth(path, shapes, key=None):
    def text(s):
        return b"X" + struct.pack("<I", len(s)) + s.encode()

    def whole(n):
        return b"J" + struct.pack("<i", n)

    def whole_tuple(ns):
        return b"(" + b"".join(map(whole, ns)) + b"t"

    ordered = b"ccollections\nOrderedDict\n)R"
    pickle = io.BytesIO()
    pickle.write(b"\x80\x02")
    if key:
        pickle.write(b"}" + text(key))
    pickle.write(ordered + b"(")
    with zipfile.ZipFile(path, "w") as archive:
        for i, (name, shape) in enumerate(shapes.items()):
            strides = [math.prod(shape[k + 1:]) for k in range(len(shape))]
            storage = (b"(" + text("storage") + b"ctorch\nHalfStorage\n" + text(str(i)) + text("cpu") +
                       whole(math.prod(shape)) + b"tQ")
            pickle.write(text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + whole(0) +
                         whole_tuple(shape) + whole_tuple(strides) + b"\x89" + ordered + b"tR")
            archive.writestr(f"archive/data/{i}", numbers(math.prod(shape)))
        pickle.write(b"u" + (b"s" if key else b"") + b".")
        archive.writestr("archive/data.pkl", pickle.getvalue())
        archive.writestr("archive/version", b"3\n")


def timm(D, L, K, P=16, side=224):
    shapes = {"cls_token": [1, 1, D], "pos_embed": [1, (side // P) ** 2 + 1, D],
              "patch_embed.proj.weight": [D, 3, P, P], "patch_embed.proj.bias": [D]}
    for i in range(L):
        block = f"blocks.{i}."
        for name, shape in (("norm1", [D]), ("attn.qkv", [3 * D, D]), ("attn.proj", [D, D]), ("norm2", [D]),
                            ("mlp.fc1", [4 * D, D]), ("mlp.fc2", [D, 4 * D])):
            shapes[block + name + ".weight"], shapes[block + name + ".bias"] = shape, shape[:1]
    shapes["norm.weight"] = shapes["norm.bias"] = [D]
    if K:
        shapes["head.weight"], shapes["head.bias"] = [K, D], [K]
    return shapes


def jax(D, L, h, K, P=16, side=224):
    shapes = {"cls": [1, 1, D], "embedding/kernel": [P, P, 3, D], "embedding/bias": [D],
              "Transformer/posembed_input/pos_embedding": [1, (side // P) ** 2 + 1, D],
              "Transformer/encoder_norm/scale": [D], "Transformer/encoder_norm/bias": [D],
              "head/kernel": [D, K], "head/bias": [K]}
    for i in range(L):
        block = f"Transformer/encoderblock_{i}/"
        attention = block + "MultiHeadDotProductAttention_1/"
        for part in ("query", "key", "value"):
            shapes[f"{attention}{part}/kernel"], shapes[f"{attention}{part}/bias"] = [D, h, D // h], [h, D // h]
        shapes[attention + "out/kernel"], shapes[attention + "out/bias"] = [h, D // h, D], [D]
        for part, a, b in (("Dense_0", D, 4 * D), ("Dense_1", 4 * D, D)):
            shapes[f"{block}MlpBlock_3/{part}/kernel"], shapes[f"{block}MlpBlock_3/{part}/bias"] = [a, b], [b]
        for norm in ("LayerNorm_0", "LayerNorm_2"):
            shapes[f"{block}{norm}/scale"] = shapes[f"{block}{norm}/bias"] = [D]
    return shapes


def main():
    random.seed(20)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_npz(folder / ("Ti_16-i21k-300ep-lr_0.001-aug_none-wd_0.03-do_0.0-sd_0.0--"
                        "imagenet2012-steps_20k-lr_0.03-res_224.npz"), jax(192, 12, 3, 1000))
    write_pth(folder / "deit_tiny_patch16_224-a1311bcf.pth", timm(192, 12, 1000), "model")
    write_pth(folder / "dino_deitsmall16_pretrain.pth", timm(384, 12, 0))


if __name__ == "__main__":
    main()
