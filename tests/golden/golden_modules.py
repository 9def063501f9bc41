"""modules.json: {"cases": [{"module", "options", "parameters", "inputs", "cotangents", "outputs",
"input_gradients", "gradients"}]}.

PyTorch's nn.MultiheadAttention with all its arguments (its two outputs are the result and the
weights of each head), and torchvision.ops.MLP. Parameters go by their names there, which are ours.
"""

import torch
from torch import nn
from torchvision.ops import MLP

from golden_format import dump, generator, randn, tensor, tensors

CASES = []


def case(name, module, shapes, function, **options):
    stream = generator(f"{name} {shapes} {options}")
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for p in parameters.values():
            p.copy_(randn(stream, *p.shape))
    inputs = [randn(stream, *shape).requires_grad_() for shape in shapes]
    outputs = function(*inputs)
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
        "gradients": tensors({name: p.grad for name, p in parameters.items()}),
    })


def attention(T, S, **options):
    module = nn.MultiheadAttention(8, 2, **options)

    def shape(length, width):
        return (2, length, width) if options.get("batch_first") else (length, 2, width)

    shapes = [shape(T, 8), shape(S, options.get("kdim", 8)), shape(S, options.get("vdim", 8))]
    case("attention", module, shapes, lambda *x: module(*x, average_attn_weights=False), **options)


def mlp(widths, norm=False, activation="relu", bias=True):
    layers = dict(relu=nn.ReLU, gelu=nn.GELU, tanh=nn.Tanh)
    module = MLP(4, widths, norm_layer=nn.LayerNorm if norm else None,
                 activation_layer=layers[activation], inplace=None, bias=bias)
    case("mlp", module, [(2, 3, 4)], lambda x: [module(x)], widths=widths, norm=norm,
         activation=activation, bias=bias)


def make():
    CASES.clear()
    attention(5, 3)
    attention(5, 3, batch_first=True, bias=False)
    attention(4, 3, add_bias_kv=True)
    attention(4, 3, add_zero_attn=True)
    attention(3, 4, batch_first=True, kdim=5, vdim=6, add_bias_kv=True, add_zero_attn=True)
    mlp([5])
    mlp([7, 4], activation="gelu")
    mlp([6, 5, 3], norm=True)
    mlp([6, 5, 3], norm=True, bias=False, activation="tanh")
    return dump({"cases": CASES})
