"""torchvision's VisionTransformer, every tensor redrawn: what golden_torchvision.py, golden_training.py
and torchvision_b16.py share. torchvision starts its head at zero, which would leave every gradient
but the head's zero, and a comparison with it vacuous."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models.vision_transformer import VisionTransformer

from golden_format import randn


def redraw(model, stream):
    """N(0, .02), weights of layer norms 1 + N(0, .1); float32 numbers, whatever holds them."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            norm = name.endswith("weight") and (".ln" in name)
            value = 1 + 0.1 * randn(stream, *p.shape) if norm else 0.02 * randn(stream, *p.shape)
            p.copy_(value.float())


def small_model(stream, P, L, h, D, K, image_size, M=None):
    model = VisionTransformer(image_size, P, L, h, D, M or 4 * D, num_classes=K,
                              norm_layer=partial(nn.LayerNorm, eps=1e-6))
    redraw(model, stream)
    config = {"C": 3, "H": image_size, "W": image_size, "P": P, "D": D, "L": L, "h": h,
              "M": M or 4 * D, "K": K, "eps": 1e-6, "dropout": 0.0, "attention_dropout": 0.0}
    return model, config


def images(B, side, first=0):
    """(B, 3, side, side): pixel i of the sequence is ((7919 i + 31 (i^2 mod 613)) mod 1009) / 504.5
    - 1; `first` is where this batch begins in it. Whoever reads the numbers makes these himself."""
    i = torch.arange(first, first + B * 3 * side * side, dtype=torch.int64)
    pixels = (7919 * i + 31 * (i * i % 613)) % 1009
    return (pixels.double() / 504.5 - 1).reshape(B, 3, side, side)


def check_gradients(model):
    """Nothing is zero but the gradient of the keys' bias, which softmax does not see."""
    for name, p in model.named_parameters():
        g = p.grad
        if name.endswith("in_proj_bias"):
            q, k, v = g.chunk(3)
            assert k.abs().max() < 1e-12 * max(q.abs().max(), v.abs().max(), 1e-6), name
            g = torch.cat([q, v])
        assert (g.abs().amax() > 0) and torch.isfinite(g).all(), name
