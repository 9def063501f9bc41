"""figure7.json: {"tensors": [{"name", "shape", "scale", "offset"}, ...], "variances", "total", "components",
"similarity", "distance", "on_class_token", "logits"}: the paper's Figure 7 of a model with the names and shapes of the
ViT-Ti/16 that 'How to train your ViT' published as .npz (Steiner et al., arXiv 2106.10270), at its own 224 x 224.

Its numbers are made up, the same here and in the test: the i-th of tensor k (from 0, in the order of "tensors")
is offset + scale u(2^32 k + i), u(n) = splitmix64's output number n, as a number in [-1, 1) of 2^-52ths; position n's
entry d has (column of n * d + 3 * row of n) mod 5 - 2 more, so that patches of a row or column are alike. The picture,
(3, 224, 224), is u of k = 2^31.

Computed by numpy in float64 from the paper's equations. "components" are those numbered in "which" of the 28 principal
components of the 192 embedding filters (C, P, P), by a singular value decomposition, the largest entry positive,
"variances" of all 28 the squares of the singular values by 192. "similarity": for the patches "of" their cosine with
every other's position (196). "distance" (L, h): pixels between a query's patch and the others', weighted by attention
without the class token, mean over queries; "on_class_token" what patches give to that. "logits" are those of class 0,
100, ... 900.
"""

import numpy as np
import torch
from scipy.special import erf

from make_golden import packed

D, L, H, K, P, SIDE = 192, 12, 3, 1000, 16, 224
G = SIDE // P
WHICH, OF = (0, 1, 27), (0, 97, 195)


def uniform(k, n):
    """The first n numbers of stream k, in [-1, 1)."""
    z = (np.arange(n, dtype=np.uint64) + np.uint64((k << 32) + 1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1


def layout():
    """(name, shape, scale, offset) of each tensor, in the file's order."""
    yield "Transformer/encoder_norm/bias", (D,), 0.1, 0
    yield "Transformer/encoder_norm/scale", (D,), 0.1, 1
    for i in range(L):
        block = f"Transformer/encoderblock_{i}/"
        for norm in ("LayerNorm_0", "LayerNorm_2"):
            yield f"{block}{norm}/bias", (D,), 0.1, 0
            yield f"{block}{norm}/scale", (D,), 0.1, 1
        for dense, a, b in (("Dense_0", D, 4 * D), ("Dense_1", 4 * D, D)):
            yield f"{block}MlpBlock_3/{dense}/bias", (b,), 0.1, 0
            yield f"{block}MlpBlock_3/{dense}/kernel", (a, b), 0.05, 0
        attention = block + "MultiHeadDotProductAttention_1/"
        for name in ("key", "query", "value"):
            # Heads look farther in some blocks than in others.
            scale = 0.1 if name == "value" else 0.05 * (1 + i)
            yield f"{attention}{name}/bias", (H, D // H), 0.1, 0
            yield f"{attention}{name}/kernel", (D, H, D // H), scale, 0
        yield f"{attention}out/bias", (D,), 0.1, 0
        yield f"{attention}out/kernel", (H, D // H, D), 0.05, 0
    yield "Transformer/posembed_input/pos_embedding", (1, G * G + 1, D), 0.5, 0
    yield "cls", (1, 1, D), 1, 0
    yield "embedding/bias", (D,), 0.1, 0
    yield "embedding/kernel", (P, P, 3, D), 0.1, 0
    yield "head/bias", (K,), 0.1, 0
    yield "head/kernel", (D, K), 0.1, 0


def drawn():
    p = {}
    for k, (name, shape, scale, offset) in enumerate(layout()):
        p[name] = (offset + scale * uniform(k, int(np.prod(shape)))).reshape(shape)
    n, d = np.meshgrid(np.arange(G * G), np.arange(D), indexing="ij")
    p["Transformer/posembed_input/pos_embedding"][0, 1:] += (n % G * d + 3 * (n // G)) % 5 - 2
    return p


def norm(x, p, name):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-6) * p[name + "/scale"] + p[name + "/bias"]


def forward(p, picture):
    """The logits (K), and each block's attention (H, T, T)."""
    patches = picture.reshape(3, G, P, G, P).transpose(1, 3, 2, 4, 0)  # y x, dy dx c
    z = np.einsum("yxpqc,pqcd->yxd", patches, p["embedding/kernel"], optimize=True).reshape(G * G, D)
    z = np.concatenate([p["cls"][0], z + p["embedding/bias"]]) + p["Transformer/posembed_input/pos_embedding"][0]
    maps = []
    for i in range(L):
        block = f"Transformer/encoderblock_{i}/"
        attention = block + "MultiHeadDotProductAttention_1/"
        x = norm(z, p, block + "LayerNorm_0")
        q, k, v = (np.einsum("td,dhk->htk", x, p[f"{attention}{name}/kernel"], optimize=True)
                   + p[f"{attention}{name}/bias"][:, None] for name in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(D // H)
        A = np.exp(scores - scores.max(-1, keepdims=True))
        A = A / A.sum(-1, keepdims=True)
        maps.append(A)
        z = z + np.einsum("htk,hkd->td", A @ v, p[attention + "out/kernel"], optimize=True) + p[attention + "out/bias"]
        mlp = block + "MlpBlock_3/"
        x = norm(z, p, block + "LayerNorm_2") @ p[mlp + "Dense_0/kernel"] + p[mlp + "Dense_0/bias"]
        x = x * (1 + erf(x / np.sqrt(2))) / 2
        z = z + x @ p[mlp + "Dense_1/kernel"] + p[mlp + "Dense_1/bias"]
    return norm(z[0], p, "Transformer/encoder_norm") @ p["head/kernel"] + p["head/bias"], maps


def make():
    p = drawn()
    filters = p["embedding/kernel"].transpose(3, 2, 0, 1).reshape(D, -1)
    _, s, components = np.linalg.svd(filters - filters.mean(0), full_matrices=False)
    components = np.array([c * np.sign(c[np.abs(c).argmax()]) for c in components[list(WHICH)]])

    E = p["Transformer/posembed_input/pos_embedding"][0, 1:]
    unit = E / np.linalg.norm(E, axis=1, keepdims=True)

    logits, maps = forward(p, uniform(1 << 31, 3 * SIDE * SIDE).reshape(3, SIDE, SIDE))
    places = np.stack(np.divmod(np.arange(G * G), G), 1) * P
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    distance, on_class_token = [], []
    for A in maps:
        of_patches = A[:, 1:, 1:] / A[:, 1:, 1:].sum(-1, keepdims=True)
        distance.append((of_patches * apart).sum(-1).mean(-1))
        on_class_token.append(A[:, 1:, 0].mean(-1))

    def f64(x):
        return packed(torch.from_numpy(np.ascontiguousarray(x)), "f64")

    return {
        "tensors": [{"name": n, "shape": s, "scale": a, "offset": b} for n, s, a, b in layout()],
        "variances": f64(s[:28]**2 / D), "total": float((s**2).sum() / D), "which": list(WHICH),
        "components": f64(components.reshape(-1, 3, P, P)), "of": list(OF),
        "similarity": f64(unit[list(OF)] @ unit.T), "distance": f64(np.array(distance)),
        "on_class_token": f64(np.array(on_class_token)), "logits": f64(logits[::100]),
    }
