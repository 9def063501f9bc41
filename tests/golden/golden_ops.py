"""ops.json: {"cases": [{"op", "name", "attributes", "inputs", "cotangent", "output", "gradients"}]}.

`output` is op(*inputs, **attributes), `gradients` those of sum(output * cotangent), one for each
input (null where PyTorch gives none). The name of an op is that of core/ops.hpp.
"""

import math

import torch
import torch.nn.functional as F

from make_golden import generator, randn, tensor

CASES = []


def case(op, function, inputs, differentiable=None, note="", **attributes):
    """Records one case. Inputs are tensors, or shapes that are drawn from N(0, 1)."""
    name = f"{op} {note}".strip() + f" #{sum(c['op'] == op for c in CASES)}"
    stream = generator(name)
    xs = [x.clone() if torch.is_tensor(x) else randn(stream, *x) for x in inputs]
    for i, x in enumerate(xs):
        x.requires_grad_(differentiable is None or i in differentiable)
    y = function(*xs)
    cotangent = randn(stream, *y.shape)
    y.backward(cotangent)
    CASES.append({
        "op": op,
        "name": name,
        "attributes": attributes,
        "inputs": [tensor(x) for x in xs],
        "cotangent": tensor(cotangent),
        "output": tensor(y),
        "gradients": [None if x.grad is None else tensor(x.grad) for x in xs],
    })


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


def elementwise():
    shapes = [((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((), (2, 3)), ((0, 3), (3,))]
    for a, b in shapes:
        for op in ("add", "sub", "mul", "div"):
            case(op, getattr(torch, op), [a, b])
    ties = t(1, 2, 2, -1, 0, 0), t(1, 1, 3, -1, 0, -0.5)
    for op, function in [("maximum", torch.maximum), ("minimum", torch.minimum)]:
        case(op, function, [(3, 4), (4,)])
        case(op, function, list(ties), note="ties")
        case(op, function, [t(math.nan, 1, math.inf), t(1, math.nan, -math.inf)], note="nan")
    for p in (2.0, 3.0, 0.5, -1.5, 0.0, 1.0):
        positive = torch.rand(5, generator=generator(f"pow {p}"), dtype=torch.float64) + 0.1
        case("pow", lambda x, p=p: x**p, [positive], p=p)
    case("pow", lambda x: x**2, [t(-2, 0, 3)], p=2.0, note="at zero")
    case("pow", lambda x: x**0, [t(-2, 0, 3)], p=0.0, note="to the zeroth at zero")

    names = "neg exp square tanh sigmoid erf relu abs expm1 log1p sin cos".split()
    unary = {name: getattr(torch, name) for name in names} | {
        "silu": F.silu, "softplus": F.softplus,
        "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    }
    for op, function in unary.items():
        case(op, function, [(2, 5)])
        case(op, function, [()])
        case(op, function, [t(0.0, -0.0, 6, -6, 30, -30, 1e-8, -1e-8)], note="at kinks and tails")
    case("exp", torch.exp, [t(math.inf, -math.inf, math.nan, 710, -750)], note="non-finite")
    for op, function in [("log", torch.log), ("sqrt", torch.sqrt), ("rsqrt", torch.rsqrt)]:
        case(op, function, [t(0.25, 1, 3, 1e-10, 1e10)])
    clamp = lambda x: torch.clamp(x, -1, 2)
    case("clamp", clamp, [(3, 4)], low=-1.0, high=2.0)
    case("clamp", clamp, [t(-1, 2, -2, 3, 0)], low=-1.0, high=2.0, note="at the ends")
    condition = t(1, 0, 0, 1)
    case("where", lambda a, b: torch.where(condition != 0, a, b), [(3, 4), (3, 1)],
         condition=condition.tolist())


def reductions():
    for op in ("sum", "mean", "amax", "logsumexp"):
        for shape, axes, keepdim in [((3, 4), [1], False), ((2, 3, 4), [0, 2], True),
                                     ((2, 3, 4), [-2], False), ((5,), [0], True),
                                     ((2, 1, 3), [0, 1, 2], False)]:
            case(op, lambda x, f=getattr(torch, op), a=axes, k=keepdim: f(x, a, keepdim=k), [shape],
                 axes=axes, keepdim=keepdim)
    ties = t(1, 3, 3, 2, 2, 2).reshape(2, 3)
    case("amax", lambda x: torch.amax(x, [1]), [ties], axes=[1], keepdim=False, note="ties")
    holes = t(1, -math.inf, 2, 1000, 999, -1000).reshape(2, 3)
    case("logsumexp", lambda x: torch.logsumexp(x, [1]), [holes], axes=[1], keepdim=False,
         note="minus infinity and large")
    for correction in (0, 1):
        for shape, axes, keepdim in [((3, 4), [1], False), ((2, 3, 4), [0, 2], True)]:
            case("var", lambda x, a=axes, k=keepdim, c=correction: torch.var(
                x, a, correction=c, keepdim=k), [shape], axes=axes, correction=correction,
                keepdim=keepdim)


def products():
    for a, b in [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (4,)),
                 ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)),
                 ((1, 1), (1, 1)), ((3, 0), (0, 2))]:
        case("matmul", torch.matmul, [a, b])
    case("linear", F.linear, [(2, 3, 4), (5, 4), (5,)])
    case("linear", F.linear, [(4,), (5, 4)])


