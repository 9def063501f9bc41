"""vit.json: {"config", "images", "labels", "logits", "loss", "trace", "parameters", "gradients"}.

A tiny Vision Transformer as the MiniViT notebook writes it (unfold + linear, shared class token,
pre-LN blocks, final layer norm on the class token, linear head), in our names, which are timm's.
`config` is in the symbols of the paper: 8 x 8 images of C channels, P, D, L, h, M, K, eps. Every
parameter is redrawn from N(0, 0.3^2), layer norms' weights from 1 + N(0, 0.3^2), so that all of them
matter. `loss` is the mean cross entropy; `gradients` are of it, under the parameters' names; `trace`
holds intermediates: "z_0" (B, T, D), "blocks.l.attn.probs" (B, h, T, T), "blocks.l.z" (B, T, D),
"y" (B, D). patch_embed.proj.weight has shape (D, C, P, P): a patch is unfolded in the order (C, P, P).
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from golden_format import dump, generator, randn, tensor, tensors

C, SIDE, P, D, L, H, M, K, EPS = 2, 8, 4, 8, 2, 2, 12, 3, 1e-6
T = (SIDE // P) ** 2 + 1


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)

    def forward(self, x):
        B = x.shape[0]
        q, k, v = self.qkv(x).reshape(B, T, 3, H, D // H).permute(2, 0, 3, 1, 4)
        self.probs = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(D // H), -1)
        return self.proj((self.probs @ v).transpose(1, 2).reshape(B, T, D))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(D, M)
        self.fc2 = nn.Linear(M, D)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(D, eps=EPS)
        self.attn = Attention()
        self.norm2 = nn.LayerNorm(D, eps=EPS)
        self.mlp = Mlp()

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(C, D, P, P)  # holds the weight (D, C, P, P) and the bias
        self.unfold = nn.Unfold(P, stride=P)

    def forward(self, images):
        patches = self.unfold(images).transpose(1, 2)
        return F.linear(patches, self.proj.weight.reshape(D, -1), self.proj.bias)


class MiniViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, D))
        self.pos_embed = nn.Parameter(torch.zeros(1, T, D))
        self.patch_embed = PatchEmbed()
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.norm = nn.LayerNorm(D, eps=EPS)
        self.head = nn.Linear(D, K)

    def forward(self, images):
        cls = self.cls_token.expand(images.shape[0], -1, -1)
        z = torch.cat([cls, self.patch_embed(images)], 1) + self.pos_embed
        self.trace = {"z_0": z}
        for i, block in enumerate(self.blocks):
            z = block(z)
            self.trace[f"blocks.{i}.attn.probs"] = block.attn.probs
            self.trace[f"blocks.{i}.z"] = z
        y = self.norm(z[:, 0])
        self.trace["y"] = y
        return self.head(y)


def drawn():
    """The model with its values, images and labels."""
    stream = generator("vit")
    model = MiniViT()
    with torch.no_grad():
        for name, p in model.named_parameters():
            is_scale = "norm" in name and name.endswith("weight")
            p.copy_(0.3 * randn(stream, *p.shape) + (1.0 if is_scale else 0.0))
    return model, randn(stream, 3, C, SIDE, SIDE), [2, 0, 1]


def make():
    model, images, labels = drawn()
    parameters = dict(model.named_parameters())
    logits = model(images)
    loss = F.cross_entropy(logits, torch.tensor(labels))
    loss.backward()
    return dump({
        "config": {"C": C, "H": SIDE, "W": SIDE, "P": P, "D": D, "L": L, "h": H, "M": M, "K": K,
                   "eps": EPS},
        "images": tensor(images),
        "labels": labels,
        "logits": tensor(logits),
        "loss": loss.item(),
        "trace": tensors(model.trace),
        "parameters": tensors(parameters),
        "gradients": tensors({name: p.grad for name, p in parameters.items()}),
    })
