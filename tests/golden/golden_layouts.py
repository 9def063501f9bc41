"""layouts.json: {"heads", "layouts": [{"name", "config", "tensors": {name: shape}, "logits", "derivatives":
{name: [along, most]}}, ...]}: tiny Vision Transformers as their publishers write them, each under the names and
in the shapes of the publisher's own file.

The modules below are written as the publishers' are, so that their state dicts have the names: timm's
VisionTransformer and VisionTransformerDistilled (models/vision_transformer.py, models/deit.py), DeiT III's
(deit/models_v2.py), DINOv2's (dinov2/models/vision_transformer.py, dinov2/layers/), Hugging Face's ViT, DeiT with
its teacher, Dinov2 and Dinov2WithRegisters, torchvision's own class, and the flax code's products over named axes.

`config` is what a reader has to find out. Numbers are no random ones but number(i), so that none need to be
stored: a layout's tensors, in the order of their names, take 0.5 number(i) from i = 0 on (a norm's weights and
what LayerScale multiplies by take 1 more), the images (2, 3, 8, 8) number(i) from 1,000,003 on. Without a head the
logits are y. The loss is the sum of logits_i number(i) from 2,000,003 on. A derivative is that of the loss along a
direction of one tensor, number(i) from 3,000,017 on: [its value, the product of the gradient's and the direction's
lengths].
"""

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from make_golden import numbers, packed

C, SIDE, P, D, L, H, M, K = 3, 8, 4, 8, 2, 2, 12, 3
CONFIG = {"C": C, "H": SIDE, "W": SIDE, "P": P, "D": D, "L": L, "h": H, "M": M, "K": K}
N = (SIDE // P) ** 2
D_H = D // H


class LayerScale(nn.Module):
    def __init__(self, name="gamma"):
        super().__init__()
        self.name = name
        self.register_parameter(name, nn.Parameter(torch.ones(D)))

    def forward(self, x):
        return x * getattr(self, self.name)


class Attention(nn.Module):
    def __init__(self, qk_norm=False):
        super().__init__()
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.q_norm = nn.LayerNorm(D_H, eps=1e-6) if qk_norm else nn.Identity()
        self.k_norm = nn.LayerNorm(D_H, eps=1e-6) if qk_norm else nn.Identity()

    def forward(self, x):
        B, T, _ = x.shape
        q, k, v = self.qkv(x).reshape(B, T, 3, H, D_H).permute(2, 0, 3, 1, 4).unbind(0)
        scores = self.q_norm(q) * D_H**-0.5 @ self.k_norm(k).transpose(-2, -1)
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, D))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(D, M), nn.Linear(M, D)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class SwiGLU(nn.Module):
    """timm's SwiGLUPacked, DINOv2's SwiGLUFFN, Hugging Face's Dinov2SwiGLUFFN."""

    def __init__(self, first, second):
        super().__init__()
        self.names = first, second
        setattr(self, first, nn.Linear(D, 2 * M))
        setattr(self, second, nn.Linear(M, D))

    def forward(self, x):
        a, b = getattr(self, self.names[0])(x).chunk(2, -1)
        return getattr(self, self.names[1])(F.silu(a) * b)


class Block(nn.Module):
    def __init__(self, mlp=None, scale=True, qk_norm=False):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D, eps=1e-6), nn.LayerNorm(D, eps=1e-6)
        self.attn, self.mlp = Attention(qk_norm), mlp or Mlp()
        self.ls1, self.ls2 = (LayerScale() if scale else nn.Identity() for _ in range(2))

    def forward(self, x):
        x = x + self.ls1(self.attn(self.norm1(x)))
        return x + self.ls2(self.mlp(self.norm2(x)))


class BlockOfDeiT3(Block):
    def __init__(self):
        super().__init__(scale=False)
        self.gamma_1, self.gamma_2 = nn.Parameter(torch.ones(D)), nn.Parameter(torch.ones(D))

    def forward(self, x):
        x = x + self.gamma_1 * self.attn(self.norm1(x))
        return x + self.gamma_2 * self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(C, D, P, P)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


def token(n=1):
    return nn.Parameter(torch.zeros(1, n, D))


