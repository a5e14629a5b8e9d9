#!/usr/bin/env python3
"""Writes manifests.json from docs/wire-services.md, with nothing but Python's own library."""
import hashlib
import json
import struct

PLAN = bytes(range(0xA0, 0xC0))


def count(first, n):
    return bytes((first + i) % 256 for i in range(n))


def manifest(envelopes, part, respondents=3, size=48):
    parts = [envelopes[i:i + part] for i in range(0, len(envelopes), part)]
    head = bytes([2, 4]) + PLAN + struct.pack(">HIBQQII", 258, 7, 2, respondents, len(envelopes), size, len(parts))
    return head + b"".join(struct.pack(">Q", len(p)) + hashlib.sha256(b"".join(p)).digest() for p in parts)


def receipt(hop, numbers, batch_in, batch_out, previous):
    long = max(numbers) >= 1 << 32
    head = bytes([2 if long else 1]) + PLAN + struct.pack(">HBI", 258, hop, 7)
    return head + struct.pack(">6Q" if long else ">6I", *numbers) + batch_in + batch_out + previous + bytes(64)


def prefix(kind, receipts):
    return bytes([2, kind, len(receipts)]) + b"".join(receipts)


good = manifest([count(i, 48) for i in range(11)], 4)
digest = hashlib.sha256(good).digest()
first = receipt(0, [5_000_000_000, 0, 11, 11, 0, 0], bytes(32), b"\1" * 32, bytes(32))
second = receipt(1, [3, 0, 12, 11, 1, 0], b"\1" * 32, digest, hashlib.sha256(first).digest())


def bad(comment, error, kind, data):
    return {"comment": comment, "kind": kind, "bytes": data.hex(), "error": error}


def put(data, at, some):
    return data[:at] + some + data[at + len(some):]


short = receipt(0, [1 << 32, 0, 11, 11, 0, 0], bytes(32), b"\1" * 32, bytes(32))
vectors = [
    {"comment": "eleven envelopes in parts of four", "kind": "manifest", "bytes": good.hex(), "digest": digest.hex()},
    {"comment": "a long receipt and a short one", "kind": "manifest receipts", "bytes": prefix(3, [first, second]).hex()},
    {"comment": "the same, before a part", "kind": "part receipts", "bytes": prefix(5, [first, second]).hex()},
    bad("empty", "truncated", "manifest", b""),
    bad("version 1", "version 1", "manifest", put(good, 0, b"\1")),
    bad("a byte more", "parts make", "manifest", good + b"\0"),
    bad("a part twice", "there twice", "manifest", put(good, 105, good[65:105])),
    bad("a part less", "are stated", "manifest", put(good, 61, struct.pack(">I", 2))[:145]),
    bad("one envelope more than the parts have", "are stated", "manifest", put(good, 49, struct.pack(">Q", 12))),
    bad("a longer part in the middle", "all but the last", "manifest", put(good, 105, struct.pack(">Q", 5))),
    bad("too many parts", "need 1 to", "manifest", put(good, 61, struct.pack(">I", 65537))),
    bad("another kind", "kind 5", "manifest receipts", prefix(5, [first])),
    bad("a long receipt whose numbers are short", "fit version 1", "manifest receipts", prefix(3, [put(short, 40, bytes(8))])),
    bad("cut short", "truncated", "part receipts", prefix(5, [first])[:-1]),
]
with open("manifests.json", "w", encoding="utf-8") as out:
    json.dump(vectors, out, indent=1)
    out.write("\n")
