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
import torchvision

from make_golden import generator, randn, tensor, tensors

C, SIDE, P, D, L, H, M, K = 3, 8, 4, 8, 2, 2, 12, 3
T = (SIDE // P) ** 2 + 1
D_H = D // H


def redraw(stream, parameters):
    with torch.no_grad():
        for name, p in parameters.items():
            scale = "norm" in name.lower() or ".ln" in name
            is_scale = scale and name.endswith(("weight", "scale"))
            p.copy_(0.3 * randn(stream, *p.shape) + (1.0 if is_scale else 0.0))


def torchvision_model(images):
    model = torchvision.models.VisionTransformer(
        image_size=SIDE, patch_size=P, num_layers=L, num_heads=H, hidden_dim=D, mlp_dim=M, num_classes=K)
    parameters = dict(model.named_parameters())
    redraw(generator("naming torchvision"), parameters)
    return model.eval()(images), parameters


def hf_model(images):
    shapes = {
        "vit.embeddings.cls_token": (1, 1, D),
        "vit.embeddings.position_embeddings": (1, T, D),
        "vit.embeddings.patch_embeddings.projection.weight": (D, C, P, P),
        "vit.embeddings.patch_embeddings.projection.bias": (D,),
        "vit.layernorm.weight": (D,), "vit.layernorm.bias": (D,),
        "classifier.weight": (K, D), "classifier.bias": (K,),
    }
    for i in range(L):
        layer = f"vit.encoder.layer.{i}."
        for name, (n_out, n_in) in {
            "attention.attention.query": (D, D), "attention.attention.key": (D, D),
            "attention.attention.value": (D, D), "attention.output.dense": (D, D),
            "intermediate.dense": (M, D), "output.dense": (D, M),
        }.items():
            shapes[layer + name + ".weight"] = (n_out, n_in)
            shapes[layer + name + ".bias"] = (n_out,)
        for name in ("layernorm_before", "layernorm_after"):
            shapes[layer + name + ".weight"] = shapes[layer + name + ".bias"] = (D,)
    p = {name: torch.empty(shape) for name, shape in shapes.items()}
    redraw(generator("naming hf"), p)

    def dense(x, name):
        return F.linear(x, p[name + ".weight"], p[name + ".bias"])

    def norm(x, name):
        return F.layer_norm(x, (D,), p[name + ".weight"], p[name + ".bias"], 1e-12)

    def heads(x):
        return x.view(-1, T, H, D_H).permute(0, 2, 1, 3)

    projection = "vit.embeddings.patch_embeddings.projection"
    z = F.conv2d(images, p[projection + ".weight"], p[projection + ".bias"], stride=P)
    z = z.flatten(2).transpose(1, 2)
    z = torch.cat([p["vit.embeddings.cls_token"].expand(len(images), -1, -1), z], 1)
    z = z + p["vit.embeddings.position_embeddings"]
    for i in range(L):
        layer = f"vit.encoder.layer.{i}."
        x = norm(z, layer + "layernorm_before")
        q, k, v = (heads(dense(x, layer + "attention.attention." + n)) for n in ("query", "key", "value"))
        probs = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(D_H), -1)
        context = (probs @ v).permute(0, 2, 1, 3).reshape(-1, T, D)
        z = z + dense(context, layer + "attention.output.dense")
        x = F.gelu(dense(norm(z, layer + "layernorm_after"), layer + "intermediate.dense"))
        z = z + dense(x, layer + "output.dense")
    return dense(norm(z, "vit.layernorm")[:, 0], "classifier"), p


def jax_shapes():
    """Of every tensor of the flax code, in its order."""
    shapes = {
        "cls": (1, 1, D),
        "Transformer/posembed_input/pos_embedding": (1, T, D),
        "embedding/kernel": (P, P, C, D), "embedding/bias": (D,),
        "Transformer/encoder_norm/scale": (D,), "Transformer/encoder_norm/bias": (D,),
        "head/kernel": (D, K), "head/bias": (K,),
    }
    for i in range(L):
        block = f"Transformer/encoderblock_{i}/"
        for name, kernel, bias in (
            ("MultiHeadDotProductAttention_1/query", (D, H, D_H), (H, D_H)),
            ("MultiHeadDotProductAttention_1/key", (D, H, D_H), (H, D_H)),
            ("MultiHeadDotProductAttention_1/value", (D, H, D_H), (H, D_H)),
            ("MultiHeadDotProductAttention_1/out", (H, D_H, D), (D,)),
            ("MlpBlock_3/Dense_0", (D, M), (M,)), ("MlpBlock_3/Dense_1", (M, D), (D,)),
        ):
            shapes[block + name + "/kernel"] = kernel
            shapes[block + name + "/bias"] = bias
        for name in ("LayerNorm_0", "LayerNorm_2"):
            shapes[block + name + "/scale"] = shapes[block + name + "/bias"] = (D,)
    return shapes


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
        "config": {"C": C, "H": SIDE, "W": SIDE, "P": P, "D": D, "L": L, "h": H, "M": M, "K": K},
        "images": tensor(images),
    }
    for scheme, model in (("torchvision", torchvision_model), ("hf", hf_model), ("jax", jax_model)):
        logits, parameters = model(images)
        result[scheme] = {"logits": tensor(logits), "parameters": tensors(parameters)}
    return result | {"positions": positions()}
