"""naming.json: {"config", "images", scheme: {"logits", "parameters"}, ...}: a tiny ViT under each
naming scheme, with its own random weights and its own forward pass, written as that project does:

torchvision: torchvision.models.VisionTransformer itself.
hf: ViTForImageClassification's modules, three matrices for query, key and value.
jax: the flax code's products over named axes, in numpy: kernels (in, out), heads an axis of their own,
     images NHWC, patches by a convolution with an HWIO kernel.

timm's names are ours: vit.json holds a model under them. layouts.json holds one of each publisher's layout. Image values are (B, C, H, W).

"positions" is [{"from": [h, w], "to": [h, w], "channels": n, "values", "jax", "torchvision", "timm", "hf"}, ...]:
position embeddings resized by the original functions, in float64.

jax: vit_jax/checkpoint.py, interpolate_posembed: scipy.ndimage.zoom(grid, zoom, order=1).
torchvision: models/vision_transformer.py, interpolate_embeddings: bicubic, align_corners=True.
timm: layers/pos_embed.py, resample_abs_pos_embed: bicubic, antialias=True.
hf: transformers' interpolate_pos_encoding: bicubic, align_corners=False.
"""

import math

import numpy as np
import scipy.ndimage
import torch
import torch.nn.functional as F

from golden_layouts import C, CONFIG, D, D_H, L, P, SIDE, HfClassifier, HfLayer, HfModel, in_torchvision, jax_shapes
from make_golden import generator, randn, redraw, tensor, tensors


def torchvision_model(images):
    model = in_torchvision()
    parameters = dict(model.named_parameters())
    redraw(generator("naming torchvision"), parameters)
    return model.eval()(images), parameters


def hf_model(images):
    model = HfClassifier("vit", HfModel(HfLayer, 1e-12))
    parameters = dict(sorted(model.named_parameters(), key=lambda p: ".layer." in p[0]))  # the layers last
    redraw(generator("naming hf"), parameters)
    return model(images), parameters


def jax_model(images):
    drawn = {name: torch.empty(shape) for name, shape in jax_shapes().items()}
    redraw(generator("naming jax"), drawn)
    p = {name: x.numpy() for name, x in drawn.items()}
    erf = np.vectorize(math.erf)

    def norm(x, name):
        mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-6) * p[name + "/scale"] + p[name + "/bias"]

    x = images.permute(0, 2, 3, 1).numpy()
    g = SIDE // P
    patches = x.reshape(-1, g, P, g, P, C)
    z = np.einsum("bypxqc,pqcd->byxd", patches, p["embedding/kernel"]) + p["embedding/bias"]
    z = z.reshape(len(x), -1, D)
    z = np.concatenate([np.tile(p["cls"], [len(x), 1, 1]), z], 1)
    z = z + p["Transformer/posembed_input/pos_embedding"]
    for i in range(L):
        block = f"Transformer/encoderblock_{i}/"
        attention = block + "MultiHeadDotProductAttention_1/"
        x = norm(z, block + "LayerNorm_0")
        q, k, v = (np.einsum("btd,dhk->bthk", x, p[attention + n + "/kernel"]) + p[attention + n + "/bias"]
                   for n in ("query", "key", "value"))
        s = np.exp(np.einsum("bqhk,bthk->bhqt", q, k) / math.sqrt(D_H))
        s = s / s.sum(-1, keepdims=True)
        x = np.einsum("bhqt,bthk->bqhk", s, v)
        z = z + np.einsum("bqhk,hkd->bqd", x, p[attention + "out/kernel"]) + p[attention + "out/bias"]
        x = norm(z, block + "LayerNorm_2") @ p[block + "MlpBlock_3/Dense_0/kernel"]
        x = x + p[block + "MlpBlock_3/Dense_0/bias"]
        x = x * (1 + erf(x / math.sqrt(2))) / 2
        z = z + x @ p[block + "MlpBlock_3/Dense_1/kernel"] + p[block + "MlpBlock_3/Dense_1/bias"]
    y = norm(z, "Transformer/encoder_norm")[:, 0]
    return torch.from_numpy(y @ p["head/kernel"] + p["head/bias"]), drawn


GRIDS = [((2, 2), (4, 4)), ((4, 4), (2, 2)), ((3, 3), (5, 5)), ((7, 7), (12, 12)), ((7, 7), (3, 3)),
         ((4, 4), (6, 3)), ((3, 5), (4, 7)), ((1, 1), (3, 3)), ((5, 5), (1, 1)), ((8, 8), (3, 11))]
CHANNELS = 2


def interpolate(grid, size, **how):
    images = grid.permute(2, 0, 1)[None]
    return F.interpolate(images, size=size, mode="bicubic", **how)[0].permute(1, 2, 0)


def positions():
    stream = generator("positions")
    cases = []
    for old, new in GRIDS:
        grid = randn(stream, *old, CHANNELS)
        zoom = (new[0] / old[0], new[1] / old[1], 1)
        cases.append({
            "from": old, "to": new, "channels": CHANNELS, "values": grid.flatten().tolist(),
            "jax": scipy.ndimage.zoom(grid.numpy(), zoom, order=1).flatten().tolist(),
            "torchvision": interpolate(grid, new, align_corners=True).flatten().tolist(),
            "timm": interpolate(grid, new, align_corners=False, antialias=True).flatten().tolist(),
            "hf": interpolate(grid, new, align_corners=False).flatten().tolist(),
        })
    return cases


def make():
    images = randn(generator("naming"), 2, C, SIDE, SIDE)
    result = {
        "config": CONFIG,
        "images": tensor(images),
    }
    for scheme, model in (("torchvision", torchvision_model), ("hf", hf_model), ("jax", jax_model)):
        logits, parameters = model(images)
        result[scheme] = {"logits": tensor(logits), "parameters": tensors(parameters)}
    return result | {"positions": positions()}
