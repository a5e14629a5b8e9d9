"""Compute golden reports of vectors with noise on a grid, in Python.

Nothing here is shared with the Go code: it was written from docs/wire-reports.md and FIPS 197, with the
standard library alone. Of each case whose report is a vector with Laplace or Gaussian noise it draws what
every device says, from the words of the case's key: the encoder's vector, its grid point, the noise, the
class, and the payload. Of payloads to refuse it says that none is a message of the plan's length.

    python3 origin.py v1/reports.json
"""
import base64
import json
import math
import struct
import sys

# The words of a key: AES-128 in counter mode, from zero on.


def times2(a):
    return (a << 1 ^ (0x11B if a & 0x80 else 0)) & 0xFF


def substitutions():
    """The inverse of each byte, by powers of 3, with its bits mixed."""
    power = [1]
    while len(power) < 255:
        power.append(power[-1] ^ times2(power[-1]))
    inverse = {a: power[-i % 255] for i, a in enumerate(power)}
    twice = [inverse.get(a, 0) * 0x101 for a in range(256)]
    return [(b ^ b >> 7 ^ b >> 6 ^ b >> 5 ^ b >> 4) & 0xFF ^ 0x63 for b in twice]


S = substitutions()


def round_keys(key):
    words, constant = [list(key[i : i + 4]) for i in range(0, 16, 4)], 1
    for i in range(4, 44):
        w = words[-1]
        if i % 4 == 0:
            w = [S[b] for b in w[1:] + w[:1]]
            w[0] ^= constant
            constant = times2(constant)
        words.append([a ^ b for a, b in zip(w, words[-4])])
    return [sum(words[i : i + 4], []) for i in range(0, 44, 4)]


