"""Writes cosines.json: a row of three columns and four cosines beside it, by the formula in the package's documentation.
It shares no code with the package: python3 cosines.py > cosines.json"""
import json, math, sys

ROW = [0.5, -1.25, 2]
DIRECTIONS = [[0.1, -0.4, 0.7], [1.5, 0.25, -0.3], [0, 0, 0], [-2, 1, 0.5]]
PHASES = [0.2, 3.1, 1.5, 6.0]
cosines = [math.sqrt(2) * math.cos(sum(w * x for w, x in zip(d, ROW)) + p) for d, p in zip(DIRECTIONS, PHASES)]
json.dump({"Row": ROW, "Directions": sum(DIRECTIONS, []), "Phases": PHASES, "Features": ROW + cosines}, sys.stdout)
