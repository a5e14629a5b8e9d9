"""Writes gradients.json: an image of 12 times 8 pixels and its oriented gradients.

It shares no code with the package and follows its documentation cell by cell, by summing over all
pixels with the weights of a cell. Standard library only: python3 gradients.py > gradients.json
"""
import json, math

W, H = 12, 8
WEIGHTS = [.25, .5, .75, 1, 1, .75, .5, .25]


def at(image, x, y):
    return image[min(H - 1, max(0, y))][min(W - 1, max(0, x))]


def blur(image):
    taps = [1, 4, 6, 4, 1]
    return [[sum(a * b * at(image, x + i - 2, y + j - 2) for i, a in enumerate(taps) for j, b in enumerate(taps)) / 256
             for x in range(W)] for y in range(H)]


def features(image):
    out = []
    for cy in range(H // 4):
        for cx in range(W // 4):
            for direction in range(8):
                total = 0.0
                for j, wy in enumerate(WEIGHTS):
                    for i, wx in enumerate(WEIGHTS):
                        x, y = 4 * cx - 2 + i, 4 * cy - 2 + j
                        if 0 <= x < W and 0 <= y < H:
                            dx = at(image, x + 1, y) - at(image, x - 1, y)
                            dy = at(image, x, y + 1) - at(image, x, y - 1)
                            turn = math.atan2(dy, dx) / (2 * math.pi) * 8 - direction
                            turn -= 8 * round(turn / 8)
                            total += wx * wy * math.hypot(dx, dy) * max(0, 1 - abs(turn))
                out.append(math.sqrt(total))
    norm = math.sqrt(sum(x * x for x in out))
    return [x / norm for x in out]


image = [[math.sin(.3 * x * y + x) + .1 * y for x in range(W)] for y in range(H)]
print(json.dumps({"width": W, "height": H, "image": sum(image, []), "features": features(image) + features(blur(image))}, indent=1))
