"""Clipped gradients in numpy, to be timed beside ours (docs/performance-analysis.md): one step of DP-SGD, without its noise, of
the network 784-400-150-50-10, batches of 250, with norms that follow from inputs and derivatives.

    GOMAXPROCS=2 go test -run '^$' -bench GradientNumpy -benchtime 1x -count 3 .

runs this script and alternates with it; how to get numpy, and what the script is told and answers,
docs/numpy_baseline.py says. Matrices are of single precision, on as many threads as ours.
"""

import json
import os
import sys
import time

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = sys.argv[1]

import numpy as np

SIZES, EXAMPLES, BATCH, BOUND = [784, 400, 150, 50, 10], 4000, 250, 1.0

random = np.random.default_rng(1)
weights = [random.normal(0, (2 / i) ** 0.5, (i, o)).astype(np.float32) for i, o in zip(SIZES, SIZES[1:])]
biases = [np.zeros(o, np.float32) for o in SIZES[1:]]
pixels = random.normal(0, 1, (EXAMPLES, SIZES[0])).astype(np.float32)
classes = np.eye(10, dtype=np.float32)[random.integers(0, 10, EXAMPLES)]


def clipped():
    sums = [[np.zeros_like(w), np.zeros_like(b)] for w, b in zip(weights, biases)]
    for at in range(0, EXAMPLES, BATCH):
        values = [pixels[at : at + BATCH]]
        for i, (w, b) in enumerate(zip(weights, biases)):
            y = values[-1] @ w + b
            values.append(np.maximum(y, 0) if i < len(weights) - 1 else y)
        e = np.exp(values[-1] - values[-1].max(1, keepdims=True))
        errors = [e / e.sum(1, keepdims=True) - classes[at : at + BATCH]]
        for i in range(len(weights) - 1, 0, -1):
            errors.insert(0, (errors[0] @ weights[i].T) * (values[i] > 0))
        squares = sum(((x * x).sum(1) + 1) * (d * d).sum(1) for x, d in zip(values, errors))
        scale = np.minimum(1, BOUND / np.sqrt(squares))[:, None].astype(np.float32)
        for (w, b), x, d in zip(sums, values, errors):
            d = d * scale
            w += x.T @ d
            b += d.sum(0)
    return sums


for line in sys.stdin:
    name, times = line.split()
    clipped()  # warm
    start = time.perf_counter()
    for _ in range(int(times)):
        clipped()
    seconds = (time.perf_counter() - start) / int(times)
    print(json.dumps({"case": name, "seconds": seconds, "peak_bytes": 0}), flush=True)
