"""Writes scattering.json: an image of 12 times 8 pixels and the roots of its scattering coefficients.

The coefficients are those of kymatio (Scattering2D, numpy frontend; version 0.4.0.dev0, commit 11552ed5), with
numpy 1.24.2 and scipy 1.10.1: python3 scattering.py > scattering.json
"""
import json
import numpy as np
from kymatio.numpy import Scattering2D

W, H = 12, 8
image = np.array([[((7 * x * x + 5 * y * x + 3 * y) % 17) / 16 for x in range(W)] for y in range(H)], dtype=np.float64)
found = Scattering2D(J=2, shape=(H, W), L=8)(image)  # 81 paths of 2 times 3 cells
roots = np.sqrt(np.maximum(0, found.ravel()))
json.dump({"Width": W, "Height": H, "Image": image.ravel().tolist(), "Features": (roots / np.linalg.norm(roots)).tolist()}, __import__("sys").stdout)
