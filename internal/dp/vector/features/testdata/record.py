"""Writes record.json: the vectors of a few records by their definitions (docs/learning-how.md),
in double precision. It shares no code with the package."""
import json
from math import sqrt, exp, acos, cos, sin, pi

psi = [0.6, -0.64, 0.48]
d, K = 3, 3
A, C = 0.65, 0.9
cases = []

# Corners of the simplex of three classes, from Helmert's contrasts.
helmert = [[1 / sqrt(2), -1 / sqrt(2), 0], [1 / sqrt(6), 1 / sqrt(6), -2 / sqrt(6)]]
corner = lambda k: [sqrt(K / (K - 1)) * row[k] for row in helmert]

for y in range(K):
    moments = []
    for i in range(d):
        for j in range(i + 1):
            moments.append(sqrt(A) * psi[i] * psi[j] * (1 if i == j else sqrt(2)))
    for k in range(K):
        own = [sqrt((1 - A) * C) * x for x in psi] + [sqrt((1 - A) * (1 - C))]
        moments += own if k == y else [0] * (d + 1)
    classes = [c * x for c in corner(y) for x in psi]
    mean, M = [0.1, 0, -0.2], [[2, 0, 0], [0.5, 1, 0], [0, 0, 3]]
    W = [[1, 0, -1], [0.5, 0.25, 0], [0, -2, 1]]
    phi = [sum(M[i][j] * (psi[j] - mean[j]) for j in range(d)) for i in range(d)]
    norm = sqrt(sum(x * x for x in phi))
    phi = [x / norm for x in phi]
    scores = [sum(W[i][k] * phi[i] for i in range(d)) for k in range(K)]
    total = sum(exp(s) for s in scores)
    error = [exp(s) / total - (k == y) for k, s in enumerate(scores)]
    size = sqrt(sum(e * e for e in error))
    error = [e * min(1, 0.6 / size) / 0.6 for e in error]
    gradient = [e * x for e in error for x in phi]
    cases.append(dict(psi=psi, classes=K, y=y, moments=moments, sums=classes, mean=mean, whiten=sum(M, []), weights=sum(W, []), gradient=gradient))
json.dump(cases, open("record.json", "w"), indent=1)
