"""switches.json: {"images", "labels", "pool", "cases": [{"name", "config", "seed", "logits", "loss",
"gradients"}, ...], "mimetic"}: Vision Transformers with one switch of the config turned, or some of them.

Written from the sources of each variant, not from ours: the paper's Equations 1 to 4; the Transformer
of 2017 for post-norm and for waves (arXiv 1706.03762); DETR's PositionEmbeddingLearned for rows and
columns; BEiT's relative positions as timm writes them (models/beit.py, gen_relative_position_index);
timm's build_sincos2d_pos_embed; timm's LayerScale, SwiGLUPacked, qk_norm (models/vision_transformer.py) and
VisionTransformerDistilled (models/deit.py); DINOv2's prepare_tokens_with_masks for registers. Blocks are held
against nn.TransformerEncoderLayer here, and the stem (Xiao et al., arXiv 2106.14881) against the ConvStemConfig
of torchvision's VisionTransformer.

A parameter's values are 0.4 times the next numbers of "pool" (round again after its end), parameters
in the order of their names; weights of layer norms get 1 more. `loss` is the mean cross entropy of
the labels, `gradients` are of it. Where `seed` is there, dropout drops, by the masks of
golden_draws.py. Tensors are base64 of little-endian float64.

"mimetic" is {"seed", "qk", "v_proj"}: of each block of BASE, with mimetic initial values from the paper's
section 3 (arXiv 2305.09828), each head's W_q W_k^T (h, D, D) and W_v W_proj (D, D).
"""

import torch
import torch.nn.functional as F
from torch import nn

from make_golden import generator, packed, randn, tensor
from golden_draws import branch_mask, dropout_mask, fork, normal

BASE = {"C": 2, "H": 8, "W": 12, "P": 4, "D": 8, "L": 2, "h": 2, "M": 12, "K": 3, "eps": 1e-6,
        "dropout": 0.0, "attention_dropout": 0.0}
# What is not in a case's config.
OFF = {"P_w": 0, "stem": 0, "embedding_dropout": None, "projection_dropout": None, "mlp_dropout": None,
       "stochastic_depth": 0.0, "patch_bias": True, "qkv_bias": True, "proj_bias": True,
       "conv_patches": False, "per_head_qkv": False, "post_norm": False, "mean_pooling": False,
       "norm_after_pooling": False, "gelu_tanh": False, "positions": "learned", "head": "linear",
       "layer_scale": 0.0, "registers": 0, "swiglu": False, "qk_norm": False, "distilled": False}
LABELS = [2, 0, 1]
POOL = 997


