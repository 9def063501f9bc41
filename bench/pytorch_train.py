#!/usr/bin/env python3
"""The model of bench_train in PyTorch, written the usual way and timed the same way.

Each shape prints one line:
cifar train batch 64 threads 2: 230.0 img/s, 115.0 GFLOP/s, peak memory 140.0 MB
With --bfloat16 the forward pass runs under torch.autocast, as PyTorch's documentation has it.
"""

import argparse
import ctypes
import os
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit("pytorch_train.py: no PyTorch here; on Debian: apt-get install python3-torch")


class Shape(NamedTuple):
    size: int  # of the square image
    C: int
    P: int
    D: int
    L: int
    h: int
    K: int
    batch: int  # to train on
    inference_batch: int

    M = property(lambda self: 4 * self.D)
    N = property(lambda self: (self.size // self.P) ** 2)
    T = property(lambda self: self.N + 1)

    def macs(self):
        """Multiply-adds of the matrix products of one image's forward pass."""
        block = self.T * (4 * self.D**2 + 2 * self.D * self.M) + 2 * self.T**2 * self.D
        return self.L * block + self.N * self.C * self.P**2 * self.D


SHAPES = {
    "mnist": Shape(28, 1, 7, 64, 4, 4, 10, 128, 256),
    "cifar": Shape(32, 3, 4, 128, 6, 4, 10, 64, 256),
    "cifar-big": Shape(32, 3, 4, 256, 8, 8, 10, 64, 256),
    "vit-b": Shape(224, 3, 16, 768, 12, 12, 1000, 8, 1),
}


class Attention(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = self.qkv(x).reshape(B, T, 3, self.h, D // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        a = (q @ k.transpose(-2, -1) * (D // self.h) ** -0.5).softmax(dim=-1)
        return self.proj((a @ v).transpose(1, 2).reshape(B, T, D))


class Block(nn.Module):
    def __init__(self, D, h, M):
        super().__init__()
        self.norm1 = nn.LayerNorm(D, eps=1e-6)
        self.attn = Attention(D, h)
        self.norm2 = nn.LayerNorm(D, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(D, M), nn.GELU(), nn.Linear(M, D))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.patch_embed = nn.Conv2d(s.C, s.D, s.P, stride=s.P)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, s.D))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, s.T, s.D))
        self.blocks = nn.Sequential(*(Block(s.D, s.h, s.M) for _ in range(s.L)))
        self.norm = nn.LayerNorm(s.D, eps=1e-6)
        self.head = nn.Linear(s.D, s.K)

    def forward(self, images):
        patches = self.patch_embed(images).flatten(2).transpose(1, 2)
        cls = self.cls_token.expand(images.shape[0], -1, -1)
        x = torch.cat([cls, patches], dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x)[:, 0]))


def status(field):
    """A field of /proc/self/status in bytes, or None where there is no such file."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next(int(l.split()[1]) * 1024 for l in lines if l.startswith(field + ":"))


def start_of_memory():
    """What is resident now, and from here on the peak counts anew."""
    try:
        # What earlier work freed and malloc still holds is not the model's.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError):
        return None
    return status("VmRSS")


def measure(name, batch, seconds, threads, inference, bfloat16):
    s = SHAPES[name]
    batch = batch or (s.inference_batch if inference else s.batch)
    torch.manual_seed(1)
    model = VisionTransformer(s)
    images = torch.randn(batch, s.C, s.size, s.size)
    labels = torch.randint(s.K, (batch,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)

    def logits(images):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            return model(images)

    def train(images, labels):
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(logits(images).float(), labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    def infer(images, _):
        with torch.inference_mode():
            logits(images)

    step = infer if inference else train
    model.train(not inference)
    # PyTorch makes AdamW's moments and loads parts of itself in the first step. A step of one image
    # has that behind it, so that the memory below is what a step takes.
    step(images[:1], labels[:1])
    optimizer.zero_grad(set_to_none=True)
    before = start_of_memory()

    for _ in range(3):
        step(images, labels)
    times = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        step(images, labels)
        times.append(time.perf_counter() - start)
    rate = batch / statistics.median(times)
    flops = 2 * s.macs() * (1 if inference else 3)
    memory = "" if before is None else f", peak memory {(status('VmHWM') - before) / 1e6:.1f} MB"
    print(f"{name} {'infer' if inference else 'train'}{' bfloat16' if bfloat16 else ''} "
          f"batch {batch} threads {threads}: "
          f"{rate:.1f} img/s, {rate * flops / 1e9:.1f} GFLOP/s{memory}", flush=True)


def export(path):
    """ViT-B/16 with random weights, for one image, as ONNX: some 346 MB."""
    shape = SHAPES["vit-b"]
    torch.manual_seed(1)
    image = torch.randn(1, shape.C, shape.size, shape.size)
    part = path.with_name(path.name + ".part")  # a file of that name is a whole one
    torch.onnx.export(VisionTransformer(shape).eval(), image, str(part), input_names=["image"],
                      output_names=["logits"], opset_version=14)
    part.replace(path)


def main():
    parser = argparse.ArgumentParser(description="times the model of bench_train in PyTorch")
    parser.add_argument("--shape", choices=[*SHAPES, "all"], default="all",
                        help="all means all but vit-b")
    parser.add_argument("--batch", type=int, help="default: the shape's own")
    parser.add_argument("--seconds", type=float, default=5, help="default: 5")
    parser.add_argument("--threads", type=int, help="default: OMP_NUM_THREADS, or all",
                        default=os.environ.get("OMP_NUM_THREADS") or str(os.cpu_count()))
    parser.add_argument("--inference", action="store_true", help="the forward pass only")
    parser.add_argument("--bfloat16", action="store_true", help="under bfloat16 autocast")
    parser.add_argument("--export", type=Path, metavar="FILE.onnx",
                        help="time nothing, but write vit-b with random weights there")
    o = parser.parse_args()
    if o.export:
        return export(o.export)
    torch.set_num_threads(o.threads)
    for name in [n for n in SHAPES if n != "vit-b"] if o.shape == "all" else [o.shape]:
        measure(name, o.batch, o.seconds, o.threads, o.inference, o.bfloat16)


if __name__ == "__main__":
    main()
