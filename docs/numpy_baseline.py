"""The hot paths of docs/performance.md in numpy, to be timed beside ours.

To get numpy, on Debian: apt-get install python3-numpy libopenblas0-pthread
(numpy alone brings the reference BLAS, whose matrix products are many times slower).

    GOMAXPROCS=2 go test -run '^$' -bench Numpy -benchtime 1x -count 3 .

runs this script and alternates with it. By hand, give it the number of threads, and
on each line of its input the name of a case and how often to run it:

    echo "device/ip-rotated 1000" | python3 docs/numpy_baseline.py 1

It answers each line with one of JSON: seconds a run, and the peak of its memory in
bytes (Linux only).

What differs from ours, all of it in numpy's favour: random numbers are those of SFC64,
the fastest of numpy's generators and no cryptographic one, and have 24 bits; features
are computed in float32 throughout; nothing is checked; and a device's bits are not made
into messages. Seeds are not the plan's, which no time depends on. Each path is written
in the fastest way that was found: a single value is rotated by its Hadamard transforms,
each two small matrix products; many values, by one product with the dense matrix; and
blocks of values are shared out among threads, each with a BLAS of one thread.
"""

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is loaded

import numpy as np

THREADS = int(sys.argv[1])
DIMENSION, CLASSES, QUERIES, USERS = 768, 14, 1000, 40_000  # USERS of each class
CLIP, GAIN, FLIP, BANDWIDTH = 2.0, 0.9547, 0.2, 1.0
ONE = np.float32(1)
BLOCK = 512  # rows whose features stay in the second- and third-level caches

pool = ThreadPoolExecutor(THREADS)
local = threading.local()


def generator():
    """The thread's own, so that threads need not wait for each other."""
    if not hasattr(local, "generator"):
        local.generator = np.random.Generator(np.random.SFC64())
    return local.generator


def vectors(rows):
    x = generator().random((rows, DIMENSION), dtype=np.float32)
    x -= np.float32(0.5)
    return x


def lengths(x):
    """Of a vector, or of each row."""
    return np.sqrt(x @ x if x.ndim == 1 else np.einsum("ij,ij->i", x, x)[:, None])


def hadamard(n):
    h = np.ones((1, 1), np.float32)
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h


class Rotation:
    """Two sweeps of signs and Hadamard transforms over the first and the last 512
    coordinates, with a permutation between them."""

    left, right = hadamard(16), hadamard(32)  # of 512 = 16 x 32 points

    def __init__(self):
        window = len(self.left) * len(self.right)
        signs = generator().choice([-1, 1], (4, window)) / np.sqrt(window)
        self.signs = signs.astype(np.float32).reshape(4, len(self.left), len(self.right))
        self.permutation = generator().permutation(DIMENSION)
        self.window = window
        self.matrix = np.stack([self.one(e) for e in np.eye(DIMENSION, dtype=np.float32)])

    def one(self, x):
        v = x.copy()
        self.sweep(v, 0)
        v = v[self.permutation]
        self.sweep(v, 2)
        return v

    def sweep(self, v, first):
        for part, signs in ((v[: self.window], self.signs[first]), (v[-self.window :], self.signs[first + 1])):
            part[:] = (self.left @ (part.reshape(signs.shape) * signs) @ self.right).ravel()

    def rows(self, x):
        return x @ self.matrix


class Rotated:
    """ip-rotated: a channel for each coordinate."""

    channels = DIMENSION

    def __init__(self):
        self.rotation = Rotation()

    def features(self, x, rotate):
        z = rotate(x)
        z *= np.float32(np.sqrt(DIMENSION) / CLIP) / lengths(x)
        return np.maximum(np.minimum(z, ONE, out=z), -ONE, out=z)

    def queries(self, y):
        z = self.rotation.rows(y)
        z *= np.float32(1 / GAIN) / lengths(y)
        return z

    def predict(self, y, weight, variance):
        g = self.queries(y)
        return predictions(g @ weight, (g * g) @ variance, lambda a, b, squares: squares[a] + squares[b])


