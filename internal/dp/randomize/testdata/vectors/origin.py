#!/usr/bin/env python3
# The symbols of local hashing, from docs/wire-randomness.md, section "Public randomness", and nothing else.
import hashlib, json, os, sys

P = 2**61 - 1


def symbol(seed, function, symbols, cell):
    stream = hashlib.shake_256(seed + b"confetti/encode/v1/local-hash/%d" % function).digest(24)
    a = [(int.from_bytes(stream[8 * i:8 * i + 8], "little") >> 3) % P for i in range(3)]
    return symbols * ((a[0] + a[1] * cell + a[2] * cell * cell) % P) // 2**61


cases = []
for seed, symbols in ((bytes(range(32)), 2), (bytes(range(3, 35)), 5), (b"\xff" * 32, 1000), (bytes(32), 2**20)):
    for function in (0, 1, 9, 1234567):
        cells = [0, 1, 2, 3, 17, 1000, 2**20 - 1, 2**22]
        cases.append({"seed": seed.hex(), "symbols": symbols, "function": function, "cells": cells, "hashes": [symbol(seed, function, symbols, x) for x in cells]})
text = json.dumps({"comment": "Symbols of cells under functions of local hashing, by origin.py beside this.", "cases": cases}, indent=1) + "\n"
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "v1", "local_hash.json")
if "--write" in sys.argv:
    open(path, "w").write(text)
elif open(path).read() != text:
    sys.exit("local_hash.json is not what docs/wire-randomness.md says")
