"""positions.json: {"cases": [{"from": [h, w], "to": [h, w], "channels": n, "values", "jax", "torchvision",
"timm", "hf"}, ...]}: position embeddings resized by the original functions, in float64.

jax: vit_jax/checkpoint.py, interpolate_posembed: scipy.ndimage.zoom(grid, zoom, order=1).
torchvision: models/vision_transformer.py, interpolate_embeddings: bicubic, align_corners=True.
timm: layers/pos_embed.py, resample_abs_pos_embed: bicubic, antialias=True.
hf: transformers' interpolate_pos_encoding: bicubic, align_corners=False.
"""

import scipy.ndimage
import torch
import torch.nn.functional as F

from golden_format import dump, generator, randn

CASES = [((2, 2), (4, 4)), ((4, 4), (2, 2)), ((3, 3), (5, 5)), ((7, 7), (12, 12)), ((7, 7), (3, 3)),
         ((4, 4), (6, 3)), ((3, 5), (4, 7)), ((1, 1), (3, 3)), ((5, 5), (1, 1)), ((8, 8), (3, 11))]
CHANNELS = 2


def interpolate(grid, size, **how):
    images = grid.permute(2, 0, 1)[None]
    return F.interpolate(images, size=size, mode="bicubic", **how)[0].permute(1, 2, 0)


def make():
    stream = generator("positions")
    cases = []
    for old, new in CASES:
        grid = randn(stream, *old, CHANNELS)
        zoom = (new[0] / old[0], new[1] / old[1], 1)
        cases.append({
            "from": old, "to": new, "channels": CHANNELS, "values": grid.flatten().tolist(),
            "jax": scipy.ndimage.zoom(grid.numpy(), zoom, order=1).flatten().tolist(),
            "torchvision": interpolate(grid, new, align_corners=True).flatten().tolist(),
            "timm": interpolate(grid, new, align_corners=False, antialias=True).flatten().tolist(),
            "hf": interpolate(grid, new, align_corners=False).flatten().tolist(),
        })
    return dump({"cases": cases})
