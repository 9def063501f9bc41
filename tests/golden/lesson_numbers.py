#!/usr/bin/env python3
"""Prints the numbers of PyTorch that the lessons gelu, layer_norm, optimizers and fine_tuning quote: run it
and lay them side by side.

Made with PyTorch 1.13.1, in float64.
"""
import torch
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)


def show(what, values):
    print(f"{what}: " + " ".join(f"{float(v):.16g}" for v in values))


def three_steps(optimizer_class, **options):
    """Theta = 1 after the slopes 0.5, -0.2, 0.1, at a rate of 0.1 and a decay of 0.1."""
    theta = torch.nn.Parameter(torch.ones(1))
    optimizer = optimizer_class([theta], lr=0.1, weight_decay=0.1, **options)
    for slope in (0.5, -0.2, 0.1):
        theta.grad = torch.tensor([slope])
        optimizer.step()
    return theta


x = torch.tensor([-3, -1, -0.5, 0.5, 1, 3.0])
show("lesson gelu, GELU(-3 -1 -.5 .5 1 3)", F.gelu(x))
show("lesson gelu, tanh form at 1", [F.gelu(torch.ones(()), approximate="tanh")])
one = torch.ones((), requires_grad=True)
show("lesson gelu, slope at 1", torch.autograd.grad(F.gelu(one), one))
small = torch.tensor([0, 0.001, 0.002, 0.003])
for eps in (1e-12, 1e-6, 1e-5):
    show(f"lesson layer_norm, last of LN(0 .001 .002 .003), eps {eps:g}", F.layer_norm(small, (4,), eps=eps)[-1:])
show("lesson optimizers, SGD", three_steps(torch.optim.SGD))
show("lesson optimizers, SGD with momentum 0.9", three_steps(torch.optim.SGD, momentum=0.9))
show("lesson optimizers, Adam", three_steps(torch.optim.Adam))
show("lesson optimizers, AdamW", three_steps(torch.optim.AdamW))
two = torch.eye(2).reshape(1, 2, 2)
show("lesson fine_tuning, R from 2 to 4, by columns",
     F.interpolate(two, size=4, mode="linear", align_corners=False).flatten())
show("lesson fine_tuning, the same, corners aligned",
     F.interpolate(two, size=4, mode="linear", align_corners=True).flatten())
