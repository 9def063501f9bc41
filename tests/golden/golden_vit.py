"""vit.json: {"config", "images", "labels", "logits", "loss", "trace", "parameters", "gradients",
"inside"}.

A tiny Vision Transformer as the MiniViT notebook writes it (unfold + linear, shared class token,
pre-LN blocks, final layer norm on the class token, linear head), in our names, which are timm's.
`config` is in the symbols of the paper: 8 x 8 images of C channels, P, D, L, h, M, K, eps. Every
parameter is redrawn from N(0, 0.3^2), layer norms' weights from 1 + N(0, 0.3^2), so that all of them
matter. `loss` is the mean cross entropy; `gradients` are of it, under the parameters' names; `trace`
holds intermediates: "z_0" (B, T, D), "blocks.l.attn.probs" (B, h, T, T), "blocks.l.z" (B, T, D),
"y" (B, D). patch_embed.proj.weight has shape (D, C, P, P): a patch is unfolded in the order (C, P, P).

"inside" is what looking inside this model must find, with the same images and labels. "components" are the
principal components of the embedding filters (k, C, P, P), by singular values, the largest entry positive, "variances"
those of the filters along them, divided by D. "similarity" (N, N) is the cosine of the patches'
position embeddings. For each layer and head (L, h): "distance", attention-weighted, in pixels, class
token left out and rows renormalised; "on_class_token"; "entropy" in nats over all tokens. "rollout"
and "gradient_rollout", which is R - I (B, T, T). With the most probable class of each image as target, which
"targets" holds: "input_gradient" (B, C, H, W); "integrated", integrated gradients from a baseline of
-0.5 by the midpoint rule with 8 steps, and "difference" (B) of the logits. "norms": for each
intermediate [root mean square of its value, the same of the loss's gradient by it].

"mean_pooled" is another model: "config" without a class token, with fixed positions, its parameters
and images as switches.json has them. "rollout" and "gradient_rollout" (B, N) are the shares of the
patches in what the mean over all tokens reads, by plain loops.
"""

import torch
import torch.nn.functional as F

import golden_switches
from golden_run import ViT
from make_golden import generator, randn, redraw, tensor, tensors