class Timm(nn.Module):
    """`positions` counts those that pos_embed has beside the patches'."""

    def __init__(self, block=Block, class_token=True, distilled=False, registers=0, positions=1, fc_norm=False,
                 head=True):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.cls_token = token() if class_token else None
        self.dist_token = token() if distilled else None
        self.reg_token = token(registers) if registers else None
        self.positions = positions
        self.pos_embed = token(N + positions)
        self.blocks = nn.Sequential(*[block() for _ in range(L)])
        self.norm = nn.Identity() if fc_norm else nn.LayerNorm(D, eps=1e-6)
        self.fc_norm = nn.LayerNorm(D, eps=1e-6) if fc_norm else nn.Identity()
        self.head = nn.Linear(D, K) if head else nn.Identity()
        if distilled:
            self.head_dist = nn.Linear(D, K)

    def forward(self, x):
        x = self.patch_embed(x)
        first = [t.expand(len(x), -1, -1) for t in (self.cls_token, self.dist_token) if t is not None]
        more = [self.reg_token.expand(len(x), -1, -1)] if self.reg_token is not None else []
        before = sum(t.shape[1] for t in first + more)
        if self.positions == 0:  # no_embed_class
            x = torch.cat(first + more + [x + self.pos_embed], 1)
        else:
            x = torch.cat(first + more + [x], 1) + self.pos_embed
        x = self.norm(self.blocks(x))
        if self.dist_token is not None:
            return (self.head(x[:, 0]) + self.head_dist(x[:, 1])) / 2
        return self.head(self.fc_norm(x[:, 0] if self.cls_token is not None else x[:, before:].mean(1)))


class DinoV2(nn.Module):
    def __init__(self, registers, giant):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.cls_token, self.pos_embed = token(), token(N + 1)
        self.register_tokens = token(registers) if registers else None
        self.mask_token = nn.Parameter(torch.zeros(1, D))
        self.blocks = nn.ModuleList(Block(SwiGLU("w12", "w3") if giant else None) for _ in range(L))
        self.norm = nn.LayerNorm(D, eps=1e-6)

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(len(x), -1, -1), x), 1) + self.pos_embed
        if self.register_tokens is not None:
            x = torch.cat((x[:, :1], self.register_tokens.expand(len(x), -1, -1), x[:, 1:]), 1)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)[:, 0]


def tree(**children):
    module = nn.Module()
    for name, child in children.items():
        module.add_module(name, child)
    return module


class HfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = tree(query=nn.Linear(D, D), key=nn.Linear(D, D), value=nn.Linear(D, D))
        self.output = tree(dense=nn.Linear(D, D))

    def forward(self, x):
        def heads(y):
            return y.view(len(x), -1, H, D_H).permute(0, 2, 1, 3)

        a = self.attention
        probs = (heads(a.query(x)) @ heads(a.key(x)).transpose(-1, -2) / D_H**0.5).softmax(-1)
        return self.output.dense((probs @ heads(a.value(x))).permute(0, 2, 1, 3).reshape(x.shape))


class HfLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = HfAttention()
        self.intermediate, self.output = tree(dense=nn.Linear(D, M)), tree(dense=nn.Linear(M, D))
        self.layernorm_before, self.layernorm_after = nn.LayerNorm(D, eps=1e-12), nn.LayerNorm(D, eps=1e-12)

    def forward(self, x):
        x = x + self.attention(self.layernorm_before(x))
        return x + self.output.dense(F.gelu(self.intermediate.dense(self.layernorm_after(x))))


class HfDinov2Layer(nn.Module):
    def __init__(self, giant):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D, eps=1e-6), nn.LayerNorm(D, eps=1e-6)
        self.attention = HfAttention()
        self.mlp = SwiGLU("weights_in", "weights_out") if giant else Mlp()
        self.layer_scale1, self.layer_scale2 = LayerScale("lambda1"), LayerScale("lambda1")

    def forward(self, x):
        x = x + self.layer_scale1(self.attention(self.norm1(x)))
        return x + self.layer_scale2(self.mlp(self.norm2(x)))


