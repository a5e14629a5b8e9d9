"""Check golden flows of histograms, in Python.

Nothing here is shared with the Go code: it was written from docs/wire.md and docs/histograms.md,
with the standard library alone. Of each file it computes the plan's hash, the cells that answers hold,
the payloads that messages make, the counts of all channels, every estimate, and its standard error where
collisions of hashes have no part in it. What devices draw is taken as given: only that a report is one
that its randomizer may send is looked at.

    python3 origin.py v2/sample.json v2/krr.json ...
"""
import hashlib
import json
import math
import sys
from collections import Counter
from fractions import Fraction

P = 2**61 - 1


def words(seed, label):
    at, block = 0, b""
    while True:
        if at == len(block):
            block = hashlib.shake_256(seed + b"confetti/encode/v1/" + label.encode()).digest(2 * len(block) + 4096)
        at += 8
        yield int.from_bytes(block[at - 8 : at], "little")


def canonical(text):
    """The plan's bytes in a file: without the white space between its members."""
    start = text.index('"plan": ') + len('"plan": ')
    out, depth, quoted, at = [], 0, False, start
    while True:
        c = text[at]
        if quoted and c == "\\":
            out.append(c)
            at += 1
            c = text[at]
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c in "{[") - (c in "}]")
        if quoted or not c.isspace():
            out.append(c)
        at += 1
        if depth == 0:
            return "".join(out).encode()


def size(a):
    if a["kind"] == "buckets":
        return a["cells"]
    return len(a.get("values", [])) + a.get("size", 0) + a.get("others", False)


def cells(a, answer):
    if a["kind"] == "categories":
        return [a["values"].index(answer) if answer in a["values"] else len(a["values"])]
    if a["kind"] == "set":
        return sorted(answer)
    low, width = Fraction(a["low"]), Fraction(a["high"]) - Fraction(a["low"])
    edges = [float(low + i * width / a["cells"]) for i in range(a["cells"])]
    return [max(i for i, edge in enumerate(edges) if edge <= answer)]


def even(x):
    return bin(x).count("1") % 2 == 0


