#!/usr/bin/env python3
"""Writes ViT-B/16 of bench/pytorch_train.py, with random weights and for one image, as ONNX."""

import argparse
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it was
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from pytorch_train import SHAPES, VisionTransformer, torch


def main():
    parser = argparse.ArgumentParser(description="writes ViT-B/16 with random weights as ONNX")
    parser.print_usage = lambda file: None  # an error is one line
    parser.add_argument("path", type=Path, help="the .onnx file, about 346 MB")
    path = parser.parse_args().path
    shape = SHAPES["vit-b"]
    torch.manual_seed(1)
    model = VisionTransformer(shape).eval()
    image = torch.randn(1, shape.C, shape.size, shape.size)
    part = path.with_name(path.name + ".part")  # a file of that name is a whole one
    try:
        torch.onnx.export(model, image, str(part), input_names=["image"], output_names=["logits"],
                          opset_version=14)
        os.replace(part, path)
    except OSError as error:
        sys.exit(f"export_vit.py: {path}: {error.strerror}")
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