class Paired:
    """gaussian-paired: all cosines, then all sines; at most one rotation."""

    def __init__(self, pairs):
        self.pairs, self.channels = pairs, 2 * pairs
        self.rotation = Rotation()
        self.lengths = np.sqrt(2 * generator().chisquare(DIMENSION, pairs)).astype(np.float32) / np.float32(BANDWIDTH)
        self.rotation.matrix = np.ascontiguousarray(self.rotation.matrix[:, :pairs])

    def features(self, x, rotate):
        angles = rotate(x)[..., : self.pairs] * self.lengths
        angles /= lengths(x)
        out = np.empty(x.shape[:-1] + (self.channels,), np.float32)
        np.cos(angles, out=out[..., : self.pairs])
        np.sin(angles, out=out[..., self.pairs :])
        return out

    def predict(self, y, weight, variance):
        """Errors by the spread over pairs of e = w_cos cos + w_sin sin, whose squares
        are again products of matrices."""
        g = self.features(y, self.rotation.rows)
        w_cos, w_sin = weight[: self.pairs], weight[self.pairs :]
        mixed = g[:, : self.pairs] * g[:, self.pairs :]
        means, squares = g @ weight, (g * g) @ (weight * weight) + mixed @ (2 * w_cos * w_sin)

        def between(a, b, _):
            w = weight.T[a[1]] - weight.T[b[1]]
            e = w[:, : self.pairs] * g[:, : self.pairs] + w[:, self.pairs :] * g[:, self.pairs :]
            return np.einsum("ij,ij->i", e, e)

        return predictions(means, squares, between)


def predictions(means, squares, between):
    """Scores with their errors, the class of the highest, and its margin with the error."""
    order = np.argpartition(-means, 1, axis=1)
    rows = np.arange(len(means))
    first, second = (rows, order[:, 0]), (rows, order[:, 1])
    return means, np.sqrt(squares), order[:, 0], means[first] - means[second], np.sqrt(between(first, second, squares))


def device(family):
    """One value: features, rounding, randomized response; one random number a bit."""
    x, r = vectors(1)[0], generator()

    def run():
        out = family.features(x, family.rotation.one)
        out *= np.float32(0.5 - FLIP)
        out += np.float32(0.5)
        return r.random(family.channels, dtype=np.float32) < out

    return run


def query(family):
    """The classes of 1,000 records, by 14 densities."""
    y = vectors(QUERIES)
    weight = generator().random((family.channels, CLASSES), dtype=np.float32)
    variance = weight * weight
    parts = np.array_split(y, THREADS)
    return lambda: list(pool.map(lambda part: family.predict(part, weight, variance), parts))


def law(family):
    """The totals of 14 x 40,000 respondents: rounded bits added up, then flips by their
    binomial law."""
    x = np.empty((CLASSES, USERS, DIMENSION), np.float32)
    for values in x:
        values[:] = vectors(USERS)

    def ones(block):
        p = family.features(block, family.rotation.rows)
        p *= np.float32(0.5)
        p += np.float32(0.5)
        return np.count_nonzero(generator().random(p.shape, dtype=np.float32) < p, axis=0)

    def run():
        totals = []
        for values in x:
            blocks = [values[i : i + BLOCK] for i in range(0, USERS, BLOCK)]
            k = sum(pool.map(ones, blocks))
            totals.append(generator().binomial(k, 1 - FLIP) + generator().binomial(USERS - k, FLIP))
        return totals

    return run


def peak():
    """Not getrusage's, which begins with what the process that started this one had; 0
    where there is no /proc."""
    try:
        with open("/proc/self/status") as status:
            return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except FileNotFoundError:
        return 0


PATHS = {"device": device, "query": query, "law": law}
FAMILIES = {
    "ip-rotated": Rotated,
    "gaussian-paired-768-bits": lambda: Paired(384),
    "gaussian-paired-1536-bits": lambda: Paired(768),
}

ready, run = None, None
for line in sys.stdin:
    name, count = line.split()
    if name != ready:
        run = None  # its data may be large
        path, family = name.split("/")
        ready, run = name, PATHS[path](FAMILIES[family]())
        if path != "law":
            run()  # warm
    start = time.perf_counter()
    for _ in range(int(count)):
        run()
    seconds = (time.perf_counter() - start) / int(count)
    print(json.dumps({"case": name, "seconds": seconds, "peak_bytes": peak()}), flush=True)
