"""torchvision.json's pieces, one file for each builder: torchvision_vit_b_16.json and so on:
{"config", "labels", "parameters", "logits", "loss", "gradients"}.

Models of torchvision's five builders with their patch sizes, but few blocks and narrow ones. Tensors
go by torchvision's names and are base64 of little-endian float32 (parameters) or float64; images are
those of torchvision_models.images. `loss` is the mean cross entropy.
"""

import torch
import torch.nn.functional as F

from golden_format import dump, generator, packed
from torchvision_models import check_gradients, images, small_model

# P, L, h, D, and the image's side: four patches, or six.
BUILDERS = {
    "vit_b_16": (16, 2, 2, 8, 32),
    "vit_b_32": (32, 2, 3, 3, 64),
    "vit_l_16": (16, 3, 3, 6, 32),
    "vit_l_32": (32, 3, 1, 3, 64),
    "vit_h_14": (14, 4, 4, 8, 42),
}
LABELS = [4, 1]


def document(name):
    P, L, h, D, side = BUILDERS[name]
    model, config = small_model(generator(name), P, L, h, D, 5, side)
    logits = model(images(len(LABELS), side))
    loss = F.cross_entropy(logits, torch.tensor(LABELS))
    loss.backward()
    check_gradients(model)
    named = dict(model.named_parameters())
    return dump({
        "config": config,
        "labels": LABELS,
        "logits": packed(logits, "f64"),
        "loss": loss.item(),
        "parameters": {n: packed(p, "f32") for n, p in named.items()},
        "gradients": {n: packed(p.grad, "f64") for n, p in named.items()},
    })


def make():
    return {f"torchvision_{name}": document(name) for name in BUILDERS}