C, SIDE, P, D, L, H, M, K, EPS = 2, 8, 4, 8, 2, 2, 12, 3, 1e-6
T = (SIDE // P) ** 2 + 1


class MiniViT(ViT):
    def patches(self, images):
        proj = self.patch_embed.proj  # holds the weight (D, C, P, P) and the bias
        return F.linear(F.unfold(images, P, stride=P).transpose(1, 2), proj.weight.reshape(D, -1), proj.bias)


def drawn():
    """The model with its values, images and labels."""
    stream = generator("vit")
    model = MiniViT(C, SIDE, P, D, L, H, M, K)
    redraw(stream, dict(model.named_parameters()))
    return model, randn(stream, 3, C, SIDE, SIDE), [2, 0, 1]


def rms(x):
    return x.square().mean().sqrt().item()


def times(a, b):
    T = len(a)
    return [[sum(a[i][k] * b[k][j] for k in range(T)) for j in range(T)] for i in range(T)]


def mean_pooled():
    config = {**golden_switches.BASE, "mean_pooling": True, "positions": "sincos_2d"}
    pool, images = golden_switches.drawn()
    vit = golden_switches.Vit(config, pool, None)
    best = vit(images).max(1).values.sum()
    A = [vit.probs[l] for l in range(config["L"])]
    dA = torch.autograd.grad(best, A)
    result = {"config": config, "rollout": [], "gradient_rollout": []}
    h, T = config["h"], vit.tokens
    for b in range(len(images)):
        R = [[float(i == j) for j in range(T)] for i in range(T)]  # Abnar and Zuidema
        G = [row[:] for row in R]  # Chefer et al., equations 5 and 6
        for a, g in zip(A, dA):
            a, g = a[b].tolist(), g[b].tolist()
            M = [[sum(a[k][i][j] for k in range(h)) / h + (i == j) for j in range(T)] for i in range(T)]
            R = times([[x / sum(row) for x in row] for row in M], R)
            W = [[sum(max(a[k][i][j] * g[k][i][j], 0) for k in range(h)) / h for j in range(T)]
                 for i in range(T)]
            moved = times(W, G)
            G = [[G[i][j] + moved[i][j] for j in range(T)] for i in range(T)]
        for name, matrix, own in (("rollout", R, 0), ("gradient_rollout", G, 1)):
            columns = [sum(matrix[i][j] - own * (i == j) for i in range(T)) for j in range(T)]
            result[name].append([x / sum(columns) for x in columns])
    return result


def inside(model, images, labels):
    grid = SIDE // P
    filters = model.patch_embed.proj.weight.detach()
    flat = filters.reshape(D, -1)
    _, s, Vh = torch.linalg.svd(flat - flat.mean(0), full_matrices=False)
    Vh = Vh * Vh.gather(1, Vh.abs().argmax(1, keepdim=True)).sign()

    e = model.pos_embed.detach()[0, 1:]
    similarity = F.cosine_similarity(e[:, None], e[None], dim=-1)

    places = torch.cartesian_prod(torch.arange(grid), torch.arange(grid)).to(torch.float64)
    apart = P * torch.cdist(places, places)

    def forward(x):
        logits = model(x)
        return logits, [model.trace[f"blocks.{l}.attn.probs"] for l in range(L)]

    logits, A = forward(images)
    over_patches = [a[..., 1:, 1:] for a in A]
    distance = [((a / a.sum(-1, keepdim=True)) * apart).sum(-1).mean((0, 2)) for a in over_patches]
    on_class = [a[..., 1:, 0].mean((0, 2)) for a in A]
    entropy = [torch.special.entr(a).sum(-1).mean((0, 2)) for a in A]

    I = torch.eye(T)
    R = I
    for a in A:
        M = a.mean(1) + I
        R = (M / M.sum(-1, keepdim=True)) @ R

    targets = logits.argmax(1)
    dA = torch.autograd.grad(logits.gather(1, targets[:, None]).sum(), A)
    G = I.expand(len(images), T, T)
    for a, g in zip(A, dA):
        G = G + (a * g).clamp(min=0).mean(1) @ G

    def input_gradient(x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(model(x).gather(1, targets[:, None]).sum(), x)[0]

    baseline, steps = torch.full((C, SIDE, SIDE), -0.5), 8
    shares = [(k + 0.5) / steps for k in range(steps)]
    mean = sum(input_gradient(baseline + a * (images - baseline)) for a in shares) / steps
    picked = [model(x).gather(1, targets[:, None])[:, 0] for x in (images, baseline.expand_as(images))]

    logits, _ = forward(images)
    loss = F.cross_entropy(logits, torch.tensor(labels))
    stages = dict(model.trace, logits=logits)
    gradients = torch.autograd.grad(loss, list(stages.values()))
    return {
        "components": tensor(Vh.reshape(-1, C, P, P)),
        "variances": (s.square() / D).tolist(),
        "similarity": tensor(similarity),
        "distance": tensor(torch.stack(distance)),
        "on_class_token": tensor(torch.stack(on_class)),
        "entropy": tensor(torch.stack(entropy)),
        "rollout": tensor(R),
        "gradient_rollout": tensor(G - I),
        "targets": targets.tolist(),
        "input_gradient": tensor(input_gradient(images)),
        "integrated": tensor(mean * (images - baseline)),
        "difference": tensor(picked[0] - picked[1]),
        "mean_pooled": mean_pooled(),
        "norms": {name: [rms(x), rms(g)] for (name, x), g in zip(stages.items(), gradients)},
    }


def make():
    model, images, labels = drawn()
    parameters = dict(model.named_parameters())
    logits = model(images)
    loss = F.cross_entropy(logits, torch.tensor(labels))
    loss.backward()
    return {
        "config": {"C": C, "H": SIDE, "W": SIDE, "P": P, "D": D, "L": L, "h": H, "M": M, "K": K,
                   "eps": EPS},
        "images": tensor(images),
        "labels": labels,
        "logits": tensor(logits),
        "loss": loss.item(),
        "trace": tensors(model.trace),
        "parameters": tensors(parameters),
        "gradients": tensors({name: p.grad for name, p in parameters.items()}),
        "inside": inside(model, images, labels),
    }
