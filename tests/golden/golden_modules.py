"""modules.json: {"cases": [{"module", "options", "parameters", "inputs", "cotangents", "outputs",
"input_gradients", "gradients"}], "optimizers"}.

Layers' parameters and gradients go by our names; a layer of ours of attention is held against PyTorch's own
nn.MultiheadAttention: a second opinion, written by others. That itself, with all its arguments (its two
outputs are the result and the weights of each head), and torchvision.ops.MLP go by their names.

"optimizers" is a list of {"steps", "base_lr", "start", "roles", "gradients", "runs"}. `start` holds the parameters'
values, `gradients` a list with one object a step: name to gradient. A name that is missing there has no
gradient at that step: optimizers skip it. A run of 20 steps is {"optimizer", "options", "schedule", "warmup",
"clip" (or null), "undecayed", "lr", "norm", "parameters"}: rate, norm before clipping, and parameters after
each step. `undecayed` lists the names that weight decay spares; `factors`, where a run has them, says of names how
many times the rate theirs is. The rates come from PyTorch's own schedulers.
"""

import torch
from torch import nn
from torch.optim import lr_scheduler
from torchvision.ops import MLP

from make_golden import generator, randn, tensor, tensors

CASES = []


def case(name, module, shapes, names=None, function=None, **options):
    """Records one module, called as `function` of inputs of these shapes gives its outputs; `names` says
    what we call its parameters, where we call them otherwise."""
    stream = generator(f"{name} {shapes} {options}")
    parameters = {names[n] if names else n: p for n, p in module.named_parameters()}
    with torch.no_grad():
        for p in parameters.values():
            p.copy_(randn(stream, *p.shape))
    inputs = [randn(stream, *shape).requires_grad_() for shape in shapes]
    outputs = function(*inputs) if function else [module(*inputs)]
    cotangents = [randn(stream, *y.shape) for y in outputs]
    torch.autograd.backward(outputs, cotangents)
    CASES.append({
        "module": name,
        "options": options,
        "parameters": tensors(parameters),
        "inputs": [tensor(x) for x in inputs],
        "cotangents": [tensor(c) for c in cotangents],
        "outputs": [tensor(y) for y in outputs],
        "input_gradients": [tensor(x.grad) for x in inputs],
        "gradients": tensors({n: p.grad for n, p in parameters.items()}),
    })


def layers():
    case("linear", nn.Linear(4, 3), [(2, 5, 4)], sizes=[4, 3])
    case("linear", nn.Linear(4, 3, bias=False), [(5, 4)], sizes=[4, 3], bias=False)
    case("layer_norm", nn.LayerNorm(6, eps=1e-6), [(2, 3, 6)], sizes=[6], eps=1e-6)
    case("layer_norm", nn.LayerNorm((3, 5), eps=1e-5), [(2, 3, 5)], sizes=[3, 5], eps=1e-5)
    case("layer_norm", nn.LayerNorm(6, eps=0.1, elementwise_affine=False), [(2, 3, 6)], sizes=[6], eps=0.1,
         affine=False)
    no_bias = nn.LayerNorm(6, eps=1e-6)  # PyTorch 1.13 has no such argument: 2.1's bias=False
    no_bias.bias = None
    case("layer_norm", no_bias, [(2, 3, 6)], sizes=[6], eps=1e-6, bias=False)
    for approximate in ("none", "tanh"):
        mlp = nn.Sequential(nn.Linear(4, 7), nn.GELU(approximate), nn.Linear(7, 4))
        names = {"0.weight": "fc1.weight", "0.bias": "fc1.bias", "2.weight": "fc2.weight", "2.bias": "fc2.bias"}
        case("mlp", mlp, [(2, 3, 4)], names, sizes=[4, 7], tanh=approximate == "tanh")
    for heads in (1, 2, 4):
        attention = nn.MultiheadAttention(8, heads, batch_first=True)
        names = {"in_proj_weight": "qkv.weight", "in_proj_bias": "qkv.bias",
                 "out_proj.weight": "proj.weight", "out_proj.bias": "proj.bias"}
        case("attention", attention, [(2, 5, 8)], names,
             lambda x, a=attention: a(x, x, x, need_weights=False)[:1], sizes=[8, heads])


def multihead_attention(T, S, **options):
    module = nn.MultiheadAttention(8, 2, **options)

    def shape(length, width):
        return (2, length, width) if options.get("batch_first") else (length, 2, width)

    shapes = [shape(T, 8), shape(S, options.get("kdim", 8)), shape(S, options.get("vdim", 8))]
    case("MultiheadAttention", module, shapes, None, lambda *x: module(*x, average_attn_weights=False), **options)


