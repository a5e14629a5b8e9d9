"""Vectors of experiments by exact arithmetic of Python's fractions and decimals, and by no code of Confetti: python3 vectors.py > vectors.json"""
import json
from decimal import Decimal, getcontext
from fractions import Fraction
from math import floor

getcontext().prec = 60
SCALE = 65535


def place(metric, held):
    left = Fraction(held["of"])
    if "times" in metric:
        left -= Fraction(metric["times"]) * min(Fraction(held["before"]), Fraction(metric["most"]))
    if "rate" in metric:
        left -= Fraction(metric["rate"]) * Fraction(held["per"])
    low, high = Fraction(metric["low"]), Fraction(metric["high"])
    return min(Fraction(1), max(Fraction(0), (left - low) / (high - low)))


def numbers(u):
    up = floor(u * SCALE + Fraction(1, 2))
    apart = Decimal(8).sqrt() * up * (SCALE - up) / SCALE
    assert abs(apart - round(apart)) > Decimal("1e-6") or up in (0, SCALE)  # far from where rounding decides
    return [up, SCALE - up, floor(apart)]


METRICS = [
    {"low": -20, "high": 100, "times": "0.625", "most": 120},
    {"low": "-2.5", "high": 6, "rate": "0.0625"},
    {"low": 0, "high": 1},
]
HELD = [
    ({"of": 30, "before": 20}, {"of": 3, "per": 24}, {"of": 1}),
    ({"of": 0, "before": 500}, {"of": 0, "per": 100}, {"of": 0}),
    ({"of": 400, "before": 120}, {"of": 40, "per": 40}, {"of": 1}),
    ({"of": "12.375", "before": "7.25"}, {"of": 1, "per": 7}, {"of": 0}),
    ({"of": "0.1875", "before": 0}, {"of": 5, "per": 0}, {"of": "0.25"}),
]
print("[")
for i, held in enumerate(HELD):
    for arm in range(3):
        out = [0] * 27
        for k, (metric, h) in enumerate(zip(METRICS, held)):
            out[9 * arm + 3 * k : 9 * arm + 3 * k + 3] = numbers(place(metric, h))
        flat = [float(h[name]) for h in held for name in ("of", "before", "per") if name in h]
        end = "" if i == len(HELD) - 1 and arm == 2 else ","
        print(json.dumps({"arm": arm, "held": flat, "whole": out}) + end)
print("]")
