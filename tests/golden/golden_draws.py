#!/usr/bin/env python3
"""Our random numbers, written again in Python from the paper (Philox4x32-10: Salmon et al., SC 2011), with
the normal quantile of the standard library: run it to see the golden numbers of tests/core/rng_test.cpp.
And what is drawn by them in the runs of golden_run.py: dropout's masks, the branches that stochastic depth
skips, mixing, crops and flips, the validation split; and how a step's images are cut into micro-batches,
for each has its own masks."""

import math
from statistics import NormalDist

import torch
import torch.nn.functional as F

LOW = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & LOW, (p0 >> 32) ^ c[3] ^ k[1], p0 & LOW]
        k = [(k[0] + 0x9E3779B9) & LOW, (k[1] + 0xBB67AE85) & LOW]
    return c


def bits(key, index, attempt=0):
    r = philox([index & LOW, index >> 32, attempt & LOW, attempt >> 32], [key & LOW, key >> 32])
    return r[0] | r[1] << 32


def fnv1a(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    return h


def fork(key, purpose, indices=()):
    for index in (fnv1a(purpose), *indices):
        key = bits(key, index, 1 << 63)
    return key


def uniform(key, index):
    return (bits(key, index) >> 11) * 2.0**-53


def below(key, n, index):
    attempt = 0
    while bits(key, index, attempt) >= 2**64 - 2**64 % n:
        attempt += 1
    return bits(key, index, attempt) % n


def normal(key, index, attempt=0):
    return NormalDist().inv_cdf(((bits(key, index, attempt) >> 12) + 0.5) * 2.0**-52)


def truncated_normal(key, low, high, index):
    attempt = 0
    while not low <= normal(key, index, attempt) <= high:
        attempt += 1
    return normal(key, index, attempt)


def permutation(key, n):
    p = list(range(n))
    for i in range(n - 1, 0, -1):
        j = below(key, i + 1, i)
        p[i], p[j] = p[j], p[i]
    return p


# --- the runs ------------------------------------------------------------------------------------

SIDE, K, MEAN, STD = 6, 5, 0.45, 0.27  # of the images


def dropout_mask(key, path, rate, shape):
    """Zeros and 1 / (1 - rate): an element is kept where its 32-bit word says so. Each matrix of the
    last two axes has words of its own."""
    key = fork(key, path)
    limit = math.ceil(rate * 2**32) - 1
    n = math.prod(shape[-2:])
    kept = []
    for matrix in range(math.prod(shape[:-2])):
        words = []
        for counter in range((n + 3) // 4):
            words += philox([counter & LOW, counter >> 32, matrix & LOW, matrix >> 32],
                                [key & LOW, key >> 32])
        kept += [float(w > limit) for w in words[:n]]
    return torch.tensor(kept).reshape(shape) / (1 - rate)


def branch_mask(key, block, branch, rate, n):
    key = fork(fork(key, f"blocks.{block}"), branch)
    kept = [float(uniform(key, b) >= rate) for b in range(n)]
    return torch.tensor(kept).reshape(n, 1, 1) / (1 - rate)


def log_gamma(alpha, key):
    """Marsaglia and Tsang 2000; below 1 by Gamma(a) = Gamma(a + 1) U^(1/a)."""
    d = (alpha + 1 if alpha < 1 else alpha) - 1 / 3
    i = -1
    while True:
        i += 2
        x = normal(key, i)
        root = 1 + x / math.sqrt(9 * d)
        if root <= 0:
            continue
        u = 1 - uniform(key, i + 1)
        if math.log(u) >= 0.5 * x * x + d - d * root**3 + 3 * d * math.log(root):
            continue
        boost = math.log(1 - uniform(key, 0)) / alpha if alpha < 1 else 0
        return math.log(d) + 3 * math.log(root) + boost


def mixing(o, key):
    """The share of the image that stays, and the box (top, left, height, width) that is pasted."""
    if uniform(key, 0) >= o.get("mix_probability", 1):
        return 1.0, None
    mixup, cutmix = o.get("mixup", 0), o.get("cutmix", 0)
    cut = cutmix > 0 and (mixup <= 0 or uniform(key, 1) < 0.5)
    alpha, stream = cutmix if cut else mixup, fork(key, "lambda")
    share = 1 / (1 + math.exp(log_gamma(alpha, fork(stream, "y")) -
                              log_gamma(alpha, fork(stream, "x"))))
    if not cut:
        return share, None
    half = int(0.5 * math.sqrt(1 - share) * SIDE)
    centres = [below(key, SIDE, i) for i in (2, 3)]
    begins = [max(0, c - half) for c in centres]
    sizes = [min(c + half, SIDE) - b for c, b in zip(centres, begins)]
    if sizes[0] * sizes[1] == 0:
        return 1.0, None
    return 1 - sizes[0] * sizes[1] / SIDE**2, (*begins, *sizes)


def augmented(o, pixels, key):
    padding = o["crop_padding"]
    if padding:
        crop = fork(key, "crop")
        top, left = (below(crop, 2 * padding + 1, i) for i in (0, 1))
        pixels = F.pad(pixels, [padding] * 4)[..., top:top + SIDE, left:left + SIDE]
    if o.get("flip", 0) > 0 and uniform(fork(key, "flip"), 0) < o["flip"]:
        pixels = pixels.flip(-1)
    return (pixels / 255 - MEAN) / STD


def batch(o, data, train, members, epoch):
    """Images and targets of these members of the training part."""
    images, targets = [], []
    for member in members:
        own = train[member]
        stream = lambda purpose: fork(o["seed"], purpose, (epoch, own))
        image = augmented(o, data["pixels"][own], stream("augment"))
        target = F.one_hot(data["labels"][own], K).double()
        share, box = mixing(o, stream("mix")) if o.get("mixup") or o.get("cutmix") else (1.0, None)
        if share < 1:
            partner = train[below(stream("partner"), len(train), 0)]
            other = augmented(o, data["pixels"][partner], stream("augment partner"))
            target = share * target + (1 - share) * F.one_hot(data["labels"][partner], K)
            if box is None:
                image = share * image + (1 - share) * other
            else:
                top, left, height, width = box
                image = image.clone()
                image[:, top:top + height, left:left + width] = \
                    other[:, top:top + height, left:left + width]
        images.append(image)
        targets.append(target)
    return torch.stack(images), torch.stack(targets)


def split(o, labels):
    """Each class gives its share, rounded so that the whole is right."""
    fraction = o.get("val_fraction", 0)
    if fraction == 0:
        return list(range(len(labels))), []
    members = {k: [i for i, label in enumerate(labels) if label == k] for k in sorted(set(labels))}
    taken = {k: int(fraction * len(m)) for k, m in members.items()}
    most_lost = sorted(members, key=lambda k: (taken[k] - fraction * len(members[k]), k))
    for k in most_lost[:round(fraction * len(labels)) - sum(taken.values())]:
        taken[k] += 1
    validation = set()
    for k, m in members.items():
        order = permutation(fork(o["seed"], "validation", (k,)), len(m))
        validation |= {m[i] for i in order[:taken[k]]}
    return [i for i in range(len(labels)) if i not in validation], sorted(validation)


def micro_batches(o, members):
    """A step's images as batches, each cut into micro-batches: 4 even ones unless told otherwise."""
    parts = []
    for begin in range(0, len(members), o["batch_size"]):
        one = members[begin:begin + o["batch_size"]]
        size = o.get("micro_batch", 0)
        if size:
            parts += [one[i:i + size] for i in range(0, len(one), size)]
        else:
            few, more = divmod(len(one), min(4, len(one)))
            at = 0
            for i in range(min(4, len(one))):
                n = few + (i < more)
                parts.append(one[at:at + n])
                at += n
    return parts


if __name__ == "__main__":
    key = 42
    print("bits", [f"{bits(key, i):016x}" for i in range(4)])
    print("uniform", [f"{uniform(key, i):.17g}" for i in range(4)])
    print("normal", [f"{normal(key, i):.17g}" for i in range(4)])
    print("truncated", [f"{truncated_normal(key, -0.3, 0.3, i):.17g}" for i in range(4)])
    print("below 10", [below(key, 10, i) for i in range(10)])
    print("permutation", permutation(key, 10))
    print("fork", f"{fork(key, 'dropout'):016x}", f"{fork(key, 'dropout', (3, 5)):016x}")