class Vit:
    """Parameters, a random stream's key or None, and the forward pass of one config."""

    def __init__(self, config, pool, seed):
        self.c = {**OFF, **config}
        self.seed = seed
        c = self.c
        self.patch = (c["P"], c["P_w"] or c["P"])
        self.grid = (c["H"] // self.patch[0], c["W"] // self.patch[1])
        self.read = (0 if c["mean_pooling"] else 1) + (1 if c["distilled"] else 0)
        self.places = self.grid[0] * self.grid[1] + self.read
        self.tokens = self.places + c["registers"]
        self.p, at = {}, 0
        self.probs = {}  # of each block (B, h, T, T)
        for name, shape in sorted(self.shapes().items()):
            n = torch.Size(shape).numel()
            values = 0.4 * pool[(at + torch.arange(n)) % POOL].reshape(shape)
            at += n
            if "norm" in name and name.endswith("weight"):
                values = values + 1.0
            self.p[name] = values.requires_grad_()

    def shapes(self):
        c, shapes = self.c, {}
        D, h, M = c["D"], c["h"], c["M"]

        def dense(name, n_out, n_in, bias=True):
            shapes[name + ".weight"] = (n_out, n_in)
            if bias:
                shapes[name + ".bias"] = (n_out,)

        def norm(name, n=D):
            shapes[name + ".weight"] = shapes[name + ".bias"] = (n,)

        channels = c["C"]
        for i in range(c["stem"]):
            wider = D // 2 ** (c["stem"] - 1 - i)
            shapes[f"patch_embed.stem.{i}.conv.weight"] = (wider, channels, 3, 3)
            for kind in ("weight", "bias"):
                shapes[f"patch_embed.stem.{i}.norm.{kind}"] = (wider,)
            channels = wider
        shapes["patch_embed.proj.weight"] = (D, channels, *(side >> c["stem"] for side in self.patch))
        if c["patch_bias"]:
            shapes["patch_embed.proj.bias"] = (D,)
        if not c["mean_pooling"]:
            shapes["cls_token"] = (1, 1, D)
        if c["distilled"]:
            shapes["dist_token"] = (1, 1, D)
        if c["registers"]:
            shapes["reg_token"] = (1, c["registers"], D)
        if c["positions"] == "learned":
            shapes["pos_embed"] = (1, self.places, D)
        if c["positions"] == "learned_2d":
            shapes["pos_embed_rows"] = (self.grid[0], D // 2)
            shapes["pos_embed_columns"] = (self.grid[1], D // 2)
        for l in range(c["L"]):
            block = f"blocks.{l}."
            norm(block + "norm1")
            norm(block + "norm2")
            if c["per_head_qkv"]:
                for i in range(h):
                    dense(f"{block}attn.qkv.{i}", 3 * D // h, D, c["qkv_bias"])
            else:
                dense(block + "attn.qkv", 3 * D, D, c["qkv_bias"])
            dense(block + "attn.proj", D, D, c["proj_bias"])
            if c["qk_norm"]:
                norm(block + "attn.q_norm", D // h)
                norm(block + "attn.k_norm", D // h)
            if c["layer_scale"]:
                shapes[block + "ls1.gamma"] = shapes[block + "ls2.gamma"] = (D,)
            dense(block + "mlp.fc1", 2 * M if c["swiglu"] else M, D, c["proj_bias"])
            dense(block + "mlp.fc2", D, M, c["proj_bias"])
            if c["positions"] == "relative":
                n = (2 * self.grid[0] - 1) * (2 * self.grid[1] - 1)
                shapes[block + "attn.relative_position_bias_table"] = (
                    n + (3 if self.tokens > self.grid[0] * self.grid[1] else 0), h)
        norm("norm")
        if c["head"] == "tanh":
            dense("pre_logits", D, D)
        if c["head"] != "none":
            dense("head", c["K"], D)
            if c["distilled"]:
                dense("head_dist", c["K"], D)
        return shapes

    def dense(self, x, name):
        return F.linear(x, self.p[name + ".weight"], self.p.get(name + ".bias"))

    def norm(self, x, name):
        return F.layer_norm(x, self.p[name + ".weight"].shape, self.p[name + ".weight"], self.p[name + ".bias"],
                            self.c["eps"])

    def drop(self, x, rate, path):
        if self.seed is None or rate == 0:
            return x
        return x * dropout_mask(self.seed, path, rate, x.shape)

    def rate(self, name):
        return self.c["dropout"] if self.c[name] is None else self.c[name]

    def skip(self, x, l, branch):
        """Stochastic depth (Huang et al. 2016): the rate grows linearly from 0 with depth."""
        rate = self.c["stochastic_depth"] * l / (self.c["L"] - 1)
        if self.seed is None or rate == 0:
            return x
        return x * branch_mask(self.seed, l, branch, rate, len(x))

    def positions(self):
        """What is added to the tokens that have a place, (places, D) or 0."""
        c, (rows, columns), D = self.c, self.grid, self.c["D"]
        kind = c["positions"]
        if kind == "learned":
            return self.p["pos_embed"][0]
        if kind in ("none", "relative"):
            return 0
        if kind == "sincos":
            E = torch.zeros(self.places, D)
            X = torch.arange(self.places).reshape(-1, 1) / torch.pow(
                torch.tensor(10000.0), torch.arange(0, D, 2) / D)
            E[:, 0::2], E[:, 1::2] = torch.sin(X), torch.cos(X)
            return E
        y, x = (v.flatten() for v in torch.meshgrid(torch.arange(rows), torch.arange(columns),
                                                    indexing="ij"))
        if kind == "learned_2d":
            E = torch.cat([self.p["pos_embed_columns"][x], self.p["pos_embed_rows"][y]], 1)
        else:
            omega = 1 / 10000.0 ** (torch.arange(D // 4) / (D // 4))
            out_x, out_y = x[:, None] * omega[None], y[:, None] * omega[None]
            E = torch.cat([out_x.sin(), out_x.cos(), out_y.sin(), out_y.cos()], 1)
        return torch.cat([torch.zeros(self.read, D), E])

    def relative_bias(self, l):
        """(h, T, T), after timm's gen_relative_position_index."""
        rows, columns = self.grid
        first = self.read + self.c["registers"]
        table = self.p[f"blocks.{l}.attn.relative_position_bias_table"]
        places = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns),
                                            indexing="ij")).flatten(1)
        apart = (places[:, :, None] - places[:, None, :]).permute(1, 2, 0).contiguous()
        apart[:, :, 0] += rows - 1
        apart[:, :, 1] += columns - 1
        apart[:, :, 0] *= 2 * columns - 1
        index = torch.zeros(self.tokens, self.tokens, dtype=torch.int64)
        index[first:, first:] = apart.sum(-1)
        if first:
            index[:first], index[:, :first], index[:first, :first] = (
                len(table) - 3, len(table) - 2, len(table) - 1)
        return table[index.flatten()].reshape(self.tokens, self.tokens, -1).permute(2, 0, 1)

    def attention(self, x, l):
        c, name = self.c, f"blocks.{l}.attn"
        h, D_h = c["h"], c["D"] // c["h"]
        heads = []
        for i in range(h):
            if c["per_head_qkv"]:
                q, k, v = self.dense(x, f"{name}.qkv.{i}").chunk(3, -1)
            else:
                q, k, v = (part[..., i * D_h:(i + 1) * D_h]
                           for part in self.dense(x, name + ".qkv").chunk(3, -1))
            if c["qk_norm"]:
                q, k = self.norm(q, name + ".q_norm"), self.norm(k, name + ".k_norm")
            heads.append((q, k, v))
        scores = torch.stack([q @ k.transpose(-2, -1) / D_h**0.5 for q, k, _ in heads], 1)
        if c["positions"] == "relative":
            scores = scores + self.relative_bias(l)
        self.probs[l] = torch.softmax(scores, -1)
        A = self.drop(self.probs[l], c["attention_dropout"], name + ".attn_drop")
        out = torch.cat([A[:, i] @ v for i, (_, _, v) in enumerate(heads)], -1)
        return self.drop(self.dense(out, name + ".proj"), self.rate("projection_dropout"),
                         name + ".proj_drop")

    def mlp(self, x, l):
        name, rate = f"blocks.{l}.mlp", self.rate("mlp_dropout")
        x = self.dense(x, name + ".fc1")
        if self.c["swiglu"]:
            x = F.silu(x[..., :self.c["M"]]) * x[..., self.c["M"]:]
        else:
            x = F.gelu(x, approximate="tanh" if self.c["gelu_tanh"] else "none")
        x = self.drop(x, rate, name + ".drop1")
        return self.drop(self.dense(x, name + ".fc2"), rate, name + ".drop2")

    def scaled(self, x, name):
        return x * self.p[name] if self.c["layer_scale"] else x

    def msa(self, x, l):
        return self.skip(self.scaled(self.attention(x, l), f"blocks.{l}.ls1.gamma"), l, "msa")

    def ffn(self, x, l):
        return self.skip(self.scaled(self.mlp(x, l), f"blocks.{l}.ls2.gamma"), l, "mlp")

    def block(self, z, l):
        norm1, norm2 = f"blocks.{l}.norm1", f"blocks.{l}.norm2"
        if self.c["post_norm"]:
            z = self.norm(z + self.msa(z, l), norm1)
            return self.norm(z + self.ffn(z, l), norm2)
        z = z + self.msa(self.norm(z, norm1), l)
        return z + self.ffn(self.norm(z, norm2), l)

    def stem(self, x):
        for i in range(self.c["stem"]):
            name = f"patch_embed.stem.{i}."
            x = F.conv2d(x, self.p[name + "conv.weight"], stride=2, padding=1)
            mean = x.mean(1, keepdim=True)
            x = (x - mean) / (x.var(1, keepdim=True, unbiased=False) + self.c["eps"]).sqrt()
            w, b = (self.p[f"{name}norm.{kind}"][:, None, None] for kind in ("weight", "bias"))
            x = F.relu(x * w + b)
        return x

    def patches(self, images):
        E = self.p["patch_embed.proj.weight"]
        return F.conv2d(self.stem(images), E, self.p.get("patch_embed.proj.bias"),
                        stride=E.shape[2:]).flatten(2).transpose(1, 2)

    def encoded(self, z):
        """All tokens behind the last block, of the patches' embeddings."""
        for token in ("dist_token", "cls_token"):
            if token in self.p:
                z = torch.cat([self.p[token].expand(len(z), -1, -1), z], 1)
        z = z + self.positions()
        if self.c["registers"]:
            z = torch.cat([z[:, :self.read], self.p["reg_token"].expand(len(z), -1, -1), z[:, self.read:]], 1)
        z = self.drop(z, self.rate("embedding_dropout"), "pos_drop")
        for l in range(self.c["L"]):
            z = self.block(z, l)
        return z

    def __call__(self, images):
        c, z = self.c, self.encoded(self.patches(images))
        patches = z[:, self.tokens - self.grid[0] * self.grid[1]:]
        if c["distilled"]:
            z = self.norm(z, "norm")
            if c["head"] == "none":
                return (z[:, 0] + z[:, 1]) / 2
            self.both = self.dense(z[:, 0], "head"), self.dense(z[:, 1], "head_dist")
            return (self.both[0] + self.both[1]) / 2
        if not c["mean_pooling"]:
            y = self.norm(z[:, 0], "norm")
        elif c["norm_after_pooling"]:
            y = self.norm(patches.mean(1), "norm")
        else:
            y = self.norm(patches, "norm").mean(1)
        if c["head"] == "none":
            return y
        return self.dense(torch.tanh(self.dense(y, "pre_logits")) if c["head"] == "tanh" else y, "head")


def check_blocks(vit):
    """PyTorch's own encoder layer agrees, where it has the switches."""
    c = vit.c
    layer = nn.TransformerEncoderLayer(c["D"], c["h"], c["M"], 0.0, F.gelu, c["eps"], batch_first=True,
                                       norm_first=not c["post_norm"])
    ours = {"self_attn.in_proj_": "attn.qkv.", "self_attn.out_proj.": "attn.proj.", "linear1.": "mlp.fc1.",
            "linear2.": "mlp.fc2.", "norm1.": "norm1.", "norm2.": "norm2."}
    with torch.no_grad():
        for name, p in layer.named_parameters():
            theirs = next(t for t in ours if name.startswith(t))
            p.copy_(vit.p["blocks.0." + name.replace(theirs, ours[theirs])])
        z = randn(generator("switches block"), 2, vit.tokens, c["D"])
        assert torch.allclose(layer(z), vit.block(z, 0), rtol=0, atol=1e-13)


def check_stem(vit, images):
    """torchvision's own, whose norm may be any, and whose last convolution is 1 x 1."""
    from functools import partial

    from torchvision.models.convnext import LayerNorm2d
    from torchvision.models.vision_transformer import ConvStemConfig, VisionTransformer

    c = vit.c
    width = [c["D"] // 2 ** (c["stem"] - 1 - i) for i in range(c["stem"])]
    theirs = VisionTransformer(
        image_size=16, patch_size=c["P"], num_layers=1, num_heads=c["h"], hidden_dim=c["D"], mlp_dim=c["M"],
        conv_stem_configs=[ConvStemConfig(n, 3, 2, partial(LayerNorm2d, eps=c["eps"])) for n in width])
    with torch.no_grad():
        for i in range(c["stem"]):
            conv, norm, _ = theirs.conv_proj[i]
            conv.weight = nn.Parameter(vit.p[f"patch_embed.stem.{i}.conv.weight"])
            assert conv.bias is None
            norm.weight = nn.Parameter(vit.p[f"patch_embed.stem.{i}.norm.weight"])
            norm.bias = nn.Parameter(vit.p[f"patch_embed.stem.{i}.norm.bias"])
        assert torch.allclose(theirs.conv_proj[:-1](images), vit.stem(images), rtol=0, atol=1e-13)


def cases():
    off = {"as it is": {}}
    for name in ("patch_bias", "qkv_bias", "proj_bias"):
        off[name] = {name: False}
    for name in ("conv_patches", "per_head_qkv", "post_norm", "mean_pooling", "gelu_tanh"):
        off[name] = {name: True}
    off["norm_after_pooling"] = {"norm_after_pooling": True, "mean_pooling": True}
    off["norm_after_pooling of a class token"] = {"norm_after_pooling": True}
    for kind in ("none", "learned_2d", "sincos", "sincos_2d", "relative"):
        off[kind] = {"positions": kind}
        off[kind + ", mean"] = {"positions": kind, "mean_pooling": True}
    for head in ("tanh", "none"):
        off["head " + head] = {"head": head}
    off["eps"] = {"eps": 0.05}
    off["P_w"] = {"P": 4, "P_w": 2}
    off["P_w, convolution"] = {"P": 2, "P_w": 6, "conv_patches": True}
    off["stem"] = {"stem": 1}
    off["stem of 2"] = {"stem": 2, "eps": 0.01}
    off["stem, convolution"] = {"P": 4, "P_w": 2, "stem": 1, "conv_patches": True, "mean_pooling": True}
    off["no bias at all"] = {"patch_bias": False, "qkv_bias": False, "proj_bias": False}
    off["per head, no bias"] = {"per_head_qkv": True, "qkv_bias": False}
    off["post-norm, mean, tanh"] = {"post_norm": True, "mean_pooling": True, "gelu_tanh": True,
                                    "head": "tanh", "positions": "sincos_2d"}
    off["layer_scale"] = {"layer_scale": 0.5}
    off["swiglu"] = {"swiglu": True}
    off["qk_norm"] = {"qk_norm": True}
    off["qk_norm, per head, no bias"] = {"qk_norm": True, "per_head_qkv": True, "qkv_bias": False, "eps": 0.05}
    off["distilled"] = {"distilled": True}
    off["distilled, head none"] = {"distilled": True, "head": "none"}
    off["registers"] = {"registers": 3}
    off["registers, mean"] = {"registers": 2, "mean_pooling": True}
    off["registers, relative"] = {"registers": 2, "positions": "relative", "distilled": True}
    off["as DINOv2's giant"] = {"registers": 2, "layer_scale": 0.5, "swiglu": True, "qk_norm": True,
                                "proj_bias": False}
    yield from ((name, config, None) for name, config in off.items())
    for name in ("dropout", "attention_dropout", "embedding_dropout", "projection_dropout", "mlp_dropout"):
        yield name, {name: 0.25}, 7
    yield "stochastic_depth", {"stochastic_depth": 0.5, "L": 3}, 7
    yield "all rates", {"dropout": 0.5, "attention_dropout": 0.125, "embedding_dropout": 0.25,
                        "projection_dropout": 0.0, "mlp_dropout": 0.375, "stochastic_depth": 0.25}, 8
    yield "all rates, LayerScale, SwiGLU, distilled", {
        "dropout": 0.25, "attention_dropout": 0.25, "stochastic_depth": 0.5, "layer_scale": 0.5, "swiglu": True,
        "distilled": True, "registers": 1}, 10
    yield "all rates, post-norm, mean", {"dropout": 0.25, "attention_dropout": 0.25, "post_norm": True,
                                         "stochastic_depth": 0.5, "mean_pooling": True,
                                         "per_head_qkv": True}, 9


def drawn():
    """The pool, and the images."""
    stream = generator("switches")
    return randn(stream, POOL), randn(stream, len(LABELS), BASE["C"], BASE["H"], BASE["W"])


def mimetic(seed=11):
    D, h = BASE["D"], BASE["h"]

    def near_identity(alpha, beta, key):
        Z = torch.tensor([normal(key, i) for i in range(D * D)], dtype=torch.float64).reshape(D, D)
        return alpha * Z / D**0.5 + beta * torch.eye(D, dtype=torch.float64)

    def nearest(x, rank):
        U, S, Vh = torch.linalg.svd(x)
        return U[:, :rank] @ torch.diag(S[:rank]) @ Vh[:rank]

    keys = [fork(seed, "mimetic", (block,)) for block in range(BASE["L"])]
    qk = [torch.stack([nearest(near_identity(0.7, 0.7, fork(key, "qk", (i,))), D // h)
                       for i in range(h)]) for key in keys]
    v_proj = [near_identity(0.4, -0.4, fork(key, "v proj")) for key in keys]
    return {"seed": seed, "qk": [packed(x, "f64") for x in qk],
            "v_proj": [packed(x, "f64") for x in v_proj]}


def make():
    pool, images = drawn()
    written = []
    for name, switches, seed in cases():
        config = {**BASE, **switches}
        vit = Vit(config, pool, seed)
        if name in ("as it is", "post_norm", "mean_pooling", "eps"):
            check_blocks(vit)
        if name == "stem of 2":
            check_stem(vit, images)
        logits = vit(images)
        loss = F.cross_entropy(logits, torch.tensor(LABELS))
        loss.backward()
        written.append({
            "name": name, "config": config, "seed": seed, "logits": packed(logits, "f64"),
            "loss": loss.item(), "gradients": {n: packed(p.grad, "f64") for n, p in vit.p.items()},
        })
    return {"images": tensor(images), "labels": LABELS, "pool": tensor(pool), "cases": written,
            "mimetic": mimetic()}
