#!/usr/bin/env python3
# Vectors of strings, from docs/wire-reports.md, "Strings", and nothing else.
import hashlib, json, math, os, sys

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def symbols(code, text):
    if code["alphabet"] == "":
        said = [h for b in text.encode() for h in (1 + (b >> 4), 1 + (b & 15))]
    elif all(c in code["alphabet"] for c in text):
        said = [1 + code["alphabet"].index(c) for c in text]
    else:
        return None
    most = code["longest"] * (2 if code["alphabet"] == "" else 1)
    return said if 0 < len(said) <= most else None


def vector(code, seed, text):
    stream = hashlib.shake_256(seed + b"confetti/encode/v1/strings/tree").digest(24)
    root, bucket_salt, cell_salt = (int.from_bytes(stream[8 * i:8 * i + 8], "little") for i in range(3))
    fit = symbols(code, text)
    said = fit or []
    nibbles = code["alphabet"] == ""
    a = 17 if nibbles else 1 + len(code["alphabet"])
    length = code["longest"] * (2 if nibbles else 1)
    q, hashes, tail = code["cells"], code["hashes"], code["tail"]
    positions = length * hashes + tail
    state, states = root, []
    for t in range(length):
        if t <= len(said):
            state = mix((state + ((said[t] if t < len(said) else 0) + 1) * GOLDEN) & MASK)
        states.append(state)
    bucket = mix(state ^ bucket_salt) * code["buckets"] >> 64
    salt = lambda place: mix((cell_salt + ((bucket << 16) + place + 1) * GOLDEN) & MASK)
    cells = []
    for t in range(length):
        h = mix(states[t] ^ salt(t))
        cells += [(h >> 8 * k & 255) * q >> 8 for k in range(hashes)]
    cells += [(mix(state ^ salt(length + t)) & 255) * q >> 8 for t in range(tail)]
    entry = math.sqrt((1 - code["pairs"]) / positions)
    out = [[(bucket * positions + j) * q + c, entry] for j, c in enumerate(cells)]
    if code["pairs"] > 0:
        base, entry = code["buckets"] * positions * q, math.sqrt(code["pairs"] / length)
        for t in range(min(len(said) + 1, length)):
            before = t - 2 if nibbles and t % 2 == 0 else t - 1
            context = said[before] if before >= 0 else 0
            out.append([base + (t * a + context) * a + (said[t] if t < len(said) else 0), entry])
    return {"text": text, "fits": fit is not None, "places": [p for p, _ in out], "entries": [round(e, 7) for _, e in out]}


CODES = [
    {"alphabet": "abc", "longest": 3, "cells": 4, "hashes": 1, "tail": 2, "buckets": 3, "pairs": 0.1},
    {"alphabet": "abcdefghijklmnopqrstuvwxyz", "longest": 8, "cells": 32, "hashes": 1, "tail": 4, "buckets": 326, "pairs": 0.1},
    {"alphabet": "äöü-", "longest": 5, "cells": 7, "hashes": 3, "tail": 1, "buckets": 11, "pairs": 0},
    {"alphabet": "", "longest": 6, "cells": 8, "hashes": 2, "tail": 12, "buckets": 9, "pairs": 0.25},
]
TEXTS = ["a", "abc", "cab", "zebra", "abcdefgh", "abcdefghi", "", "A", "ä-öü", "né", "李张", "a b", "äöü-äöü-"]
cases = []
for i, code in enumerate(CODES):
    seed = bytes((7 * i + k) % 256 for k in range(32))
    cases.append({**code, "seed": seed.hex(), "strings": [vector(code, seed, t) for t in TEXTS]})
text = json.dumps({"comment": "Vectors of strings, by origin.py beside this: where entries are that are not zero.", "cases": cases}, ensure_ascii=False, indent=1) + "\n"
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "v1", "strings.json")
if "--write" in sys.argv:
    open(path, "w").write(text)
elif any(open(name).read() != text for name in sys.argv[1:] or [path]):
    sys.exit("strings.json is not what docs/wire-reports.md says")
