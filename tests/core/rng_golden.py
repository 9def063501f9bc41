#!/usr/bin/env python3
"""The golden numbers of rng_test.cpp: Philox4x32-10 and everything above it, written again in
Python from the paper (Salmon et al., SC 2011), with the normal quantile of the standard library."""
from statistics import NormalDist

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


if __name__ == "__main__":
    key = 42
    print("bits", [f"{bits(key, i):016x}" for i in range(4)])
    print("uniform", [f"{uniform(key, i):.17g}" for i in range(4)])
    print("normal", [f"{normal(key, i):.17g}" for i in range(4)])
    print("truncated", [f"{truncated_normal(key, -0.3, 0.3, i):.17g}" for i in range(4)])
    print("below 10", [below(key, 10, i) for i in range(10)])
    print("permutation", permutation(key, 10))
    print("fork", f"{fork(key, 'dropout'):016x}", f"{fork(key, 'dropout', (3, 5)):016x}")
