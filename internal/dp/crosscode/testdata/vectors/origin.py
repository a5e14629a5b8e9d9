#!/usr/bin/env python3
# Vectors and cells of records, from docs/crosstabs.md, "How it works" and "By two aggregators", and nothing else.
import json, math, os, struct, sys


def corner(k, i):
    out = []
    for j in range(k - 1):
        s = math.sqrt(k / ((k - 1) * (j + 1) * (j + 2)))
        out.append(s if j >= i else -(j + 1) * s if j == i - 1 else 0.0)
    return out


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def vector(sizes, main, record):
    n = len(sizes)
    one, two = math.sqrt(main / n), math.sqrt((1 - main) / (n * (n - 1) / 2))
    corners = [[0.0] * (k - 1) if v is None else corner(k, v) for k, v in zip(sizes, record)]
    out = [single(one * x) for c in corners for x in c]
    for a in range(n):
        for b in range(a + 1, n):
            out += [single(two * x * y) for x in corners[a] for y in corners[b]]
    return [round(x, 6) + 0.0 for x in out]


def cells(sizes, record):
    places, at = [], 0
    for a in range(len(sizes)):
        for b in range(a + 1, len(sizes)):
            places.append(at + record[a] * sizes[b] + record[b])
            at += sizes[a] * sizes[b]
    return {"record": record, "all": at, "marked": places}


CASES = [
    {"sizes": [2, 2], "main": 0.25, "records": [[0, 0], [0, 1], [1, 0], [1, None], [None, None]]},
    {"sizes": [3, 2, 4], "main": 0.23, "records": [[0, 0, 0], [1, 1, 2], [2, 0, 3], [2, None, 1], [None, 1, 3]]},
    {"sizes": [5, 3, 2, 3], "main": 0.2, "records": [[4, 2, 1, 0], [3, 0, 0, 2], [None, 1, 1, None]]},
]
for case in CASES:
    case["vectors"] = [vector(case["sizes"], case["main"], r) for r in case["records"]]
    case["cells"] = [cells(case["sizes"], r) for r in case["records"] if None not in r]
    case["records"] = [[-1 if v is None else v for v in r] for r in case["records"]]
text = json.dumps({"comment": "Vectors and cells of records, by origin.py beside this; -1 is a value that nobody knows.", "cases": CASES}, indent=1) + "\n"
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "v1", "records.json")
if "--write" in sys.argv:
    open(path, "w").write(text)
elif any(open(name).read() != text for name in sys.argv[1:] or [path]):
    sys.exit("records.json is not what docs/crosstabs.md says")
