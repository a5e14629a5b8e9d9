"""Writes words.json: texts and their words in 64 places. It shares no code with the package: python3 words.py > words.json"""
import json, re, sys

PLACES, HALF = 64, 1e-3
SHARES = {"the": 0.05, "of": 0.003, "naïve": 1e-5}
TEXTS = ["The cost of oil, of OIL: naïve!", "a b c", "3.5% of the 100,000"]


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def features(text):
    out = [0.0] * PLACES
    for word in re.findall(r"[^\W_]+", text.lower()):
        if 2 <= len(word.encode()) <= 64:
            h = fnv1a(word.encode()) * 0x9E3779B97F4A7C15 % 2**64
            out[(h >> 40) % PLACES] += (-1 if h >> 63 else 1) * HALF / (HALF + SHARES.get(word, 0))
    return out


json.dump({"Places": PLACES, "Half": HALF, "Common": sorted(SHARES), "Shares": [SHARES[w] for w in sorted(SHARES)],
           "Texts": TEXTS, "Features": [features(t) for t in TEXTS]}, sys.stdout)
