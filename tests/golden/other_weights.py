#!/usr/bin/env python3
"""Makes other_weights.safetensors, which the lesson other_weights reads: the state dict of a tiny torchvision
ViT, under torchvision's names, with three images and the logits that torchvision computes for them.

    /usr/bin/python3 tests/golden/other_weights.py

Made with PyTorch 1.13.1 and torchvision 0.14.1 (Debian's python3-torchvision), in float64. Every
parameter is redrawn, so that all of them matter: N(0, 0.3^2), layer norms' weights around 1.
"""

import json
import pathlib
import struct

import torch
from torchvision.models.vision_transformer import VisionTransformer


def main():
    torch._C._set_mkldnn_enabled(False)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    stream = torch.Generator().manual_seed(31)
    model = VisionTransformer(image_size=8, patch_size=4, num_layers=2, num_heads=2, hidden_dim=8,
                              mlp_dim=12, num_classes=3).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            is_scale = (".ln" in name or "ln_" in name) and name.endswith("weight")
            p.copy_(0.3 * torch.randn(p.shape, generator=stream) + (1.0 if is_scale else 0.0))
        images = torch.randn(3, 3, 8, 8, generator=stream)
        tensors = dict(model.state_dict(), images=images, logits=model(images))

    header, data = {"__metadata__": {"made_by": "tests/golden/other_weights.py"}}, b""
    for name in sorted(tensors):
        values = tensors[name].flatten().tolist()
        raw = struct.pack(f"<{len(values)}d", *values)
        header[name] = {"dtype": "F64", "shape": list(tensors[name].shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 8)
    path = pathlib.Path(__file__).with_name("other_weights.safetensors")
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