def shapes():
    case("transpose", lambda x: x.transpose(0, 2), [(2, 3, 4)], axis0=0, axis1=2)
    case("permute", lambda x: x.permute(2, 0, 3, 1), [(2, 3, 4, 5)], order=[2, 0, 3, 1])
    case("reshape", lambda x: x.reshape(4, -1), [(2, 3, 2)], shape=[4, -1])
    case("broadcast_to", lambda x: x.expand(2, 3, 4), [(3, 1)], shape=[2, 3, 4])
    case("slice", lambda x: x[:, 1:7:2], [(2, 8)], axis=1, start=1, stop=7, step=2)
    case("slice", lambda x: x[-3:], [(5, 2)], axis=0, start=-3, stop=1000, step=1)
    chosen = [2, 0, 2, 2]
    case("index_select", lambda x: x.index_select(1, torch.tensor(chosen)), [(2, 3)], axis=1,
         indices=chosen)
    case("select", lambda x: x[:, -1], [(2, 3, 4)], axis=1, i=-1)
    case("concat", lambda *xs: torch.cat(xs, 1), [(2, 1, 3), (2, 4, 3), (2, 0, 3)], axis=1)
    case("stack", lambda *xs: torch.stack(xs, -1), [(2, 3), (2, 3)], axis=-1)
    case("unfold", lambda x: F.unfold(x, (2, 3), stride=(2, 1), padding=(1, 0)).transpose(1, 2),
         [(2, 2, 4, 5)], height=2, width=3, stride_y=2, stride_x=1, padding_y=1, padding_x=0)


def normalisation():
    for op, function in [("softmax", torch.softmax), ("log_softmax", torch.log_softmax)]:
        for shape, axis in [((3, 4), -1), ((2, 3, 4), 1), ((5,), 0), ((2, 1), 1)]:
            case(op, lambda x, f=function, a=axis: f(x, a), [shape], axis=axis)
        case(op, lambda x, f=function: f(x, -1), [t(1e30, -1e30, 1e30)], axis=-1, note="huge")
    holes = t(1, -math.inf, 2)
    case("softmax", lambda x: torch.softmax(x, -1), [holes], axis=-1, note="minus infinity")
    for shape, normalized in [((2, 3, 4), [4]), ((2, 3, 5), [3, 5]), ((4,), [4])]:
        case("layer_norm", lambda x, w, b, n=normalized: F.layer_norm(x, n, w, b, 1e-6),
             [shape, tuple(normalized), tuple(normalized)], normalized_shape=normalized, eps=1e-6)
        case("layer_norm", lambda x, n=normalized: F.layer_norm(x, n, None, None, 1e-5), [shape],
             normalized_shape=normalized, eps=1e-5)
    far = randn(generator("far"), 2, 6) * 1e-3 + 1
    case("layer_norm", lambda x: F.layer_norm(x, [6], None, None, 1e-6), [far],
         normalized_shape=[6], eps=1e-6, note="a small variance")
    for shape in [(4, 3), (2, 3, 4), (2, 3, 2, 2)]:
        case("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.1, 1e-5),
             [shape, (3,), (3,)], eps=1e-5)


