"""optimizers.json: {"steps", "base_lr", "start", "roles", "gradients", "runs"}.

`start` holds the parameters' values, `gradients` a list with one object a step: name to gradient. A
name that is missing there has no gradient at that step: optimizers skip it. A run of 20 steps is
{"optimizer", "options", "schedule", "warmup", "clip" (or null), "undecayed", "lr", "norm",
"parameters"}: rate, norm before clipping, and parameters after each step. `undecayed` lists the names
that weight decay spares. The rates come from PyTorch's own schedulers.
"""

import torch
from torch import nn
from torch.optim import lr_scheduler

from golden_format import dump, generator, randn, tensors

STEPS = 20
BASE_LR = 0.05
SHAPES = {"fc.weight": (3, 4), "fc.bias": (3,), "norm.weight": (4,)}
ROLES = {"fc.weight": "weight", "fc.bias": "bias", "norm.weight": "norm"}


def draw_gradients():
    stream = generator("gradients")
    gradients = []
    for step in range(STEPS):
        # Norms between about 0.5 and 10: some are clipped at 2 and some are not.
        scale = 0.1 + 1.9 * ((step * 7) % STEPS) / STEPS
        drawn = {name: scale * randn(stream, *shape) for name, shape in SHAPES.items()}
        if step in (0, 5, 6):
            del drawn["norm.weight"]
        gradients.append(drawn)
    return gradients


def scheduler(optimizer, schedule, warmup):
    after = {
        "constant": lambda: lr_scheduler.ConstantLR(optimizer, factor=1.0),
        "linear": lambda: lr_scheduler.LinearLR(
            optimizer, start_factor=1.0, end_factor=0.0, total_iters=STEPS - warmup),
        "cosine": lambda: lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS - warmup),
    }[schedule]
    if warmup == 0:
        return after()
    first = lr_scheduler.LinearLR(optimizer, start_factor=1 / warmup, total_iters=warmup - 1)
    return lr_scheduler.SequentialLR(optimizer, [first, after()], milestones=[warmup])


def run(name, make_optimizer, start, gradients, schedule="constant", warmup=0, clip=None,
        undecayed=(), **options):
    parameters = {name: nn.Parameter(x.clone()) for name, x in start.items()}
    groups = [
        {"params": [p for n, p in parameters.items() if n not in undecayed]},
        {"params": [p for n, p in parameters.items() if n in undecayed], "weight_decay": 0.0},
    ]
    groups = [g for g in groups if g["params"]]
    optimizer = make_optimizer(groups, lr=BASE_LR, **options)
    schedule_of_rates = scheduler(optimizer, schedule, warmup)
    rates, norms, after = [], [], []
    for drawn in gradients:
        for n, p in parameters.items():
            p.grad = drawn[n].clone() if n in drawn else None
        limit = float("inf") if clip is None else clip
        norms.append(nn.utils.clip_grad_norm_(parameters.values(), limit).item())
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule_of_rates.step()
        after.append(tensors(parameters))
    return {
        "optimizer": name, "options": options, "schedule": schedule, "warmup": warmup,
        "clip": clip, "undecayed": list(undecayed), "lr": rates, "norm": norms, "parameters": after,
    }


def make():
    stream = generator("start")
    start = {name: randn(stream, *shape) for name, shape in SHAPES.items()}
    gradients = draw_gradients()
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
    runs = [run(name, kind, start, gradients, **settings) for name, kind, settings in rows]
    return dump({
        "steps": STEPS, "base_lr": BASE_LR, "start": tensors(start), "roles": ROLES,
        "gradients": [tensors(g) for g in gradients], "runs": runs,
    })
