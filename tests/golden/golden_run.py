"""run.json: {"images", "start", "cases"}: whole runs of training, held against `Run` itself.

"images" has the bytes and labels of the training and the test images, their shape and their mean and
std. "start" lists a small ViT's parameters before the first step, in the order in which all weights
below stand: float64, base64. Each case has

    name
    settings   what differs from the defaults, under the names of a config file
    fresh_head whether training begins with a head of zeros
    split      {"train", "validation"}: numbers of training images
    steps      [loss, rate, gradient norm before clipping] of each step
    weights    (steps, parameters): after each step
    averages   (steps, parameters): their moving average; where there is one
    epochs     [train loss, train accuracy, held-out loss, held-out accuracy, rate of the last step,
               mean gradient norm] of each epoch; fewer than `settings.epochs` when it stopped early
    best       the epoch, from 1, whose weights are kept
    test       [loss, accuracy] of the kept weights on the test images

The mathematics is PyTorch's: autograd, its optimizers with their parameter groups, its schedules,
its clipping, its cross entropy with soft targets and smoothing. Only what is drawn at random comes
from golden_draws.py, our generator written again in Python.
"""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from make_golden import generator, packed, redraw
from golden_draws import (K, MEAN, SIDE, STD, batch, branch_mask, dropout_mask, fork,
                          micro_batches, permutation, split)
from golden_modules import Muon, scheduler

C, P, D, L, H, M, EPS = 1, 3, 4, 2, 2, 6, 1e-6
TRAIN, TEST = 22, 13

MODEL = {"image_size": SIDE, "patch_size": P, "width": D, "depth": L, "heads": H, "mlp_width": M,
         "crop_padding": 0}
