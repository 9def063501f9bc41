#!/usr/bin/env python3
"""Makes other_weights.safetensors, which the lesson other_weights reads: the state dict of a tiny torchvision
ViT, under torchvision's names, with three images and the logits that torchvision computes for them.

    /usr/bin/python3 tests/golden/other_weights.py

Made with PyTorch 1.13.1 and torchvision 0.14.1 (Debian's python3-torchvision), in float64. Every
parameter is redrawn, so that all of them matter: N(0, 0.3^2), layer norms' weights around 1.
"""

import pathlib

import torch
from torchvision.models.vision_transformer import VisionTransformer

from make_golden import randn, redraw, save_safetensors, set_up


def main():
    set_up()
    stream = torch.Generator().manual_seed(31)
    model = VisionTransformer(image_size=8, patch_size=4, num_layers=2, num_heads=2, hidden_dim=8,
                              mlp_dim=12, num_classes=3).eval()
    redraw(stream, dict(model.named_parameters()))
    images = randn(stream, 3, 3, 8, 8)
    tensors = dict(model.state_dict(), images=images, logits=model(images))
    path = pathlib.Path(__file__).with_name("other_weights.safetensors")
    save_safetensors(path, dict(sorted(tensors.items())), "f64", {"made_by": "tests/golden/other_weights.py"})
    print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
