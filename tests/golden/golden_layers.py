"""layers.json: {"cases": [{"layer", "options", "parameters", "input", "cotangent", "output",
"input_gradient", "gradients"}]}.

Parameters and their gradients go by our names. Attention is PyTorch's own nn.MultiheadAttention: a
second opinion, written by others.
"""

import torch
from torch import nn

from golden_format import dump, generator, randn, tensor, tensors

CASES = []


def case(layer, module, shape, names, function=None, **options):
    """Records one layer; `names` says what we call each of the module's parameters."""
    stream = generator(f"{layer} {shape} {options}")
    parameters = {names[name]: p for name, p in module.named_parameters()}
    with torch.no_grad():
        for p in parameters.values():
            p.copy_(randn(stream, *p.shape))
    x = randn(stream, *shape).requires_grad_()
    y = (function or module)(x)
    cotangent = randn(stream, *y.shape)
    y.backward(cotangent)
    CASES.append({
        "layer": layer,
        "options": options,
        "parameters": tensors(parameters),
        "input": tensor(x),
        "cotangent": tensor(cotangent),
        "output": tensor(y),
        "input_gradient": tensor(x.grad),
        "gradients": tensors({name: p.grad for name, p in parameters.items()}),
    })


class Same(dict):
    """Names that are the same on both sides."""

    def __missing__(self, key):
        return key


def make():
    CASES.clear()
    case("linear", nn.Linear(4, 3), (2, 5, 4), Same(), sizes=[4, 3])
    case("linear", nn.Linear(4, 3, bias=False), (5, 4), Same(), sizes=[4, 3], bias=False)
    case("layer_norm", nn.LayerNorm(6, eps=1e-6), (2, 3, 6), Same(), normalized_shape=[6], eps=1e-6)
    case("layer_norm", nn.LayerNorm((3, 5), eps=1e-5), (2, 3, 5), Same(), normalized_shape=[3, 5], eps=1e-5)
    case("layer_norm", nn.LayerNorm(6, eps=0.1, elementwise_affine=False), (2, 3, 6), Same(),
         normalized_shape=[6], eps=0.1, affine=False)
    no_bias = nn.LayerNorm(6, eps=1e-6)  # PyTorch 1.13 has no such argument: 2.1's bias=False
    no_bias.bias = None
    case("layer_norm", no_bias, (2, 3, 6), Same(), normalized_shape=[6], eps=1e-6, bias=False)
    for approximate in ("none", "tanh"):
        mlp = nn.Sequential(nn.Linear(4, 7), nn.GELU(approximate), nn.Linear(7, 4))
        names = {"0.weight": "fc1.weight", "0.bias": "fc1.bias", "2.weight": "fc2.weight",
                 "2.bias": "fc2.bias"}
        case("mlp", mlp, (2, 3, 4), names, sizes=[4, 7], tanh=approximate == "tanh")
    for heads in (1, 2, 4):
        attention = nn.MultiheadAttention(8, heads, batch_first=True)
        names = {"in_proj_weight": "qkv.weight", "in_proj_bias": "qkv.bias",
                 "out_proj.weight": "proj.weight", "out_proj.bias": "proj.bias"}
        case("attention", attention, (2, 5, 8), names,
             function=lambda x, a=attention: a(x, x, x, need_weights=False)[0], sizes=[8], heads=heads)
    return dump({"cases": CASES})