# Clipping bites in some steps and not in others, where there is a norm.
CASES = {
    # accumulation with a tail of 4 + 2 images, both kinds of mixing, everything random
    "adamw_cosine": {
        "optimizer": "adamw", "schedule": "cosine", "lr": 6e-3, "warmup": 0.2, "weight_decay": 0.1,
        "clip": 1, "label_smoothing": 0.1, "ema": 0.9, "epochs": 10, "batch_size": 4,
        "accumulate": 2, "dropout": 0.1, "attention_dropout": 0.1, "stochastic_depth": 0.3,
        "mixup": 0.4, "cutmix": 1.0, "seed": 3},
    # micro-batches of 3 + 1: nothing is dropped but whole branches
    "sgd_linear": {
        "optimizer": "sgd", "schedule": "linear", "lr": 0.05, "warmup": 1, "warmup_steps": 4,
        "momentum": 0.9, "weight_decay": 0.05, "clip": 1.3, "label_smoothing": 0.2, "ema": 0.7,
        "epochs": 5, "batch_size": 4, "micro_batch": 3, "stochastic_depth": 0.5,
        "crop_padding": 1, "flip": 0.5, "seed": 4},
    "adam_constant": {
        "optimizer": "adam", "schedule": "constant", "lr": 3e-3, "warmup": 0.1, "beta1": 0.8,
        "beta2": 0.98, "weight_decay": 0.01, "clip": 0, "epochs": 10, "batch_size": 8,
        "embedding_dropout": 0.2, "projection_dropout": 0.3, "mlp_dropout": 0.05, "seed": 5},
    "adamw_linear": {
        "optimizer": "adamw", "schedule": "linear", "lr": 5e-3, "warmup": 0.3, "weight_decay": 0.3,
        "clip": 1, "epochs": 16, "batch_size": 11, "dropout": 0.2, "cutmix": 0.7,
        "mix_probability": 0.6, "seed": 6},
    # the average is what validates; stops early
    "adamw_constant": {
        "optimizer": "adamw", "schedule": "constant", "lr": 4e-3, "warmup": 0.05, "beta1": 0.85,
        "beta2": 0.95, "weight_decay": 0.05, "clip": 2, "label_smoothing": 0.1, "ema": 0.8,
        "epochs": 30, "batch_size": 5, "val_fraction": 0.3, "patience": 5, "dropout": 0.1,
        "seed": 36},
    "adam_cosine": {
        "optimizer": "adam", "schedule": "cosine", "lr": 5e-3, "warmup": 0, "weight_decay": 0.02,
        "clip": 1.1, "epochs": 8, "batch_size": 6, "mixup": 1.0, "label_smoothing": 0.3,
        "seed": 8},
    "adam_linear": {
        "optimizer": "adam", "schedule": "linear", "lr": 4e-3, "warmup": 0.5, "warmup_steps": 3,
        "weight_decay": 0, "clip": 1.4, "epochs": 10, "batch_size": 8, "attention_dropout": 0.4,
        "seed": 9},
    # the recipe `finetune`, but for its sizes
    "sgd_cosine": {
        "optimizer": "sgd", "schedule": "cosine", "lr": 0.1, "warmup": 0.05, "warmup_steps": 500,
        "momentum": 0.9, "weight_decay": 0, "clip": 1, "label_smoothing": 0, "epochs": 10,
        "batch_size": 8, "seed": 10},
    # no average; stops early
    "sgd_constant": {
        "optimizer": "sgd", "schedule": "constant", "lr": 0.05, "warmup": 0.1, "momentum": 0,
        "weight_decay": 0.1, "clip": 2, "epochs": 30, "batch_size": 6, "accumulate": 1,
        "val_fraction": 0.4, "patience": 6, "dropout": 0.05, "stochastic_depth": 0.2, "seed": 1},
    # a rate for every layer, and one for the head
    "adamw_layer_decay": {
        "optimizer": "adamw", "schedule": "cosine", "lr": 8e-3, "warmup": 0.1, "weight_decay": 0.2,
        "clip": 1, "label_smoothing": 0.1, "epochs": 8, "batch_size": 6, "layer_decay": 0.65,
        "head_lr": 3, "seed": 11},
    "adam_head_lr": {
        "optimizer": "adam", "schedule": "linear", "lr": 4e-3, "warmup": 0, "weight_decay": 0.02,
        "clip": 1, "epochs": 8, "batch_size": 6, "head_lr": 0.2, "seed": 12},
    "sgd_layer_decay": {
        "optimizer": "sgd", "schedule": "cosine", "lr": 0.05, "warmup": 0.1, "momentum": 0.9,
        "weight_decay": 0.1, "clip": 1, "ema": 0.9, "epochs": 8, "batch_size": 6,
        "layer_decay": 0.5, "head_lr": 4, "dropout": 0.1, "seed": 13},
    "muon_layer_decay": {
        "optimizer": "muon", "schedule": "linear", "lr": 5e-3, "warmup": 0.2, "momentum": 0.9,
        "weight_decay": 0.2, "clip": 1.5, "epochs": 8, "batch_size": 6, "layer_decay": 0.8,
        "head_lr": 2, "seed": 14},
}
FRESH_HEAD = {"sgd_cosine", "sgd_layer_decay"}


# --- the model -----------------------------------------------------------------------------------


class Part(nn.Module):
    """Holds parameters under our names."""

    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


