"""training.json: {"config", "batch", "steps", "warmup", "base_lr", "clip", "label_smoothing",
"weight_decay", "parameters", "labels", "losses", "norms", "lr"}.

Twenty steps of a small ViT of torchvision's: AdamW, warm-up then cosine, clipping, label smoothing,
weight decay on weight matrices only. Two batches take turns: step s takes the images that begin at
s mod 2 times a batch's pixels (torchvision_models.images). `parameters` are those before the first step.
At this rate PyTorch's own float32 stays within 6e-7 of its float64; at three times the rate it departs
by 6e-5, and nothing could be told from it.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from golden_format import dump, generator, packed
from torchvision_models import images, small_model

STEPS, WARMUP, LR, CLIP, SMOOTHING, DECAY, B, SIDE, K = 20, 4, 1e-2, 0.4, 0.1, 0.1, 8, 8, 5


def make():
    model, config = small_model(generator("training"), 4, 2, 2, 8, K, SIDE, M=16)
    named = dict(model.named_parameters())
    start = {n: packed(p, "f32") for n, p in named.items()}
    decayed = [p for n, p in named.items()
               if n.endswith("weight") and ".ln" not in n]
    others = [p for p in named.values() if all(p is not q for q in decayed)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": DECAY},
                                   {"params": others, "weight_decay": 0.0}], lr=LR)
    rates = [(s + 1) / WARMUP if s < WARMUP else
             (1 + math.cos(math.pi * (s - WARMUP) / (STEPS - WARMUP))) / 2 for s in range(STEPS)]
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: rates[min(s, STEPS - 1)])
    labels, losses, norms, lrs = [], [], [], []
    for step in range(STEPS):
        labels.append([(3 * b + step % 2) % K for b in range(B)])
        optimizer.zero_grad()
        logits = model(images(B, SIDE, step % 2 * B * 3 * SIDE * SIDE))
        loss = F.cross_entropy(logits, torch.tensor(labels[-1]), label_smoothing=SMOOTHING)
        loss.backward()
        losses.append(loss.item())
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), CLIP).item())
        lrs.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert max(norms) > CLIP > min(norms), norms  # clipping bites, and not always
    return dump({
        "config": config, "batch": B, "steps": STEPS, "warmup": WARMUP, "base_lr": LR, "clip": CLIP,
        "label_smoothing": SMOOTHING, "weight_decay": DECAY, "parameters": start, "labels": labels,
        "losses": losses, "norms": norms, "lr": lrs,
    })
