"""masked.json: {"images", "mean", "std", "pool", "cases": [{"name", "config", "step", "first", "corruptions",
"colours", "loss", "gradients"}, ...]}: masked patch prediction, as the ViT paper describes it (arXiv
2010.11929, section 4.6 and appendix B.1.2).

Images are normalised by mean and std. "corruptions" has of each image the patches that are corrupted,
those that [mask] stands for, and the other patch whose embedding each of the N has; they are drawn by
golden_draws.py from the stream "image" of the key `step` and the image's place, which begins at `first`.
"colours" are those of all patches, (B, N). `loss` is the mean cross entropy over the corrupted patches.
A parameter's values are golden_switches.py's.
"""

import math

import torch
import torch.nn.functional as F

from make_golden import generator, normalised, packed, randn, tensor
from golden_draws import below, fork, permutation, uniform
from golden_switches import BASE, POOL, Vit

MEAN, STD = [0.45, 0.55], [0.3, 0.2]


class MaskedVit(Vit):
    def shapes(self):
        D, colours = self.c["D"], 8 ** self.c["C"]
        return super().shapes() | {"mask_token": (1, 1, D), "mask_head.weight": (colours, D),
                                   "mask_head.bias": (colours,)}

    def __call__(self, images, corruptions):
        z, rows = self.patches(images), []
        for b, of in enumerate(corruptions):
            for n, source in enumerate(of["source"]):
                rows.append(self.p["mask_token"][0, 0] if n in of["masked"] else z[b, source])
        z = self.encoded(torch.stack(rows).reshape(z.shape))
        patches = self.norm(z[:, self.read:], "norm")
        asked = torch.cat([patches[b, of["patches"]] for b, of in enumerate(corruptions)])
        return self.dense(asked, "mask_head")


def corruption(N, key):
    patches = permutation(fork(key, "patches"), N)[:max(1, N // 2)]
    masked, source = [], list(range(N))
    for n in patches:
        u = uniform(fork(key, "fate"), n)
        if u < 0.8:
            masked.append(n)
        elif u < 0.9:
            source[n] = (n + 1 + below(fork(key, "other"), N - 1, n)) % N
    return {"patches": patches, "masked": masked, "source": source}


def colours_of(images, patch):
    """The mean of each patch and channel on 8 levels, as one number to the base 8."""
    levels = (8 * F.avg_pool2d(images, patch)).floor().clamp(0, 7).long().flatten(2)  # (B, C, N)
    colours = torch.zeros_like(levels[:, 0])
    for c in range(levels.shape[1]):
        colours = 8 * colours + levels[:, c]
    return colours


def cases():
    yield "as it is", {}, 3
    yield "mean pooling, waves", {"mean_pooling": True, "positions": "sincos_2d"}, 4
    yield "post-norm, relative", {"post_norm": True, "positions": "relative"}, 5
    yield "patches that are not square", {"P": 4, "P_w": 2, "patch_bias": False}, 6


def make():
    stream = generator("masked")
    pool = randn(stream, POOL)
    pixels = torch.rand(4, BASE["C"], BASE["H"], BASE["W"], generator=stream)
    images = normalised(pixels, MEAN, STD)
    written = []
    for name, switches, step in cases():
        vit = MaskedVit({**BASE, "head": "none", **switches}, pool, None)
        N, first = math.prod(vit.grid), 2
        corruptions = [corruption(N, fork(step, "image", (first + b,))) for b in range(len(images))]
        colours = colours_of(pixels, vit.patch)
        right = torch.cat([colours[b, of["patches"]] for b, of in enumerate(corruptions)])
        loss = F.cross_entropy(vit(images, corruptions), right)
        loss.backward()
        written.append({
            "name": name, "config": {**BASE, "head": "none", **switches}, "step": step, "first": first,
            "corruptions": corruptions, "colours": colours.flatten().tolist(), "loss": loss.item(),
            "gradients": {n: packed(p.grad, "f64") for n, p in vit.p.items()},
        })
    assert any(of["source"] != list(range(len(of["source"]))) for c in written for of in c["corruptions"])
    assert any(len(of["masked"]) < len(of["patches"]) for c in written for of in c["corruptions"])
    return {"images": tensor(images), "mean": MEAN, "std": STD, "pool": tensor(pool), "cases": written}