class Whole:
    """A randomizer whose report is one of a list: what supports a cell, and with which probabilities."""

    def __init__(self, z, k):
        self.k, e, name = k, math.exp(z["epsilon"]), z["name"]
        self.messages, self.hashed = 1, False
        if name == "krr":
            self.channels, self.p, self.q = k, e / (e + k - 1), 1 / (e + k - 1)
            self.supports = lambda c, v: c == v
        elif name == "subset":
            w = self.messages = z["subset"]
            self.channels, self.p = k, w * e / (w * e + k - w)
            self.q = self.p * (w - 1) / (k - 1) + (1 - self.p) * w / (k - 1)
            self.supports = lambda c, v: c == v
        elif name == "hadamard":
            self.channels = 1 << k.bit_length()
            self.p, self.q = e / (e + 1), 0.5
            self.supports = lambda c, v: even(c & (v + 1))
        else:
            g, self.hashed = z["range"], True
            self.channels, self.p, self.q = g * z["functions"], e / (e + g - 1), 1 / g
            family = []
            for f in range(z["functions"]):
                stream = words(bytes.fromhex(z["seed"]), "local-hash/%d" % f)
                family.append([(next(stream) >> 3) % P for _ in range(3)])

            def supports(c, v):
                a, b, square = family[c // g]
                return c % g == (((a + b * v + square * v * v) % P) * g >> 61)

            self.supports = supports

    def estimates(self, counts, respondents, share):
        n = sum(counts) // self.messages
        for v in range(self.k):
            seen = sum(x for c, x in enumerate(counts) if self.supports(c, v))
            yield of(seen, n, self.p, self.q, self.p * (1 - self.p), self.q * (1 - self.q), not self.hashed)


def of(seen, n, p, q, varp, varq, exact=True):
    """n devices add p on average where they hold a cell, else q, with these variances."""
    mean = (seen - n * q) / (p - q)
    return mean, math.sqrt(mean * varp + (n - mean) * varq) / abs(p - q) if exact else None


class Bits:
    """Each cell by itself; in fragments, and in a row of a sketch."""

    def __init__(self, z, k, sketch):
        self.k, self.z, self.sketch = k, z, sketch
        self.channels = k
        if sketch:
            stream, self.rows = words(bytes.fromhex(sketch["seed"]), "sketch/rows"), []
            for _ in range(sketch["hashes"]):
                row = []
                while len(row) < 4:
                    a = next(stream) >> 3
                    if a != P:
                        row.append(a)
                self.rows.append(row)
            self.channels = sketch["hashes"] * sketch["width"]

    def estimates(self, counts, respondents, share):
        keep, flip, z = self.z["keep"], self.z["flip"], self.z
        if self.sketch:
            w = self.sketch["width"]
            for v in range(self.k):
                at = [i * w + (w * (sum(a * v**j for j, a in enumerate(row)) % P) >> 61) for i, row in enumerate(self.rows)]
                seen = sum(counts[c] for c in at)
                yield of(seen, respondents, keep, flip + (keep - flip) / w, 0, 0, False)
            return
        tau = z.get("fragments", 1)
        if tau > 1:
            kept, flipped = z["backstop_keep"], z["backstop_flip"]
        else:
            kept, flipped = 1, 0

        def law(bit):  # mean and variance of what a device adds, whose backstop has the bit so often
            bit, zero = share * bit, share * (1 - bit)
            mean = tau * (bit * keep + zero * flip)
            square = bit * (tau * keep * (1 - keep) + (tau * keep) ** 2) + zero * (tau * flip * (1 - flip) + (tau * flip) ** 2)
            return mean, square - mean * mean

        (p, varp), (q, varq) = law(kept), law(flipped)
        for seen in counts:
            mean, _ = of(seen, respondents, p, q, 0, 0)
            held = min(max(mean, 0), respondents)  # the error is that of so many holders
            yield mean, math.sqrt(held * varp + (respondents - held) * varq) / (p - q)


def check(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    v = json.loads(text)
    wrong = []

    def same(what, got, want):
        if got != want:
            wrong.append("%s is %s, want %s" % (what, got, want))

    same("the plan's hash", hashlib.sha256(canonical(text)).hexdigest(), v["hash"])
    ask, envelopes = v["plan"]["question"]["histogram"], v["plan"]["envelopes"]
    z, attributes = ask["randomizer"], ask["attributes"]
    parts = [Bits(z, size(a), ask.get("sketch")) if z["name"] == "one-hot" else Whole(z, size(a)) for a in attributes]
    channels = sum(part.channels for part in parts)
    counts, contributions = [0] * channels, 0
    for i, d in enumerate(v["devices"]):
        same("device %d: what it holds" % i, [cells(a, x) for a, x in zip(attributes, d["answers"])], d["held"])
        for said, payloads in zip(d["channels"], d["payloads"], strict=True):
            contributions += 1
            same("device %d: how many payloads" % i, len(payloads), envelopes["per_device"])
            made = [bytes([1]) + c.to_bytes(4, "big") + bytes(envelopes["payload_bytes"] - 5) for c in said]
            made += [bytes(envelopes["payload_bytes"])] * (envelopes["per_device"] - len(said))
            if len(said) <= len(payloads):
                same("device %d: its payloads" % i, sorted(p.hex() for p in made), sorted(payloads))
            elif Counter(payloads) - Counter(p.hex() for p in made):
                wrong.append("device %d: a payload is of no message" % i)
            if z["name"] != "one-hot":
                same("device %d: how many messages" % i, len(said), parts[0].messages)
            for p in payloads:  # where a report outgrows its envelopes some of it is left out
                if p[:2] == "01":
                    counts[int(p[2:10], 16)] += 1
    same("the counts", counts, v["counts"])
    same("the contributions", contributions, v["respondents"])
    respondents = len(v["devices"])
    share = 1 / len(attributes) if ask.get("collect") == "sample" else 1
    first, estimates = 0, []
    for part in parts:
        estimates += part.estimates(counts[first : first + part.channels], respondents, share)
        first += part.channels
    same("how many estimates", len(estimates), len(v["estimates"]))
    for i, ((mean, error), want) in enumerate(zip(estimates, v["estimates"])):
        for what, got, stated in (("mean", mean, want["mean"]), ("error", error, want["std_err"])):
            if got is not None and abs(got - stated) > v["tolerance"] * max(1, abs(stated)):
                wrong.append("%s of cell %d is %r, want %r" % (what, i, got, stated))
    for bad in v["bad"]:
        b = bytes.fromhex(bad["payload"])
        kind, channel, symbol, rest = b[0], int.from_bytes(b[1:5], "big"), b[5], b[6:]
        if (kind == 1 and channel < channels and symbol == 0 and not any(rest)) or not any(b):
            wrong.append("%s is a payload" % bad["payload"])
    for line in wrong:
        print("%s: %s" % (path, line))
    return not wrong


if __name__ == "__main__":
    if not all([check(path) for path in sys.argv[1:]]):
        sys.exit(1)