def mlp(widths, norm=False, activation="relu", bias=True):
    kinds = dict(relu=nn.ReLU, gelu=nn.GELU, tanh=nn.Tanh)
    module = MLP(4, widths, norm_layer=nn.LayerNorm if norm else None, activation_layer=kinds[activation],
                 inplace=None, bias=bias)
    case("MLP", module, [(2, 3, 4)], widths=widths, norm=norm, activation=activation, bias=bias)


def modules():
    multihead_attention(5, 3)
    multihead_attention(5, 3, batch_first=True, bias=False)
    multihead_attention(4, 3, add_bias_kv=True)
    multihead_attention(4, 3, add_zero_attn=True)
    multihead_attention(3, 4, batch_first=True, kdim=5, vdim=6, add_bias_kv=True, add_zero_attn=True)
    mlp([5])
    mlp([7, 4], activation="gelu")
    mlp([6, 5, 3], norm=True)
    mlp([6, 5, 3], norm=True, bias=False, activation="tanh")


# --- optimizers ----------------------------------------------------------------------------------

STEPS = 20
BASE_LR = 0.05
SHAPES = {"fc.weight": (3, 4), "fc.bias": (3,), "norm.weight": (4,)}
ROLES = {"fc.weight": "weight", "fc.bias": "bias", "norm.weight": "norm"}
# Muon's own: matrices of a block, wide, high, and q, k and v in one.
BLOCK_SHAPES = {"blocks.0.attn.qkv.weight": (6, 2), "blocks.0.mlp.fc1.weight": (3, 2),
                "blocks.0.mlp.fc2.weight": (2, 3), "blocks.0.mlp.fc1.bias": (3,),
                "head.weight": (2, 2)}
BLOCK_ROLES = {name: name.rsplit(".")[-1] for name in BLOCK_SHAPES}


class Muon(torch.optim.Optimizer):
    """torch.optim.Muon of PyTorch 2.9 with adjust_lr_fn="match_rms_adamw", which 1.13 has not,
    beside AdamW for all but the matrices of blocks. Written from its documentation, by SVD in place of
    X's powers: every Newton-Schulz step takes a singular value s to a s + b s^3 + c s^5."""

    def __init__(self, params, lr, momentum=0.95, nesterov=True, weight_decay=0.01,
                 betas=(0.9, 0.999)):
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay))
        self.momentum, self.nesterov = momentum, nesterov
        self.beside = [g for g in self.param_groups if not all(p.of_block for p in g["params"])]
        self.adamw = torch.optim.AdamW(
            [{"params": [p for p in g["params"] if not p.of_block], "weight_decay": g["weight_decay"]}
             for g in self.beside], lr=lr, betas=betas)

    @staticmethod
    def orthogonalised(G):
        U, s, Vh = torch.linalg.svd(G, full_matrices=False)
        s = s / s.pow(2).sum().sqrt().clamp(min=1e-7)
        for _ in range(5):
            s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
        return U @ torch.diag(s) @ Vh

    @torch.no_grad()
    def step(self):
        for group, its in zip(self.adamw.param_groups, self.beside):
            group["lr"] = its["lr"]
        self.adamw.step()
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.of_block and p.grad is not None):
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                m.lerp_(p.grad, 1 - self.momentum)
                update = p.grad.lerp(m, self.momentum) if self.nesterov else m
                parts = update.chunk(3) if p.of_block == "qkv" else [update]
                update = torch.cat([0.2 * max(x.shape) ** 0.5 * self.orthogonalised(x) for x in parts])
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * update)


def draw_gradients(shapes, name="gradients"):
    stream = generator(name)
    gradients = []
    for step in range(STEPS):
        # Norms between about 0.5 and 10: some are clipped at 2 and some are not.
        scale = 0.1 + 1.9 * ((step * 7) % STEPS) / STEPS
        drawn = {name: scale * randn(stream, *shape) for name, shape in shapes.items()}
        if step in (0, 5, 6):
            drawn.pop("norm.weight", None)
        gradients.append(drawn)
    return gradients


def scheduler(optimizer, schedule, steps, warmup):
    after = {
        "constant": lambda: lr_scheduler.ConstantLR(optimizer, factor=1.0),
        "linear": lambda: lr_scheduler.LinearLR(
            optimizer, start_factor=1.0, end_factor=0.0, total_iters=steps - warmup),
        "cosine": lambda: lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps - warmup),
    }[schedule]
    if warmup == 0:
        return after()
    first = lr_scheduler.LinearLR(optimizer, start_factor=1 / warmup, total_iters=max(1, warmup - 1))
    return lr_scheduler.SequentialLR(optimizer, [first, after()], milestones=[warmup])


