#!/usr/bin/env python3
"""torchvision.json: {"builders": {"vit_b_16": ..., ...}}: torchvision's VisionTransformer with every
tensor redrawn. torchvision starts its head at zero, which would leave every gradient but the head's zero, and a
comparison with it vacuous. Tensors go by torchvision's names and are base64 of little-endian float32
(parameters) or float64; images are those of `images` below.

A builder is {"config", "labels", "parameters", "logits", "loss", "gradients"}: a model with the patch size of
one of torchvision's five builders, but few blocks and narrow ones. `loss` is the mean cross entropy.

Run by itself it writes the whole vit_b_16, which is too large to keep, and what PyTorch computes of it in float64:

    /usr/bin/python3 tests/golden/golden_torchvision.py DIR        # 346 MB twice; about two minutes
    VITRUVIAN_B16=DIR ctest --preset default -R vit_b_16

DIR/vit_b_16.safetensors holds the weights in float32, DIR/vit_b_16_gradients.safetensors the gradients of the mean
cross entropy (rounded to float32, a hundredth of what is allowed), DIR/vit_b_16.json the labels, logits and loss.
"""

import json
import pathlib
import sys
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models import vit_b_16
from torchvision.models.vision_transformer import VisionTransformer

from make_golden import generator, numbers, packed, randn, save_safetensors


def redraw(model, stream):
    """N(0, .02), weights of layer norms 1 + N(0, .1); float32 numbers, whatever holds them."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            norm = name.endswith("weight") and (".ln" in name)
            value = 1 + 0.1 * randn(stream, *p.shape) if norm else 0.02 * randn(stream, *p.shape)
            p.copy_(value.float())


def images(B, side):
    """Whoever reads the numbers makes these himself."""
    return numbers(0, (B, 3, side, side))


def check_gradients(model):
    """Nothing is zero but the gradient of the keys' bias, which softmax does not see."""
    for name, p in model.named_parameters():
        g = p.grad
        if name.endswith("in_proj_bias"):
            q, k, v = g.chunk(3)
            assert k.abs().max() < 1e-12 * max(q.abs().max(), v.abs().max(), 1e-6), name
            g = torch.cat([q, v])
        assert (g.abs().amax() > 0) and torch.isfinite(g).all(), name


# P, L, h, D, and the image's side: four patches, or six.
BUILDERS = {
    "vit_b_16": (16, 2, 2, 8, 32),
    "vit_b_32": (32, 2, 3, 3, 64),
    "vit_l_16": (16, 3, 3, 6, 32),
    "vit_l_32": (32, 3, 1, 3, 64),
    "vit_h_14": (14, 4, 4, 8, 42),
}
LABELS = [4, 1]


def builder(name):
    P, L, h, D, side = BUILDERS[name]
    model = VisionTransformer(side, P, L, h, D, 4 * D, num_classes=5,
                              norm_layer=partial(nn.LayerNorm, eps=1e-6))
    redraw(model, generator(name))
    logits = model(images(len(LABELS), side))
    loss = F.cross_entropy(logits, torch.tensor(LABELS))
    loss.backward()
    check_gradients(model)
    named = dict(model.named_parameters())
    return {
        "config": {"C": 3, "H": side, "W": side, "P": P, "D": D, "L": L, "h": h, "M": 4 * D,
                   "K": 5, "eps": 1e-6, "dropout": 0.0, "attention_dropout": 0.0},
        "labels": LABELS,
        "logits": packed(logits, "f64"),
        "loss": loss.item(),
        "parameters": {n: packed(p, "f32") for n, p in named.items()},
        "gradients": {n: packed(p.grad, "f64") for n, p in named.items()},
    }


def make():
    return {"builders": {name: builder(name) for name in BUILDERS}}


# --- the whole vit_b_16 --------------------------------------------------------------------------


def write_b16(folder):
    folder.mkdir(parents=True, exist_ok=True)
    torch._C._set_mkldnn_enabled(False)  # its GELU gradient is wrong in Debian's PyTorch 1.13.1
    torch.set_default_dtype(torch.float64)
    model = vit_b_16()
    redraw(model, generator("vit_b_16 in full"))
    named = dict(model.named_parameters())
    assert len(named) == 152 and sum(p.numel() for p in named.values()) == 86_567_656
    labels = [281, 7]
    logits = model(images(len(labels), 224))
    loss = F.cross_entropy(logits, torch.tensor(labels))
    loss.backward()
    check_gradients(model)
    for name, tensors in ("vit_b_16", named), ("vit_b_16_gradients", {n: p.grad for n, p in named.items()}):
        save_safetensors(folder / f"{name}.safetensors", tensors, "f32", {"format": "pt"})
    truth = {"labels": labels, "logits": logits.tolist(), "loss": loss.item()}
    (folder / "vit_b_16.json").write_text(json.dumps(truth))
    print(f"loss {loss.item():.9f}, largest logit {logits.abs().max().item():.6f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} DIR")
    write_b16(pathlib.Path(sys.argv[1]))
