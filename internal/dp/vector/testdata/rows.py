"""Writes rows.json: vectors, and the probability that an answer to each row is a one.

It shares no code with the package and follows its documentation: the stream is
SHAKE-256 over seed || "confetti/encode/v1/rows/rotation" as little-endian 64-bit words. The
rotation is applied as a matrix, entry by entry: the sign of entry (i, j) of a Hadamard matrix
is the parity of i & j. Standard library only: python3 rows.py > rows.json
"""
import hashlib, json, math


def words(seed):
    data = hashlib.shake_256(seed + b"confetti/encode/v1/rows/rotation").digest(1 << 16)
    for i in range(0, len(data), 8):
        yield int.from_bytes(data[i:i + 8], "little")


def signs(stream, n):
    out = []
    for i in range(n):
        if i % 64 == 0:
            word = next(stream)
        out.append(1 if word & 1 else -1)
        word >>= 1
    return out


def rotated(v, rows, seed):
    stream = words(seed)
    first = signs(stream, rows)
    place = list(range(rows))
    for i in range(rows - 1, 0, -1):
        j = next(stream) * (i + 1) >> 64
        place[i], place[j] = place[j], place[i]
    second = signs(stream, rows)
    block = min(64, rows)
    v = [x * s for x, s in zip(v + [0.0] * (rows - len(v)), first)]
    mixed = []
    for i in range(rows):
        at = i // block * block
        mixed.append(sum((-1) ** bin((i - at) & j).count("1") * v[at + j] for j in range(block)))
    mixed = [mixed[place[i]] * second[i] for i in range(rows)]
    scale = 1 / math.sqrt(block * rows)
    return [scale * sum((-1) ** bin(i & j).count("1") * mixed[j] for j in range(rows)) for i in range(rows)]


def ones(v, rows, clip, flip, seed):
    z = [max(-1.0, min(1.0, math.sqrt(rows) * x / clip)) for x in rotated(v, rows, seed)]
    return [flip + (1 - 2 * flip) * (1 + x) / 2 for x in z]


cases = []
for dimension, rows, clip, flip, seed in [(3, 4, 1.5, 0.2, 1), (50, 64, 2.0, 0.1, 2), (200, 256, 1.7, 0.3, 3)]:
    v = [math.sin(1.7 * i + dimension) for i in range(dimension)]
    if dimension == 200:
        v = [1.0 if i == 117 else 0.0 for i in range(dimension)]
    norm = math.sqrt(sum(x * x for x in v)) * 1.0000001
    v = [x / norm for x in v]
    cases.append({"dimension": dimension, "rows": rows, "clip": clip, "flip": flip, "seed": seed,
                  "vector": v, "ones": ones(v, rows, clip, flip, bytes([seed]) * 32)})
print(json.dumps(cases, indent=1))