def run(name, make_optimizer, start, gradients, schedule="constant", warmup=0, clip=None,
        undecayed=(), factors=None, **options):
    parameters = {name: nn.Parameter(x.clone()) for name, x in start.items()}
    for n, p in parameters.items():
        matrix = n.startswith("blocks.") and p.dim() == 2
        p.of_block = matrix and ("qkv" if ".qkv." in n else "alone")
    groups = [
        {"params": [p for n, p in parameters.items() if n not in undecayed]},
        {"params": [p for n, p in parameters.items() if n in undecayed], "weight_decay": 0.0},
    ]
    groups = [g for g in groups if g["params"]]
    if factors:  # a group each, with a rate of its own
        groups = [{**g, "params": [parameters[n]], "lr": BASE_LR * factors.get(n, 1)}
                  for g in groups for n in parameters if any(parameters[n] is p for p in g["params"])]
    optimizer = make_optimizer(groups, lr=BASE_LR, **options)
    schedule_of_rates = scheduler(optimizer, schedule, STEPS, warmup)
    rates, norms, after = [], [], []
    for drawn in gradients:
        for n, p in parameters.items():
            p.grad = drawn[n].clone() if n in drawn else None
        limit = float("inf") if clip is None else clip
        norms.append(nn.utils.clip_grad_norm_(parameters.values(), limit).item())
        rates.append(optimizer.param_groups[0]["lr"] * BASE_LR / optimizer.param_groups[0]["initial_lr"])
        optimizer.step()
        schedule_of_rates.step()
        after.append(tensors(parameters))
    return {
        "optimizer": name, "options": options, "schedule": schedule, "warmup": warmup,
        "clip": clip, "undecayed": list(undecayed), **({"factors": factors} if factors else {}),
        "lr": rates, "norm": norms, "parameters": after,
    }


def optimizers():
    def drawn(shapes, start, gradients):
        stream = generator(start)
        return ({name: randn(stream, *shape) for name, shape in shapes.items()},
                draw_gradients(shapes, gradients))

    start, gradients = drawn(SHAPES, "start", "gradients")
    of_blocks = drawn(BLOCK_SHAPES, "start of blocks", "gradients of blocks")
    SGD, Adam, AdamW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    small = ("fc.bias", "norm.weight")
    rows = [
        ("sgd", SGD, {}),
        ("sgd", SGD, dict(momentum=0.9, schedule="cosine", warmup=4, clip=2.0)),
        ("sgd", SGD, dict(momentum=0.8, nesterov=True, weight_decay=0.1, schedule="linear")),
        ("sgd", SGD, dict(weight_decay=0.2, schedule="linear", warmup=5, undecayed=small)),
        ("adam", Adam, {}),
        ("adam", Adam, dict(betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1, schedule="cosine",
                            clip=2.0)),
        ("adamw", AdamW, {}),
        ("adamw", AdamW, dict(betas=(0.9, 0.98), eps=1e-7, weight_decay=0.3, schedule="cosine",
                              warmup=4, clip=2.0, undecayed=small)),
        ("adamw", AdamW, dict(weight_decay=0.05, schedule="linear", warmup=1, clip=1.0)),
    ]
    rates = {"fc.weight": 0.25, "fc.bias": 3.0}
    rows += [
        ("sgd", SGD, dict(momentum=0.9, weight_decay=0.1, schedule="cosine", warmup=4, factors=rates)),
        ("adam", Adam, dict(weight_decay=0.1, schedule="linear", factors=rates)),
        ("adamw", AdamW, dict(weight_decay=0.3, clip=2.0, undecayed=small, factors=rates)),
    ]
    runs = [run(name, kind, start, gradients, **settings) for name, kind, settings in rows]
    muons = [run("muon", Muon, *of_blocks, **settings) for settings in (
        {}, dict(momentum=0.8, nesterov=False, weight_decay=0.2, schedule="cosine", warmup=4, clip=2.0,
                 undecayed=("blocks.0.mlp.fc1.bias",)),
        dict(weight_decay=0.2, schedule="cosine", factors={
            "blocks.0.attn.qkv.weight": 0.5, "blocks.0.mlp.fc1.weight": 0.25,
            "blocks.0.mlp.fc1.bias": 0.75, "head.weight": 3.0}))]

    def setting(start, gradients, roles, runs):
        return {"steps": STEPS, "base_lr": BASE_LR, "start": tensors(start), "roles": roles,
                "gradients": [tensors(g) for g in gradients], "runs": runs}

    return [setting(start, gradients, ROLES, runs), setting(*of_blocks, BLOCK_ROLES, muons)]


def make():
    CASES.clear()
    layers()
    modules()
    return {"cases": CASES, "optimizers": optimizers()}