class ViT(nn.Module):
    """In our names, which are timm's; `trace` holds intermediates of the last forward pass."""

    def __init__(self, C=C, side=SIDE, P=P, D=D, L=L, H=H, M=M, K=K):
        super().__init__()
        self.H, self.trace = H, {}
        self.cls_token = nn.Parameter(torch.zeros(1, 1, D))
        self.pos_embed = nn.Parameter(torch.zeros(1, (side // P) ** 2 + 1, D))
        self.patch_embed = Part(proj=nn.Conv2d(C, D, P, P))
        self.blocks = nn.ModuleList(
            Part(norm1=nn.LayerNorm(D, eps=EPS),
                 attn=Part(qkv=nn.Linear(D, 3 * D), proj=nn.Linear(D, D)),
                 norm2=nn.LayerNorm(D, eps=EPS),
                 mlp=Part(fc1=nn.Linear(D, M), fc2=nn.Linear(M, D))) for _ in range(L))
        self.norm = nn.LayerNorm(D, eps=EPS)
        self.head = nn.Linear(D, K)

    def patches(self, images):
        return self.patch_embed.proj(images).flatten(2).transpose(1, 2)

    def forward(self, images, o=None, key=None):
        """Without a key: an evaluation, where nothing is random."""
        def drop(x, path, rate):
            return x if key is None or rate == 0 else x * dropout_mask(key, path, rate, x.shape)

        def skip(x, block, branch, rate):
            return x if key is None or rate == 0 else x * branch_mask(key, block, branch, rate, B)

        B, (T, D) = images.shape[0], self.pos_embed.shape[1:]
        rate = (o or {}).get
        usual = rate("dropout", 0)
        z = torch.cat([self.cls_token.expand(B, -1, -1), self.patches(images)], 1) + self.pos_embed
        z = drop(z, "pos_drop", rate("embedding_dropout", usual))
        self.trace = {"z_0": z}
        for i, block in enumerate(self.blocks):
            here, skipped = f"blocks.{i}.", rate("stochastic_depth", 0) * i / (len(self.blocks) - 1)
            D_h = D // self.H
            q, k, v = block.attn.qkv(block.norm1(z)).reshape(B, T, 3, self.H, D_h).permute(2, 0, 3, 1, 4)
            probs = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(D_h), -1)
            self.trace[here + "attn.probs"] = probs
            probs = drop(probs, here + "attn.attn_drop", rate("attention_dropout", 0))
            y = block.attn.proj((probs @ v).transpose(1, 2).reshape(B, T, D))
            y = drop(y, here + "attn.proj_drop", rate("projection_dropout", usual))
            z = z + skip(y, i, "msa", skipped)
            y = drop(F.gelu(block.mlp.fc1(block.norm2(z))), here + "mlp.drop1",
                     rate("mlp_dropout", usual))
            y = drop(block.mlp.fc2(y), here + "mlp.drop2", rate("mlp_dropout", usual))
            z = self.trace[here + "z"] = z + skip(y, i, "mlp", skipped)
        y = self.trace["y"] = self.norm(z[:, 0])
        return self.head(y)


def started():
    model = ViT()
    redraw(generator("run"), dict(model.named_parameters()), 0.25)
    return model


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


# --- a run ---------------------------------------------------------------------------------------


def factor_of(o, name):
    """Of the rate, as in BEiT's get_num_layer_for_vit and timm's param_groups_layer_decay."""
    decay, parts = o.get("layer_decay", 1), name.split(".")
    if parts[0] in ("norm", "head"):
        return o.get("head_lr", 1) if parts[0] == "head" else 1
    layer_id = int(parts[1]) + 1 if parts[0] == "blocks" else 0
    return decay ** (L + 1 - layer_id)


def optimizer_of(o, model):
    """Matrices decay; biases, norms, positions and the class token do not. The first group has the
    rate itself: it is the last norm's."""
    groups = {(1, False): [], (1, True): []}
    for name, p in model.named_parameters():
        matrix = name.endswith(".weight") and "norm" not in name
        groups.setdefault((factor_of(o, name), matrix), []).append(p)
        p.of_block = matrix and name.startswith("blocks.") and ("qkv" if ".qkv." in name else "alone")
    decayed = [{"params": some, "weight_decay": o["weight_decay"] if matrix else 0.0,
                "lr": o["lr"] * factor} for (factor, matrix), some in groups.items() if some]
    if o["optimizer"] == "muon":
        return Muon(decayed, lr=o["lr"], momentum=o["momentum"])
    if o["optimizer"] == "sgd":
        return torch.optim.SGD(decayed, lr=o["lr"], momentum=o["momentum"])
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[o["optimizer"]]
    return kind(decayed, lr=o["lr"], betas=(o.get("beta1", 0.9), o.get("beta2", 0.999)))


def schedule_of(o, optimizer, steps):
    warmup = math.floor(o["warmup"] * steps + 0.5)
    if o.get("warmup_steps", 0):
        warmup = min(warmup, o["warmup_steps"])
    return scheduler(optimizer, o["schedule"], steps, warmup)


def correct(logits, labels):
    """Images whose largest logit, the first of equal ones, is the label's."""
    return (logits.argmax(-1) == labels).sum().item()


@torch.no_grad()
def evaluated(model, data, members):
    logits = model((data["pixels"][members] / 255 - MEAN) / STD)
    labels = data["labels"][members]
    return F.cross_entropy(logits, labels).item(), correct(logits, labels) / len(members)


def run(name, start, data, tests):
    o = MODEL | CASES[name]
    model = copy.deepcopy(start)
    if name in FRESH_HEAD:
        nn.init.zeros_(model.head.weight)
        nn.init.zeros_(model.head.bias)
    average = copy.deepcopy(model)
    train, validation = split(o, data["labels"].tolist())
    a_step = o["batch_size"] * o.get("accumulate", 1)
    total = o["epochs"] * math.ceil(len(train) / a_step)
    optimizer = optimizer_of(o, model)
    schedule = schedule_of(o, optimizer, total)
    ema, patience = o.get("ema", 0), o.get("patience", 0)
    steps, weights, averages, epochs = [], [], [], []
    best, best_model = 0, None
    for epoch in range(1, o["epochs"] + 1):
        order = permutation(fork(fork(o["seed"], "order"), "epoch order", (epoch,)),
                                len(train))
        loss_sum = hits = 0
        first = len(steps)
        for begin in range(0, len(train), a_step):
            members = order[begin:begin + a_step]
            optimizer.zero_grad()
            loss = 0
            for i, part in enumerate(micro_batches(o, members)):
                images, targets = batch(o, data, train, part, epoch)
                logits = model(images, o, fork(o["seed"], "dropout", (len(steps), i)))
                share = F.cross_entropy(logits, targets, reduction="sum",
                                        label_smoothing=o.get("label_smoothing", 0)) / len(members)
                share.backward()
                loss += share.item()
                hits += correct(logits.detach(), data["labels"][[train[m] for m in part]])
            norm = nn.utils.clip_grad_norm_(model.parameters(), o["clip"] or math.inf).item()
            rate = optimizer.param_groups[0]["lr"]
            optimizer.step()
            schedule.step()
            steps.append([loss, rate, norm])
            decay = min(ema, (1 + len(steps)) / (10 + len(steps)))
            with torch.no_grad():
                for a, w in zip(average.parameters(), model.parameters()):
                    a.lerp_(w, 1 - decay)
            weights.append(flat(model))
            averages.append(flat(average))
            loss_sum += loss * len(members)
        judged = average if ema else model
        held_out = evaluated(judged, data, validation) if validation else \
            evaluated(judged, tests, list(range(TEST)))
        epochs.append([loss_sum / len(train), hits / len(train), *held_out, steps[-1][1],
                       sum(s[2] for s in steps[first:]) / len(steps[first:])])
        if best == 0 or held_out[1] > epochs[best - 1][3]:
            best, best_model = epoch, copy.deepcopy(judged)
        if patience and epoch - best >= patience:
            break
    norms = [s[2] for s in steps]
    assert len(steps) >= 30, (name, len(steps))
    assert o["clip"] == 0 or max(norms) > o["clip"] > min(norms), (name, min(norms), max(norms))
    assert not patience or 1 < best < len(epochs) < o["epochs"], (name, best, len(epochs))
    case = {"settings": {**o}, "fresh_head": name in FRESH_HEAD,
            "split": {"train": train, "validation": validation},
            "steps": steps, "weights": packed(torch.stack(weights), "f64")}
    if ema:
        case["averages"] = packed(torch.stack(averages), "f64")
    kept = best_model if patience else judged
    return case | {"epochs": epochs, "best": best, "test": evaluated(kept, tests, list(range(TEST)))}


def drawn(stream, n, like=None):
    """Noisy pictures of K patterns."""
    patterns = like["patterns"] if like else torch.rand(K, C, SIDE, SIDE, generator=stream)
    labels = torch.tensor([(2 * i + i // 7) % K for i in range(n)])
    noise = torch.rand(n, C, SIDE, SIDE, generator=stream)
    pixels = torch.floor(255.99 * (0.45 * patterns[labels] + 0.55 * noise))
    return {"pixels": pixels, "labels": labels, "patterns": patterns}


def make():
    stream = generator("run images")
    data = drawn(stream, TRAIN)
    tests = drawn(stream, TEST, data)
    start = started()
    images = {"shape": [C, SIDE, SIDE], "classes": K, "mean": MEAN, "std": STD}
    for name, part in (("train", data), ("test", tests)):
        images[name] = {"pixels": part["pixels"].int().flatten().tolist(),
                        "labels": part["labels"].tolist()}
    return {
        "images": images,
        "start": [{"name": n} | packed(p, "f64") for n, p in start.named_parameters()],
        "cases": [{"name": name} | run(name, start, data, tests) for name in CASES],
    }