def convolution():
    for stride, padding in [(1, 0), (2, 1), (2, 0), (3, 2)]:
        case("conv2d", lambda x, w, b, s=stride, p=padding: F.conv2d(x, w, b, s, p),
             [(2, 2, 5, 6), (3, 2, 3, 2), (3,)], stride=stride, padding=padding)
    case("conv2d", lambda x, w: F.conv2d(x, w, None, 2, 0), [(1, 3, 4, 4), (2, 3, 2, 2)], stride=2,
         padding=0)


def attention():
    def reference(q, k, v, bias=None, mask=None):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        return torch.softmax(scores, -1) @ v

    for q, k, v in [((2, 3, 4), (2, 5, 4), (2, 5, 6)), ((2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4)),
                    ((1, 4), (1, 4), (1, 2))]:
        case("attention", reference, [q, k, v])
    case("attention", reference, [(2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 3), (2, 3, 5)], note="bias")
    causal = torch.tril(torch.ones(3, 3))
    masked = lambda *xs: reference(*xs, mask=causal)
    case("attention", lambda q, k, v: reference(q, k, v, mask=causal),
         [(2, 2, 3, 4)] * 3, mask=tensor(causal), note="mask")
    case("attention", masked, [(2, 2, 3, 4)] * 3 + [(3, 3)], mask=tensor(causal),
         note="mask and bias")

    def self_attention(qkv, heads, bias=None):
        B, T, width = qkv.shape
        q, k, v = qkv.reshape(B, T, 3, heads, width // 3 // heads).permute(2, 0, 3, 1, 4)
        return reference(q, k, v, bias).transpose(1, 2).reshape(B, T, width // 3)

    for heads in (1, 2, 4):
        case("self_attention", lambda x, h=heads: self_attention(x, h), [(2, 3, 24)], heads=heads)
    case("self_attention", lambda x, b: self_attention(x, 2, b), [(2, 3, 12), (2, 3, 3)], heads=2,
         note="bias")


def picking():
    case("squeeze", lambda x: x.squeeze(1), [(2, 1, 3)], axis=1)
    case("unsqueeze", lambda x: x.unsqueeze(-1), [(2, 3)], axis=-1)
    case("unsqueeze", lambda x: x.unsqueeze(0), [()], axis=0)
    case("flatten", lambda x: x.flatten(1, 2), [(2, 3, 2, 2)], first=1, last=2)
    case("flatten", lambda x: x.flatten(), [()], first=0, last=-1)
    case("flatten", lambda x: x.flatten(-2), [(2, 3, 4)], first=-2, last=-1)
    for shift, axis in [(1, 0), (-2, 1), (7, -1), (0, 1)]:
        case("roll", lambda x, s=shift, a=axis: torch.roll(x, s, a), [(2, 3, 4)], shift=shift,
             axis=axis)
    case("pad", lambda x: F.pad(x, (1, 2), value=0.5), [(2, 3)], axis=-1, before=1, after=2,
         value=0.5)
    case("pad", lambda x: F.pad(x, (0, 0, 2, 0)), [(2, 3, 2)], axis=1, before=2, after=0, value=0.0)
    mask = t(1, 0, 1, 0)
    case("masked_fill", lambda x: x.masked_fill(mask != 0, -3.5), [(3, 4)], mask=tensor(mask),
         value=-3.5)
    per_image = torch.tensor([[2, 0, 2], [1, 3, 0]])
    case("gather", lambda x: x.gather(1, per_image[..., None].expand(2, 3, 3)), [(2, 4, 3)], axis=1,
         shape=[2, 3], indices=per_image.flatten().tolist(), note="per image")
    full = torch.randint(0, 4, (2, 5, 3), generator=generator("gather"))
    case("gather", lambda x: x.gather(1, full), [(2, 4, 3)], axis=1, shape=[2, 5, 3],
         indices=full.flatten().tolist())
    case("gather", lambda x: x.gather(-1, full.transpose(1, 2) % 2), [(2, 3, 2)], axis=-1,
         shape=[2, 3, 5], indices=(full.transpose(1, 2) % 2).flatten().tolist())
    ids = torch.tensor([[4, 0], [4, 2], [4, 4]])
    case("embedding", lambda w: F.embedding(ids, w), [(5, 3)], shape=[3, 2],
         indices=ids.flatten().tolist())


def pooling():
    tied = t(1, 2, 2, 0, 2, 2, 1, 1, 3).reshape(1, 1, 3, 3)
    holes = t(1, math.nan, 2, 0, 2, 2, -math.inf, -math.inf, 3).reshape(1, 1, 3, 3)
    for op, function in [("avg_pool2d", F.avg_pool2d), ("max_pool2d", F.max_pool2d)]:
        for shape, size, stride, padding in [((2, 3, 4, 6), 2, 0, 0), ((1, 2, 5, 4), 3, 1, 0),
                                             ((1, 2, 5, 7), 3, 2, 1), ((2, 1, 5, 5), 2, 3, 1)]:
            case(op, lambda x, f=function, k=size, s=stride, p=padding: f(x, k, s or None, p),
                 [shape], size=size, stride=stride, padding=padding)
    case("max_pool2d", lambda x: F.max_pool2d(x, 2, 1), [tied], size=2, stride=1, padding=0,
         note="ties")
    case("max_pool2d", lambda x: F.max_pool2d(x, 2, 1), [holes], size=2, stride=1, padding=0,
         note="nan and minus infinity")


def losses():
    labels = [2, 0, 1, 1]
    y = torch.tensor(labels)
    soft = torch.softmax(randn(generator("soft targets"), 4, 3), -1)
    for reduction in ("mean", "sum", "none"):
        for e in (0.0, 0.1):
            case("cross_entropy", lambda x, e=e, r=reduction: F.cross_entropy(
                x, y, label_smoothing=e, reduction=r), [(4, 3)], labels=labels, label_smoothing=e,
                reduction=reduction)
            case("cross_entropy", lambda x, e=e, r=reduction: F.cross_entropy(
                x, soft, label_smoothing=e, reduction=r), [(4, 3)], targets=tensor(soft),
                label_smoothing=e, reduction=reduction, note="soft")
        case("nll_loss", lambda x, r=reduction: F.nll_loss(x, y, reduction=r), [(4, 3)],
             labels=labels, reduction=reduction)
        case("mse_loss", lambda a, b, r=reduction: F.mse_loss(a, b, reduction=r), [(2, 3)] * 2,
             reduction=reduction)
    weights = t(0.5, 2.0, 0.0)
    with_hole = [2, -100, 1, 0]
    for reduction in ("mean", "sum", "none"):
        for e in (0.0, 0.2):
            for w in (None, weights):
                case("cross_entropy", lambda x, w=w, e=e, r=reduction: F.cross_entropy(
                    x, torch.tensor(with_hole), weight=w, label_smoothing=e, reduction=r),
                    [(4, 3)], labels=with_hole, label_smoothing=e, reduction=reduction,
                    ignore_index=-100, weights=None if w is None else tensor(w), note="options")
        probabilities = torch.rand(2, 3, generator=generator("bce"), dtype=torch.float64)
        case("bce_with_logits", lambda x, r=reduction: F.binary_cross_entropy_with_logits(
            x, probabilities, reduction=r), [(2, 3)], targets=tensor(probabilities),
            reduction=reduction)
    sure = t(0, 1, 0, 1, 0.5)
    case("bce_with_logits", lambda x: F.binary_cross_entropy_with_logits(x, sure, reduction="none"),
         [t(-800, 800, 800, -800, 0)], targets=tensor(sure), reduction="none", note="far out")
    case("cross_entropy", lambda x: F.cross_entropy(
        x, torch.tensor([1, 1]), ignore_index=1), [(2, 3)], labels=[1, 1], label_smoothing=0.0,
        reduction="mean", ignore_index=1, weights=None, note="every row ignored")
    large = t(1e4, 0, -1e4, 0, 1e4, 0).reshape(2, 3)
    case("cross_entropy", lambda x: F.cross_entropy(x, torch.tensor([2, 1])), [large],
         labels=[2, 1], label_smoothing=0.0, reduction="mean", note="large logits")


def make():
    CASES.clear()
    for family in (elementwise, reductions, products, shapes, normalisation, convolution, attention,
                   picking, pooling, losses):
        family()
    return {"cases": CASES}
