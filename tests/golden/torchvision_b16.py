#!/usr/bin/env python3
"""Writes torchvision's whole vit_b_16 with every tensor redrawn, and what PyTorch computes of it in
float64: what tests/vit/b16_test.cpp holds ours against.

    /usr/bin/python3 tests/golden/torchvision_b16.py DIR        # 346 MB twice; about two minutes
    VITRUVIAN_B16=DIR ctest --preset default -R b16

DIR/vit_b_16.safetensors holds the weights in float32 under torchvision's names,
DIR/vit_b_16_gradients.safetensors the gradients of the mean cross entropy (rounded to float32, a
hundredth of what is allowed), DIR/vit_b_16.json the labels, the logits and the loss. Images are those
of torchvision_models.images.
"""

import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torchvision.models import vit_b_16

from golden_format import generator
from torchvision_models import check_gradients, images, redraw

LABELS = [281, 7]


def save(path, tensors):
    """A safetensors file: the header's length, the header, and the numbers."""
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, x in tensors.items():
        begin, end = end, end + 4 * x.numel()
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for x in tensors.values():
            file.write(x.detach().float().contiguous().numpy().tobytes())


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} DIR")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch._C._set_mkldnn_enabled(False)  # its GELU gradient is wrong in Debian's PyTorch 1.13.1
    torch.set_default_dtype(torch.float64)
    model = vit_b_16()
    redraw(model, generator("vit_b_16 in full"))
    named = dict(model.named_parameters())
    assert len(named) == 152 and sum(p.numel() for p in named.values()) == 86_567_656
    logits = model(images(len(LABELS), 224))
    loss = F.cross_entropy(logits, torch.tensor(LABELS))
    loss.backward()
    check_gradients(model)
    save(folder / "vit_b_16.safetensors", named)
    save(folder / "vit_b_16_gradients.safetensors", {n: p.grad for n, p in named.items()})
    truth = {"labels": LABELS, "logits": logits.tolist(), "loss": loss.item()}
    (folder / "vit_b_16.json").write_text(json.dumps(truth))
    print(f"loss {loss.item():.9f}, largest logit {logits.abs().max().item():.6f}")


if __name__ == "__main__":
    main()
