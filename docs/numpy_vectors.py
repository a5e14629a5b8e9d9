"""Sums of vectors in numpy, to be timed beside ours (docs/performance-analysis.md): what a device does, what the law of many devices
costs, and the fit of least squares.

    GOMAXPROCS=2 PYTHON=/usr/bin/python3 go test -run '^$' -bench VectorNumpy -benchtime 1x -count 3 .

runs this script and alternates with it; how to get numpy, and what the script is told and answers, docs/numpy_baseline.py
says. Numbers are of single precision on the device and of double precision in the fit.
"""

import json
import os
import sys
import time

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = sys.argv[1]

import numpy as np

CLASSES, BITS, CLIP, FLIP = 10, 8192, 2.2, 0.16
random = np.random.default_rng(1)


def hadamard(x):
    """Transforms the rows of x."""
    n, width, h = x.shape[0], x.shape[1], 1
    while h < width:
        x = x.reshape(n, -1, 2, h)
        x = np.stack((x[:, :, 0] + x[:, :, 1], x[:, :, 0] - x[:, :, 1]), axis=2)
        h *= 2
    return x.reshape(n, width)


class Rows:
    """Devices with d features, in a power of two of rows."""

    def __init__(self, d, rows):
        self.d, self.rows = d, rows
        self.first = random.choice(np.array([-1, 1], np.float32), rows)
        self.second = random.choice(np.array([-1, 1], np.float32), rows) / np.float32((64 * rows) ** 0.5) * np.float32(rows**0.5 / CLIP)
        self.places, self.upper = random.permutation(rows), np.triu_indices(d)
        self.weights = np.where(self.upper[0] == self.upper[1], 1, 2**0.5).astype(np.float32) * np.float32(0.65**0.5)

    def chances(self, psi, classes):
        n = len(psi)
        v = np.zeros((n, self.rows), np.float32)
        pairs = len(self.weights)
        v[:, :pairs] = psi[:, self.upper[0]] * psi[:, self.upper[1]] * self.weights
        scaled = np.concatenate((psi * np.float32(0.9**0.5), np.full((n, 1), 0.1**0.5, np.float32)), axis=1) * np.float32(0.35**0.5)
        for i, k in enumerate(classes):
            v[i, pairs + k * (self.d + 1) : pairs + (k + 1) * (self.d + 1)] = scaled[i]
        v = hadamard((v * self.first).reshape(-1, 64)).reshape(n, self.rows)
        z = np.clip(hadamard(v[:, self.places] * self.second), -1, 1)
        return FLIP + (1 - 2 * FLIP) * (1 + z) / 2

    def answer(self, psi, classes):
        """The rows that each device answers, and its bits."""
        chances = self.chances(psi, classes)
        answered = random.random(chances.shape, np.float32) < BITS / self.rows
        rows = np.nonzero(answered)
        return rows[1], random.random(len(rows[0]), np.float32) < chances[rows]


def unit(n, d):
    x = random.normal(0, 1, (n, d)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


device, many = Rows(500, 131_072), Rows(351, 65_536)
one, crowd = unit(1, 500), unit(10, 351)
noise = random.normal(0, 9, (500, 500))
second, cross = 0.8 * 60_000 / 500 * np.eye(500) + (noise + noise.T) / 2, random.normal(0, 40, (500, CLASSES))


def law():
    """A hundred devices, ten at once."""
    counts = np.zeros((2, 65_536), np.int64)
    for _ in range(10):
        rows, bits = many.answer(crowd, range(10))
        counts[0] += np.bincount(rows[~bits], minlength=65_536)
        counts[1] += np.bincount(rows[bits], minlength=65_536)


def ridge():
    values, vectors = np.linalg.eigh(second / 60_000)
    ridge = 0.5 * 2 * 9 * 500**0.5 / 60_000
    return vectors @ ((vectors.T @ (cross / 60_000)) / (np.maximum(values, 0) + ridge)[:, None])


cases = {"device": lambda: device.answer(one, [3]), "law": law, "ridge": ridge}

for line in sys.stdin:
    name, times = line.split()
    cases[name]()  # warm
    start = time.perf_counter()
    for _ in range(int(times)):
        cases[name]()
    print(json.dumps({"case": name, "seconds": (time.perf_counter() - start) / int(times), "peak_bytes": 0}), flush=True)
