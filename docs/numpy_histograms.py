"""The hot paths of histograms in docs/performance.md in numpy, to be timed beside ours:
what a user of numpy would do, each path vectorized; docs/peers.py has pure-LDP itself.

    GOMAXPROCS=2 go test -run '^$' -bench HistogramNumpy -benchtime 1x -count 3 .

runs this script and alternates with it; how to get numpy, and what the script is told
and answers, docs/numpy_baseline.py says.

What differs from ours, nearly all of it in numpy's favour: random numbers are those of
SFC64, no cryptographic generator; nothing is checked but the kind of a message; a
device's bits are not made into payloads of a constant number; payloads lie in one block
of memory; intervals and p-values are those of the normal law, where ours are exact for
small counts; the flips of a simulation are given, where ours are calibrated; a sketch has
the hash functions of Dietzfelbinger's multiply-shift, of two-wise independence, where ours
are of four-wise.
"""

import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import NormalDist

import numpy as np

THREADS = int(sys.argv[1])
CELLS, LOCAL = 2_795_520, 13  # of the device
MESSAGES, KEPT = 100_000_000, 10_000_000  # counted, and kept in memory
TABLE, DEVICES, TABLE_LOCAL = 3_000_000, 2_000_000, 10
VALUES, REPORTS = 1_778_120, 203_950_512  # heavy hitters
HASHES, LOG_WIDTH = 1024, 16
LEVEL, RATE, ROWS = 0.95, 0.05, 50

pool = ThreadPoolExecutor(THREADS)
r = np.random.Generator(np.random.SFC64())


