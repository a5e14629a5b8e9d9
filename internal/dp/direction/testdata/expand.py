# The origin of the directions in direction_test.go: what expand states, by another
# library's AES. Run with Python 3 and its package cryptography.
import math

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def expand(seed, dim):
    words = (dim + 1) // 2 * 2
    stream = Cipher(algorithms.AES(seed), modes.CTR(bytes(16))).encryptor().update(bytes(8 * words))
    u = [(int.from_bytes(stream[8 * i:8 * i + 8], "little") >> 11) * 2.0**-53 for i in range(words)]
    z = []
    for a, b in zip(u[::2], u[1::2]):
        radius = math.sqrt(-2 * math.log1p(-a))
        z += [radius * math.cos(2 * math.pi * b), radius * math.sin(2 * math.pi * b)]
    length = math.sqrt(sum(x * x for x in z[:dim]))
    return [x / length for x in z[:dim]]


print(expand(bytes(16), 5))
print(expand(bytes(range(16)), 4))
print(expand(bytes([255] * 16), 1))
print(expand(bytes(range(16)), 300)[299])