class HfEmbeddings(nn.Module):
    def __init__(self, distilled, registers, masks):
        super().__init__()
        self.cls_token = token()
        if distilled:
            self.distillation_token = token()
        if registers:
            self.register_tokens = token(registers)
        if masks:
            self.mask_token = nn.Parameter(torch.zeros(1, D))
        self.position_embeddings = token(N + 1 + distilled)
        self.patch_embeddings = tree(projection=nn.Conv2d(C, D, P, P))

    def forward(self, x):
        x = self.patch_embeddings.projection(x).flatten(2).transpose(1, 2)
        for t in ("distillation_token", "cls_token"):
            if hasattr(self, t):
                x = torch.cat((getattr(self, t).expand(len(x), -1, -1), x), 1)
        x = x + self.position_embeddings
        if hasattr(self, "register_tokens"):
            x = torch.cat((x[:, :1], self.register_tokens.expand(len(x), -1, -1), x[:, 1:]), 1)
        return x


class HfModel(nn.Module):
    def __init__(self, layer, eps, distilled=0, registers=0, masks=False, pooler=False):
        super().__init__()
        self.embeddings = HfEmbeddings(distilled, registers, masks)
        self.encoder = tree(layer=nn.ModuleList(layer() for _ in range(L)))
        self.layernorm = nn.LayerNorm(D, eps=eps)
        if pooler:
            self.pooler = tree(dense=nn.Linear(D, D))

    def forward(self, x):
        x = self.embeddings(x)
        for layer in self.encoder.layer:
            x = layer(x)
        return self.layernorm(x)


class HfClassifier(nn.Module):
    def __init__(self, name, model):
        super().__init__()
        self.name = name
        self.add_module(name, model)
        self.classifier = nn.Linear(D, K)

    def forward(self, x):
        return self.classifier(getattr(self, self.name)(x)[:, 0])


class HfDeiTWithTeacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.deit = HfModel(HfLayer, 1e-12, distilled=1)
        self.cls_classifier, self.distillation_classifier = nn.Linear(D, K), nn.Linear(D, K)

    def forward(self, x):
        y = self.deit(x)
        return (self.cls_classifier(y[:, 0]) + self.distillation_classifier(y[:, 1])) / 2


class HfBare(HfModel):
    def forward(self, x):
        return super().forward(x)[:, 0]


