"""Compute the golden vectors of feature maps, domains and sketches anew, in Python.

Nothing here is shared with the Go code: it was written from docs/wire-randomness.md ("Public randomness"),
with the standard library alone. It says which number is another.

    python3 origin.py v1/features.json v1/paired.json v1/projected.json v1/rotated.json v1/hashed.json v1/cells.json ../../../sketch/testdata/vectors/v1/sketch.json
"""
import hashlib
import json
import math
import struct
import sys
from fractions import Fraction


def single(x):
    """x, rounded to a number of 32 bits."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


class Stream:
    """SHAKE-256 over the seed, "confetti/encode/v1/" and a label, in little-endian words of 64 bits."""

    def __init__(self, seed, label):
        self.start, self.at, self.bytes = seed + b"confetti/encode/v1/" + label.encode(), 0, b""

    def word(self):
        if self.at == len(self.bytes):
            self.bytes = hashlib.shake_256(self.start).digest(2 * len(self.bytes) + 4096)
        self.at += 8
        return int.from_bytes(self.bytes[self.at - 8 : self.at], "little")

    def uniform(self):
        return (self.word() >> 11) / 2**53

    def exponential(self):
        return -math.log1p(-self.uniform())

    def normals(self, n):
        z = []
        while len(z) < n:
            radius, angle = math.sqrt(2 * self.exponential()), 2 * math.pi * self.uniform()
            z += [radius * math.cos(angle), radius * math.sin(angle)]
        return z[:n]

    def signs(self, n):
        z = []
        while len(z) < n:
            word = self.word()
            z += [1 if word >> i & 1 else -1 for i in range(64)]
        return z[:n]

    def chi(self, d):
        squares = sum(2 * self.exponential() for _ in range(d // 2))
        return math.sqrt(squares + (self.normals(1)[0] ** 2 if d % 2 else 0))


def walsh(v):
    """v times Sylvester's matrix, sign by sign."""
    return [sum(x * (-1) ** bin(i & j).count("1") for j, x in enumerate(v)) for i in range(len(v))]


class Rotation:
    def __init__(self, d, stream):
        self.h = 1 << (d.bit_length() - 1)
        signs = lambda: stream.signs(self.h)
        self.first = signs(), signs() if self.h < d else None
        self.places = list(range(d))
        for i in range(d - 1, 0, -1):
            j = stream.word() * (i + 1) >> 64
            self.places[i], self.places[j] = self.places[j], self.places[i]
        self.second = signs(), signs() if self.h < d else None

    def sweep(self, v, signs):
        transformed = lambda part, signs: [x / math.sqrt(self.h) for x in walsh([a * s for a, s in zip(part, signs)])]
        v = transformed(v[: self.h], signs[0]) + v[self.h :]
        if signs[1] is not None:
            v = v[: -self.h] + transformed(v[-self.h :], signs[1])
        return v

    def __call__(self, x):
        v = self.sweep(list(x), self.first)
        return self.sweep([v[i] for i in self.places], self.second)


def kept_by_clipping(d, clip):
    """E z clip(z), z = sqrt(d) times a coordinate of a uniform unit vector, by the midpoint rule over angles."""
    edge = math.asin(min(1, clip / math.sqrt(d)))
    total = mass = 0
    for low, high in ((0, edge), (edge, math.pi / 2)):
        n = 20000
        for i in range(n):
            t = low + (high - low) * (i + 0.5) / n
            weight, z = (high - low) / n * math.cos(t) ** (d - 2), math.sqrt(d) * math.sin(t)
            mass += weight
            total += weight * z * min(z, clip)
    return total / mass


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


class Refused(Exception):
    pass


def fitting(c):
    """The value of a case as its kernel takes it."""
    x, length = c["x"], math.sqrt(dot(c["x"], c["x"]))
    if len(x) != c["dimension"]:
        raise Refused
    if c["normalize"]:
        if not 1e-15 <= length <= 1e15:
            raise Refused
        return [v / length for v in x]
    if c.get("bandwidth") and length > 1e4 * c["bandwidth"]:
        raise Refused
    if c.get("radius") and length > c["radius"] * 1.001:
        raise Refused
    if c["kernel"].startswith("ip-") and abs(length - 1) > 0.001:
        raise Refused
    return [v / length for v in x] if c["kernel"] == "ip-rotated" else x