def aes(keys, block):
    s = [a ^ b for a, b in zip(block, keys[0])]
    for n, key in enumerate(keys[1:], 1):
        s = [S[s[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if n < 10:
            for c in range(0, 16, 4):
                a, every = s[c : c + 4], s[c] ^ s[c + 1] ^ s[c + 2] ^ s[c + 3]
                s[c : c + 4] = [a[i] ^ every ^ times2(a[i] ^ a[(i + 1) % 4]) for i in range(4)]
        s = [a ^ b for a, b in zip(s, key)]
    return bytes(s)


class Words:
    def __init__(self, key):
        self.stream = self.words(round_keys(key))

    def words(self, keys):
        at = 0
        while True:
            block = aes(keys, at.to_bytes(16, "big"))
            yield int.from_bytes(block[:8], "little")
            yield int.from_bytes(block[8:], "little")
            at += 1

    def word(self):
        return next(self.stream)

    def below(self, n):
        if n & (n - 1) == 0:
            return self.word() % n
        while True:
            product = self.word() * n
            if product % 2**64 >= 2**64 % n:
                return product >> 64

    def chance(self, t):
        """True with probability t / 2^128."""
        u = self.word()
        return self.word() < t % 2**64 if u == t >> 64 else u < t >> 64

    def coin(self):
        return self.word() >> 63 == 1


# Laws.


def places(p):
    return round(math.ldexp(p, 128))  # exact, or of tiny ones to the nearest


def decay(d):
    """e^-d, rounded up, in units of 2^-128."""
    if d > math.log(2):
        return places(math.exp(-d) * (1 + 2.0**-51))
    return 2**128 - places(-math.expm1(-d) * (1 - 2.0**-51))


def powers(q):
    out = []
    while q and len(out) < 62:
        out.append(q)
        q = q * q >> 128
    return out


def geometric(levels, words):
    k = 0
    for j, x in enumerate(levels):
        while words.coin():
            if words.chance(x):
                k |= 1 << j
                break
    return k


def laplace(d):
    levels = powers(decay(d))

    def draw(words):
        up = geometric(levels, words)
        return up - geometric(levels, words)

    return draw


def gaussian(sigma):
    levels, sizes = powers(decay(0.5 / (sigma * sigma) * (1 - 2.0**-51))), int(13.5 * sigma) + 2

    def kept(k, words):
        for j in range(k.bit_length() - 1, -1, -1):
            if k >> j & 1 and not words.chance(levels[j] if j < len(levels) else 0):
                return False
        return True

    def draw(words):
        while True:
            k = words.below(2 * sizes - 1) - sizes + 1
            if kept(k * k, words):
                return k

    return draw


def krr(k, epsilon, own, words):
    p = min(1.0, k / (math.expm1(epsilon) + k) * (1 + 2.0**-50))
    return words.below(k) if words.chance(places(p)) else own


# Vectors.


def network(net):
    """Layers of a confetti-nn 1, each with its numbers."""
    head = b"confetti-nn 1\n"
    assert net.startswith(head)
    size = int.from_bytes(net[len(head) : len(head) + 4], "little")
    at = len(head) + 4 + size
    layers = json.loads(net[len(head) + 4 : at])
    numbers = [x for (x,) in struct.iter_unpack("<f", net[at:])]
    out = []
    for layer in layers:
        name, shape = next(iter(layer.items()))
        if name == "dense":
            n, m = shape["in"], shape["out"]
            out.append((numbers[: n * m], numbers[n * m : n * m + m]))
            numbers = numbers[n * m + m :]
        else:
            out.append(None)
    assert not numbers
    return out


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def scores(layers, x):
    for layer in layers:
        if layer is None:
            x = [max(0.0, v) for v in x]
            continue
        weights, added = layer
        m = len(added)
        x = [single(sum(v * weights[i * m + j] for i, v in enumerate(x)) + added[j]) for j in range(m)]
    return x


def nearest(x):
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def grid(x, ball, points, cost, length):
    if not 0 < length < math.inf:
        return [0] * len(x)
    pull = min(1.0, ball / length) / (ball / points)
    point = [nearest(v * pull) for v in x]
    while sum(map(cost, point)) > cost(points):
        gains = [abs(n) - abs(v * pull) if n else -math.inf for n, v in zip(point, x)]
        far = gains.index(max(gains))
        point[far] -= 1 if point[far] > 0 else -1
    return point


def body(ask, layers, value, unfit, words):
    z, classes = ask["vector"], ask.get("classes", [])
    x = [0.0] * z["dim"] if unfit else scores(layers, value["features"])
    if z["mechanism"] == "laplace":
        point = grid(x, z["length"], z["points"], abs, sum(map(abs, x)))
        noise = laplace(math.nextafter(z["epsilon"] / (2 * z["points"]), 0))
    else:
        point = grid(x, z["length"], z["points"], lambda n: n * n, math.sqrt(sum(v * v for v in x)))
        noise = gaussian(z["sigma"])
    out = value["record"].to_bytes(4, "big") if ask.get("records") else b""
    for n in point:
        out += max(-(2**31), min(2**31 - 1, n + noise(words))).to_bytes(4, "big", signed=True)
    if classes:
        own = words.below(len(classes)) if unfit else value["class"]
        out += krr(len(classes), z["class_epsilon"], own, words).to_bytes(2, "big")
    return out


def check(path):
    with open(path, encoding="utf-8") as f:
        v = json.load(f)
    wrong, seen = [], {}
    for case in v["cases"]:
        ask = case["plan"]["question"].get("latent", {})
        if ask.get("vector", {}).get("mechanism") not in ("laplace", "gaussian"):
            continue
        layers = network(base64.b64decode(json.loads(base64.b64decode(case["state"]))["net"]))
        words, size = Words(bytes.fromhex(case["key"])), case["plan"]["envelopes"]["payload_bytes"]
        for i, d in enumerate(case["devices"]):
            said = body(ask, layers, d["value"], d.get("unfit", False), words)
            sent = (b"\1" + said).ljust(size, b"\0")
            if (d["crowd"], d["bodies"], d["payloads"]) != (d["value"].get("crowd", 0), [[said.hex()]], [[sent.hex()]]):
                wrong.append("%s: device %d says %s" % (case["name"], i, said.hex()))
        seen[case["name"]] = 1 + len(said)
    for bad in v["bad"]:
        b = bytes.fromhex(bad["payload"])
        if bad["case"] in seen and (b[:1] == b"\1" and len(b) >= seen[bad["case"]] or not any(b)):
            wrong.append("%s: %s is a payload" % (bad["case"], bad["payload"]))
    if len(seen) < 4:
        wrong.append("only %d cases of vectors on a grid" % len(seen))
    for line in wrong:
        print("%s: %s" % (path, line))
    return not wrong


if __name__ == "__main__":
    if not all([check(path) for path in sys.argv[1:]]):
        sys.exit(1)
