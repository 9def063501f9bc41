"""ridge.json: {"cases"}: regressions of few-shot classification. Each case has

    name, ridge
    x          (n, D), the features
    labels     n of K classes, whose targets are 1 at the label and -1 elsewhere
    weight     (K, D) and
    bias       (K): of the least sum of squares plus lambda |weight|^2, where lambda is `ridge` times the
               mean variance of a feature

Solved without centring and without normal equations: rows sqrt(lambda) of the identity below x and a
column of ones, by PyTorch's least squares (LAPACK's gelsd, by singular values).
"""

import torch

from make_golden import generator, randn, tensor

CASES = {  # n, D, K, ridge, the features' mean
    "more images than features": (40, 6, 4, 0.5, 0),
    "more features than images": (9, 30, 3, 2.0, 0),
    "as many": (12, 12, 5, 10.0, 3),
    "far from zero": (25, 7, 2, 0.01, 100),
    "a shot of each class": (4, 20, 4, 1.0, -1),
    "hardly held back": (50, 5, 3, 1e-6, 0),
    "held fast": (20, 8, 3, 1e3, 1),
}


def solved(name):
    n, D, K, ridge, mean = CASES[name]
    stream = generator("ridge " + name)
    x = mean + randn(stream, n, D) * (1 + torch.arange(D))
    labels = torch.tensor([(3 * i + i // 5) % K for i in range(n)])
    y = 2 * torch.nn.functional.one_hot(labels, K) - 1.0
    lamda = ridge * x.var(0, unbiased=False).mean()
    held = torch.cat([lamda.sqrt() * torch.eye(D), torch.zeros(D, 1)], 1)
    A = torch.cat([torch.cat([x, torch.ones(n, 1)], 1), held])
    Wb = torch.linalg.lstsq(A, torch.cat([y, torch.zeros(D, K)]), driver="gelsd").solution
    return {"name": name, "ridge": ridge, "x": tensor(x), "labels": labels.tolist(),
            "weight": tensor(Wb[:-1].T), "bias": tensor(Wb[-1])}


def make():
    return {"cases": [solved(name) for name in CASES]}