def jax_shapes():
    """Of every tensor of the flax code, in its order."""
    shapes = {
        "cls": (1, 1, D),
        "Transformer/posembed_input/pos_embedding": (1, N + 1, D),
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


class Flax:
    """vit_jax/models_vit.py: kernels (in, out), heads an axis of their own, images NHWC."""

    def __init__(self):
        self.p = {name: torch.zeros(shape, requires_grad=True) for name, shape in jax_shapes().items()}

    def named_parameters(self):
        return self.p.items()

    def norm(self, x, name):
        return F.layer_norm(x, (D,), self.p[name + "/scale"], self.p[name + "/bias"], 1e-6)

    def __call__(self, images):
        p, g = self.p, SIDE // P
        patches = images.permute(0, 2, 3, 1).reshape(-1, g, P, g, P, C)
        z = torch.einsum("bypxqc,pqcd->byxd", patches, p["embedding/kernel"]) + p["embedding/bias"]
        z = torch.cat([p["cls"].expand(len(images), -1, -1), z.reshape(len(images), -1, D)], 1)
        z = z + p["Transformer/posembed_input/pos_embedding"]
        for i in range(L):
            block = f"Transformer/encoderblock_{i}/"
            a = block + "MultiHeadDotProductAttention_1/"
            x = self.norm(z, block + "LayerNorm_0")
            q, k, v = (torch.einsum("btd,dhk->bthk", x, p[a + n + "/kernel"]) + p[a + n + "/bias"]
                       for n in ("query", "key", "value"))
            s = (torch.einsum("bqhk,bthk->bhqt", q, k) / D_H**0.5).softmax(-1)
            x = torch.einsum("bhqt,bthk->bqhk", s, v)
            z = z + torch.einsum("bqhk,hkd->bqd", x, p[a + "out/kernel"]) + p[a + "out/bias"]
            x = self.norm(z, block + "LayerNorm_2") @ p[block + "MlpBlock_3/Dense_0/kernel"]
            x = F.gelu(x + p[block + "MlpBlock_3/Dense_0/bias"])
            z = z + x @ p[block + "MlpBlock_3/Dense_1/kernel"] + p[block + "MlpBlock_3/Dense_1/bias"]
        return self.norm(z, "Transformer/encoder_norm")[:, 0] @ p["head/kernel"] + p["head/bias"]


def in_torchvision():
    return torchvision.models.VisionTransformer(image_size=SIDE, patch_size=P, num_layers=L, num_heads=H, hidden_dim=D,
                                                mlp_dim=M, num_classes=K)


def plain():
    return Block(scale=False)


def packed_swiglu(**more):
    return lambda: Block(SwiGLU("fc1", "fc2"), **more)


def layouts():
    scaled = {"layer_scale": 1e-5}
    hf = {"eps": 1e-12}
    no_head = {"head": "none", "K": D}
    yield "torchvision", in_torchvision(), {}
    yield "timm", Timm(plain), {}
    yield "timm, head-less", Timm(plain, head=False), no_head
    yield "timm, fc_norm", Timm(plain, class_token=False, positions=0, fc_norm=True), {
        "mean_pooling": True, "norm_after_pooling": True}
    yield "timm, qk_norm", Timm(lambda: Block(scale=False, qk_norm=True)), {"qk_norm": True}
    yield "timm, init_values", Timm(), scaled
    yield "timm, DINOv2's giant", Timm(packed_swiglu(), head=False), {**scaled, **no_head, "swiglu": True}
    yield "timm, registers without positions", Timm(packed_swiglu(qk_norm=True), registers=4, positions=0), {
        **scaled, "registers": 4, "swiglu": True, "qk_norm": True}
    yield "timm, registers with positions", Timm(registers=2, positions=3), {**scaled, "registers": 2}
    yield "timm, registers and fc_norm", Timm(class_token=False, registers=1, positions=0, fc_norm=True), {
        **scaled, "registers": 1, "mean_pooling": True, "norm_after_pooling": True}
    yield "timm, DeiT distilled", Timm(plain, distilled=True, positions=2), {"distilled": True}
    yield "DeiT III", Timm(BlockOfDeiT3, positions=0), scaled
    yield "DINOv2", DinoV2(0, False), {**scaled, **no_head}
    yield "DINOv2 with registers", DinoV2(4, False), {**scaled, **no_head, "registers": 4}
    yield "DINOv2's giant with registers", DinoV2(4, True), {**scaled, **no_head, "registers": 4, "swiglu": True}
    yield "JAX", Flax(), {}
    yield "Hugging Face ViT", HfClassifier("vit", HfModel(HfLayer, 1e-12)), hf
    yield "Hugging Face ViTModel", HfBare(HfLayer, 1e-12, pooler=True), {**hf, **no_head}
    yield "Hugging Face DeiT", HfClassifier("deit", HfModel(HfLayer, 1e-12)), hf
    yield "Hugging Face DeiT with its teacher", HfDeiTWithTeacher(), {**hf, "distilled": True}
    yield "Hugging Face Dinov2", HfBare(lambda: HfDinov2Layer(False), 1e-6, masks=True), {**scaled, **no_head}
    yield "Hugging Face Dinov2, giant", HfBare(lambda: HfDinov2Layer(True), 1e-6, masks=True), {
        **scaled, **no_head, "swiglu": True}
    yield "Hugging Face Dinov2 with registers", HfBare(lambda: HfDinov2Layer(False), 1e-6, registers=4, masks=True), {
        **scaled, **no_head, "registers": 4}


def make():
    images = numbers(1_000_003, (2, C, SIDE, SIDE))
    written = []
    for name, model, config in layouts():
        if isinstance(model, nn.Module):
            model.double().eval()
        parameters = dict(sorted(model.named_parameters()))
        at = 0
        with torch.no_grad():
            for n, p in parameters.items():
                more = p.dim() == 1 and n.endswith(("weight", "scale", "gamma", "lambda1", "gamma_1", "gamma_2"))
                p.copy_(0.5 * numbers(at, p.shape) + (1.0 if more else 0.0))
                at += p.numel()
        logits = model(images)
        (logits * numbers(2_000_003, logits.shape)).sum().backward()
        derivatives = {}
        for n, p in parameters.items():
            if p.grad is None:  # a mask's token, a pooler
                continue
            direction = numbers(3_000_017, p.shape)
            derivatives[n] = [(p.grad * direction).sum().item(), (p.grad.norm() * direction.norm()).item()]
        written.append({
            "name": name, "config": {**CONFIG, "eps": 1e-6, "dropout": 0.0, "attention_dropout": 0.0, **config},
            "tensors": {n: list(p.shape) for n, p in parameters.items()}, "logits": packed(logits, "f64"),
            "derivatives": derivatives})
    return {"heads": H, "layouts": written}