def parts(n):
    """Ranges for the threads."""
    ends = [n * i // THREADS for i in range(THREADS + 1)]
    return [slice(a, b) for a, b in zip(ends, ends[1:])]


def flips(local):
    flip = 1 / (math.exp(local) + 1)
    return 1 - flip, flip


def device_sparse():
    """How many flip, and where."""
    keep, flip = flips(LOCAL)
    value = 0

    def run():
        nonlocal value
        value = (value + 1) % CELLS
        sent = r.choice(CELLS - 1, r.binomial(CELLS - 1, flip), replace=False, shuffle=False)
        sent += sent >= value
        return np.append(sent, value) if r.random() < keep else sent

    return run


def count():
    """Payloads of kind, channel (big endian), symbol, two bytes of zeros."""
    payload = np.dtype([("kind", "u1"), ("channel", ">u4"), ("symbol", "u1"), ("zeros", ">u2")])
    payloads = np.zeros(KEPT, payload)
    payloads["kind"] = 1
    payloads["channel"] = r.integers(0, CELLS, KEPT)

    def part(of):
        counts = np.zeros(CELLS, np.int64)
        for _ in range(MESSAGES // KEPT):
            p = payloads[of]
            counts += np.bincount(p["channel"][p["kind"] == 1], minlength=CELLS)
        return counts

    return lambda: sum(pool.map(part, parts(KEPT)))


def counted():
    """The counts of three million cells, of which one in seven is held."""
    keep, flip = flips(TABLE_LOCAL)
    cells = 7 * (TABLE // 7 * r.random(DEVICES) * r.random(DEVICES)).astype(np.int64)
    holders = np.bincount(cells, minlength=TABLE)
    return r.binomial(holders, keep) + r.binomial(DEVICES - holders, flip)


def estimates(counts, n, local):
    keep, flip = flips(local)
    counts = counts.astype(np.float64)
    means = (counts - n * flip) / (keep - flip)
    errors = np.sqrt((n - counts) * (keep * flip) + counts * ((1 - keep) * (1 - flip))) / (keep - flip)
    return means, errors


def estimate():
    counts = counted()
    return lambda: list(pool.map(lambda of: estimates(counts[of], DEVICES, TABLE_LOCAL), parts(TABLE)))


def heavy(means, error):
    """Benjamini and Hochberg; error is that of a cell that nobody holds."""
    z = means / error
    z = np.sort(z[z >= NormalDist().inv_cdf(1 - RATE)])[::-1]
    p = np.array([math.erfc(x / math.sqrt(2)) / 2 for x in z])
    passed = np.flatnonzero(p <= RATE * np.arange(1, len(z) + 1) / len(means))
    return z[: passed[-1] + 1] if len(passed) else z[:0]


def project(means, total):
    """Onto the simplex, all errors alike."""
    largest = np.sort(means)[::-1]
    theta = (np.cumsum(largest) - total) / np.arange(1, len(means) + 1)
    theta = theta[np.flatnonzero(largest > theta)[-1]]
    return np.maximum(means - theta, 0)


def describe():
    """Estimates, the largest with two intervals, the projection, heavy hitters."""
    counts = counted()

    def run():
        means, errors = estimates(counts, DEVICES, TABLE_LOCAL)
        _, flip = flips(TABLE_LOCAL)
        top = np.argpartition(means, -ROWS)[-ROWS:]
        top = top[np.argsort(-means[top])]
        intervals = [
            (means[top] - z * errors[top], means[top] + z * errors[top])
            for z in (NormalDist().inv_cdf(0.5 + LEVEL / 2), NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / TABLE))
        ]
        null = math.sqrt(DEVICES * flip * (1 - flip)) / (1 - 2 * flip)
        return top, intervals, project(means, DEVICES), heavy(means, null)

    return run


def population():
    """A hundred heavy hitters with half of the reports, and a power law."""
    head, tail = 1 / np.arange(1, 101), np.arange(1, VALUES - 99) ** -1.35
    weights = np.concatenate([head / head.sum() / 2, tail / tail.sum() / 2])
    return r.multinomial(REPORTS, weights / weights.sum())


def law():
    """Counts by their law, estimates, their error, heavy hitters."""
    holders = population()
    local = 12.2  # about what epsilon 1 comes to

    def run():
        keep, flip = flips(local)
        counts = r.binomial(holders, keep) + r.binomial(REPORTS - holders, flip)
        means, errors = estimates(counts, REPORTS, local)
        wrong = np.maximum(means, 0) - holders
        null = math.sqrt(REPORTS * flip * (1 - flip)) / (1 - 2 * flip)
        return math.sqrt(np.mean(wrong * wrong)), np.abs(wrong).max(), heavy(means, null), errors

    return run


def sketch():
    """All values from a count-mean sketch. Multiply-shift hashes to a power of two."""
    a = r.integers(0, 1 << 63, HASHES, np.uint64) << np.uint64(1) | np.uint64(1)
    b = r.integers(0, 1 << 63, HASHES, np.uint64)
    values = np.arange(VALUES, dtype=np.uint64)
    counts = r.integers(0, 1000, (HASHES, 1 << LOG_WIDTH))
    q = 1 / (1 << LOG_WIDTH)
    block = 1 << 14  # values whose hashes stay in the cache

    def part(of):
        sums = np.zeros(len(values[of]), np.int64)
        for start in range(0, len(sums), block):
            x, own = values[of][start : start + block], sums[start : start + block]
            for row in range(HASHES):
                own += counts[row][(a[row] * x + b[row]) >> np.uint64(64 - LOG_WIDTH)]
        keep, flip = flips(LOCAL)
        shared = (sums - REPORTS * flip) / (keep - flip)
        means = (shared - REPORTS * q) / (1 - q)
        noise = REPORTS * flip * (1 - flip) / (keep - flip) ** 2
        return means, np.sqrt(noise + q * (1 - q) * np.maximum(REPORTS - means, 0)) / (1 - q)

    return lambda: list(pool.map(part, parts(VALUES)))


def peak():
    """0 where there is no /proc."""
    try:
        with open("/proc/self/status") as status:
            return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except FileNotFoundError:
        return 0


CASES = {
    "device/sparse": device_sparse,
    "count/100-million": count,
    "estimate/3-million": estimate,
    "describe/3-million": describe,
    "law/heavy-hitters": law,
    "sketch/1024x65536": sketch,
}

ready, run = None, None
for line in sys.stdin:
    name, times = line.split()
    if name != ready:
        run = None  # its data may be large
        ready, run = name, CASES[name]()
        if not name.startswith(("count", "sketch")):  # which take seconds
            run()  # warm
    start = time.perf_counter()
    for _ in range(int(times)):
        run()
    seconds = (time.perf_counter() - start) / int(times)
    print(json.dumps({"case": name, "seconds": seconds, "peak_bytes": peak()}), flush=True)