def features(c):
    """f(x)/R, g(x) and R of a case."""
    kernel, d, n, seed = c["kernel"], c["dimension"], c["repetitions"], bytes.fromhex(c["seed"])
    stream = lambda part: Stream(seed, kernel + "/" + part)
    clamp = lambda v: max(-1, min(1, v))
    x = fitting(c)
    if kernel == "gaussian":
        weights, offsets = stream("weights"), stream("offsets")
        w = [[math.sqrt(2) / c["bandwidth"] * z for z in weights.normals(d)] for _ in range(n)]
        b = [2 * math.pi * offsets.uniform() for _ in range(n)]
        near(c["weights"], sum(w, []), 5e-7, "weights")
        near(c["offsets"], b, 5e-7, "offsets")
        f = [math.cos(dot(row, x) + angle) for row, angle in zip(w, b)]
        return f, [math.sqrt(2) * v for v in f], math.sqrt(2)
    if kernel == "gaussian-paired":
        rotations, lengths, f = stream("rotations"), stream("lengths"), []
        turned = sum((Rotation(d, rotations)(x) for _ in range(-(-n // d))), [])[:n]
        for v in turned:
            angle = v * math.sqrt(2) / c["bandwidth"] * lengths.chi(d)
            f += [math.cos(angle), math.sin(angle)]
        return f, f, 1
    if kernel == "gaussian-projected":
        m, weights, offsets = c["projection"], stream("weights"), stream("offsets")
        low = [math.sqrt(d / m) * v for v in Rotation(d, stream("rotation"))(x)[:m]]
        f = [math.cos(math.sqrt(2) / c["bandwidth"] * dot(weights.normals(m), low) + 2 * math.pi * offsets.uniform()) for _ in range(n)]
        return f, [math.sqrt(2) * v for v in f], math.sqrt(2)
    if kernel == "ip-signs":
        weights, root = stream("weights"), math.sqrt(d)
        f = [clamp(dot(weights.signs(d), x) / root) for _ in range(n)]
        return f, [root * v for v in f], root
    if kernel == "ip-identity":
        return [clamp(v) for v in x], [clamp(v) for v in x], 1
    if kernel == "ip-rotated":
        z, clip = Rotation(d, stream("rotation"))(x), c["clip"]
        gain = kept_by_clipping(d, clip)
        return [clamp(v * math.sqrt(d) / clip) for v in z], [v / gain for v in z], clip / math.sqrt(d)
    cells = (binned if kernel.startswith("laplacian") else cut)(c, x, stream)
    if kernel.endswith("-sign"):
        f = [1 if w >> 63 else -1 for w in cells]
        return f, f, 1
    buckets, f, g = c["buckets"], [], []
    for w in cells:
        own = (w >> 32) * buckets >> 32
        f += [int(i == own) for i in range(buckets)]
        g += [1 if i == own else -1 / (buckets - 1) for i in range(buckets)]
    return f, g, 1


def binned(c, x, stream):
    grids, keys = stream("grids"), stream("keys")
    for _ in range(c["repetitions"]):
        w = keys.word()
        for v in x:
            pitch = grids.exponential() + grids.exponential()
            place = math.floor(v / (c["bandwidth"] * pitch) + grids.uniform())
            w += keys.word() * (place % 2**32)
        yield w % 2**64


def cut(c, x, stream):
    d, r, offsets, directions, keys = c["dimension"], c["radius"], stream("offsets"), stream("directions"), stream("keys")
    mean = 2 * r / c["bandwidth"] * math.sqrt(math.pi) * math.gamma((d + 1) / 2) / math.gamma(d / 2)
    for _ in range(c["repetitions"]):
        w, at = keys.word(), offsets.exponential()
        while at < mean:
            z, key = directions.normals(d), keys.word()
            if dot(z, x) / math.sqrt(dot(z, z)) > r * (2 * at / mean - 1):
                w += key
            at += offsets.exponential()
        yield w % 2**64


def interval(axis, x, others):
    """The interval of x in exact fractions; None is outside, where others have a cell."""
    low, high, n = Fraction(axis["Low"]), Fraction(axis["High"]), axis["Cells"]
    if math.isnan(x):
        if others:
            return None
        raise Refused
    if x < axis["Low"] or x > axis["High"]:
        return None if others else 0 if x < axis["Low"] else n - 1
    edges = [float(low + i * (high - low) / n) for i in range(1, n)]  # a fraction becomes the nearest float
    return sum(x >= e for e in edges)


def cells(c):
    """The cells that the value of a case is in."""
    kind, others = c["kind"], c["others"]
    if kind in ("categories", "set"):
        names = [str(i) for i in range(c["numbers"])] if c.get("numbers") else c["names"]
        found = set()
        for text in c.get("text") or []:
            if text not in names and not others:
                raise Refused
            found.add(names.index(text) if text in names else len(names))
        if kind == "set" and len(found) > c["most"]:
            raise Refused
        return sorted(found)
    at = [interval(a, float(p), others) for a, p in zip(c["axes"], c["point"])]
    size = math.prod(a["Cells"] for a in c["axes"])
    if None in at:
        return [size]
    return [at[0] if kind == "buckets" else at[1] * c["axes"][0]["Cells"] + at[0]]


def sketch(c):
    """Coefficients and channels of a sketch in its first two rows and the last."""
    prime, rows = 2**61 - 1, c["hashes"]
    columns = c["width"] * (2 if c["name"] == "count" else 1)
    if rows < 1 or columns < 2 or rows * columns > 2**27:
        raise Refused
    stream, a = Stream(bytes.fromhex(c["seed"]), "sketch/rows"), []
    for _ in range(4 * rows):
        word = stream.word() >> 3
        while word == prime:
            word = stream.word() >> 3
        a.append(word)
    shown = [0, min(1, rows - 1), rows - 1]
    coefficients = [["%016x" % k for k in a[4 * row : 4 * row + 4]] for row in shown]
    hashed = lambda row, v: sum(k * v**j for j, k in enumerate(a[4 * row : 4 * row + 4])) % prime
    return coefficients, [[row * columns + (hashed(row, v) * columns >> 61) for v in c["values"]] for row in shown]


wrong = compared = 0


def near(want, got, tolerance, what):
    global wrong, compared
    compared += 1
    if len(want) != len(got) or any(abs(a - b) > tolerance for a, b in zip(want, got)):
        wrong += 1
        print(what, "has", want, "and is", got)


def same(want, got, what):
    global wrong, compared
    compared += 1
    if want != got:
        wrong += 1
        print(what, "has", want, "and is", got)


def check(path):
    text = json.load(open(path))
    tolerance = text.get("tolerance", 0)
    for s in text.get("streams", []):
        seed, what = bytes.fromhex(s["seed"]), path + " " + s["label"]
        stream, uniforms = Stream(seed, s["label"]), Stream(seed, s["label"])
        same(s["words"], ["%016x" % stream.word() for _ in s["words"]], what)
        near(s["uniforms"], [uniforms.uniform() for _ in s["uniforms"]], 0, what)
        near(s["normals"], Stream(seed, s["label"]).normals(len(s["normals"])), 1e-12, what)
        same(s["signs"], Stream(seed, s["label"]).signs(len(s["signs"])), what)
    for i, c in enumerate(text["cases"]):
        what = "%s, case %d" % (path, i)
        try:
            if "kernel" in c:
                f, g, bound = features(c)
                near(c.get("features", []), f, tolerance, what)
                near(c.get("query", []), g, 3 * tolerance, what)
                near([c["bound"]], [bound], 1e-12, what)
            elif "hashes" in c:
                coefficients, channels = sketch(c)
                same(c.get("coefficients"), coefficients, what)
                same(c.get("channels"), channels, what)
            else:
                same(c.get("cells", []), cells(c), what)
            refused = False
        except Refused:
            refused = True
        same(c.get("refused", False), refused, what + ", refused")


for name in sys.argv[1:]:
    check(name)
print(compared, "compared,", wrong, "wrong")
sys.exit(wrong > 0 or compared == 0)
