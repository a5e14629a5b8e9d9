"""Plays one part of Prio3 with the CFRG's reference code (vdaf_poc of draft-irtf-cfrg-vdaf-20).

It answers one request a line, in JSON, and takes Python 3.12 with the folder poc of the draft's
repository in PYTHONPATH. Where pycryptodomex is not installed, TurboSHAKE128 is written below
from RFC 9861.
"""
import json
import sys
import types


class Turbo:
    """TurboSHAKE128 of one domain byte: update, then read."""

    RATE = 168

    def __init__(self, domain):
        self.domain, self.said, self.state, self.rest = domain, b"", None, b""

    def update(self, text):
        self.said += bytes(text)

    def read(self, n):
        if self.state is None:
            padded = self.said + bytes([self.domain])
            padded += bytes(-len(padded) % self.RATE)
            padded = padded[:-1] + bytes([padded[-1] ^ 0x80])
            self.state = [0] * 25
            for at in range(0, len(padded), self.RATE):
                for i in range(self.RATE // 8):
                    self.state[i] ^= int.from_bytes(padded[at + 8 * i:at + 8 * i + 8], "little")
                permute(self.state)
            self.rest = self.block()
        while len(self.rest) < n:
            permute(self.state)
            self.rest += self.block()
        out, self.rest = self.rest[:n], self.rest[n:]
        return out

    def block(self):
        return b"".join(x.to_bytes(8, "little") for x in self.state[:self.RATE // 8])


def turned(x, by):
    return (x << by | x >> (64 - by)) & (1 << 64) - 1


def constants():
    """The last twelve of Keccak's round constants, by their shift register (FIPS 202, 3.2.5)."""
    out, r = [], 1
    for _ in range(24):
        c = 0
        for j in range(7):
            if r & 1:
                c |= 1 << (1 << j) - 1
            r <<= 1
            if r & 0x100:
                r ^= 0x171
        out.append(c)
    return out[12:]


def permute(a):
    for constant in constants():
        column = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        for i in range(25):
            a[i] ^= column[(i + 4) % 5] ^ turned(column[(i + 1) % 5], 1)
        x, y, lane = 1, 0, a[1]
        for t in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            lane, a[x + 5 * y] = a[x + 5 * y], turned(lane, (t + 1) * (t + 2) // 2 % 64)
        for row in range(0, 25, 5):
            b = a[row:row + 5]
            for i in range(5):
                a[row + i] = b[i] ^ ~b[(i + 1) % 5] & b[(i + 2) % 5] & (1 << 64) - 1
        a[0] ^= constant


try:
    import Cryptodome.Hash.TurboSHAKE128  # noqa: F401
except ImportError:
    for name in "Cryptodome", "Cryptodome.Cipher", "Cryptodome.Hash":
        sys.modules[name] = types.ModuleType(name)
    sys.modules["Cryptodome.Cipher"].AES = None
    sys.modules["Cryptodome.Hash"].TurboSHAKE128 = types.SimpleNamespace(new=lambda domain: Turbo(domain))

from vdaf_poc import vdaf_prio3  # noqa: E402


def vdaf(q):
    if q["circuit"] == "histogram":
        return vdaf_prio3.Prio3Histogram(2, q["length"], q["chunk"])
    if q["circuit"] == "multihot":
        return vdaf_prio3.Prio3MultihotCountVec(2, q["length"], q["weight"], q["chunk"])
    return vdaf_prio3.Prio3SumVec(2, q["length"], q["max"], q["chunk"])


def device(v, q, get):
    vector = q["vector"]
    if q["circuit"] == "histogram":
        vector = vector.index(1)
    elif q["circuit"] == "multihot":
        vector = [x == 1 for x in vector]
    public, shares = v.shard(get("context"), vector, get("nonce"), get("random"))
    return {"public": v.encode_public_share(public), "leader": v.encode_input_share(shares[0]), "helper": v.encode_input_share(shares[1])}


def aggregator(v, q, get):
    """One aggregator's part, and with the other's part the decision and its share."""
    me = q["aggregator"]
    state, part = v.verify_init(get("key"), get("context"), me, None, get("nonce"), v.decode_public_share(get("public")), v.decode_input_share(me, get("share")))
    out = {"part": v.encode_verifier_share(part)}
    if q.get("other"):
        parts = [part, v.decode_verifier_share(state, get("other"))]
        message = v.verifier_shares_to_message(get("context"), None, parts if me == 0 else parts[::-1])
        out["message"] = v.encode_verifier_message(message)
        out["out"] = v.encode_out_share(v.verify_next(get("context"), state, message))
    return out


for line in sys.stdin:
    request = json.loads(line)
    field = lambda name: bytes.fromhex(request[name])  # noqa: E731
    try:
        answer = {"device": device, "aggregator": aggregator}[request["part"]](vdaf(request), request, field)
        answer = {k: v.hex() for k, v in answer.items()}
    except ValueError as refused:
        answer = {"refused": str(refused)}
    print(json.dumps(answer), flush=True)
