"""Open the golden envelopes in Python: a second origin of their every byte.

Nothing here is shared with the Go code: it was written from docs/wire.md, RFC 9180 (HPKE), RFC 7748
(X25519), FIPS 197 and NIST SP 800-38D (AES-GCM), FIPS 203 (ML-KEM) and draft-ietf-hpke-pq
(MLKEM768-X25519), with the standard library alone. It is slow, and not in constant time: for
vectors, not for secrets.

    python3 origin.py v1/x25519.json v1/x-wing.json
"""
import base64
import hashlib
import hmac
import json
import sys

# AES-128-GCM.


def times2(a):
    return (a << 1 ^ (0x11B if a & 0x80 else 0)) & 0xFF


def substitutions():
    box, p, q = [0x63] + [0] * 255, 1, 1
    while True:
        p ^= times2(p)  # times 3
        q ^= q << 1
        q ^= q << 2
        q ^= q << 4
        q &= 0xFF
        if q & 0x80:
            q ^= 0x09  # over 3
        turned = lambda n: (q << n | q >> 8 - n) & 0xFF
        box[p] = q ^ turned(1) ^ turned(2) ^ turned(3) ^ turned(4) ^ 0x63
        if p == 1:
            return box


S = substitutions()


def round_keys(key):
    words, constant = [list(key[i : i + 4]) for i in range(0, 16, 4)], 1
    for i in range(4, 44):
        w = words[-1]
        if i % 4 == 0:
            w = [S[b] for b in w[1:] + w[:1]]
            w[0] ^= constant
            constant = times2(constant)
        words.append([a ^ b for a, b in zip(w, words[-4])])
    return [sum(words[i : i + 4], []) for i in range(0, 44, 4)]


def aes(keys, block):
    s = [a ^ b for a, b in zip(block, keys[0])]
    for n, key in enumerate(keys[1:], 1):
        s = [S[s[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if n < 10:
            for c in range(0, 16, 4):
                a, every = s[c : c + 4], s[c] ^ s[c + 1] ^ s[c + 2] ^ s[c + 3]
                s[c : c + 4] = [a[i] ^ every ^ times2(a[i] ^ a[(i + 1) % 4]) for i in range(4)]
        s = [a ^ b for a, b in zip(s, key)]
    return bytes(s)


def field_times(x, h):
    z = 0
    for i in range(127, -1, -1):
        if x >> i & 1:
            z ^= h
        h = h >> 1 ^ (0xE1 << 120 if h & 1 else 0)
    return z


def gcm_open(key, nonce, aad, sealed):
    keys, text, tag = round_keys(key), sealed[:-16], sealed[-16:]
    h, sum = int.from_bytes(aes(keys, bytes(16)), "big"), 0
    padded = lambda b: b + bytes(-len(b) % 16)
    hashed = padded(aad) + padded(text) + (8 * len(aad)).to_bytes(8, "big") + (8 * len(text)).to_bytes(8, "big")
    for i in range(0, len(hashed), 16):
        sum = field_times(sum ^ int.from_bytes(hashed[i : i + 16], "big"), h)
    mask = lambda n: aes(keys, nonce + n.to_bytes(4, "big"))
    if sum ^ int.from_bytes(mask(1), "big") != int.from_bytes(tag, "big"):
        raise ValueError("the tag is another")
    return bytes(a ^ b for i in range(0, len(text), 16) for a, b in zip(text[i : i + 16], mask(2 + i // 16)))


# X25519.

P = 2**255 - 19


def x25519(scalar, u):
    k = int.from_bytes(scalar, "little") & ~7 & ~(1 << 255) | 1 << 254
    x1 = int.from_bytes(u, "little") & (1 << 255) - 1
    x2, z2, x3, z3 = 1, 0, x1, 1
    for i in range(254, -1, -1):
        bit = k >> i & 1
        if bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % P, b * b % P, d * a % P, c * b % P
        e = aa - bb
        x3, z3, x2, z2 = (da + cb) ** 2 % P, x1 * (da - cb) ** 2 % P, aa * bb % P, e * (aa + 121665 * e) % P
        if bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


BASE = (9).to_bytes(32, "little")

# ML-KEM-768: k = 3, eta = 2, du = 10, dv = 4.

Q = 3329
reversed7 = lambda i: int(format(i, "07b")[::-1], 2)
ZETAS = [pow(17, reversed7(i), Q) for i in range(128)]
GAMMAS = [pow(17, 2 * reversed7(i) + 1, Q) for i in range(128)]


def ntt(f):
    f, i, length = f[:], 1, 128
    while length >= 2:
        for start in range(0, 256, 2 * length):
            for j in range(start, start + length):
                t = ZETAS[i] * f[j + length]
                f[j], f[j + length] = (f[j] + t) % Q, (f[j] - t) % Q
            i += 1
        length //= 2
    return f


def inverse_ntt(f):
    f, i, length = f[:], 127, 2
    while length <= 128:
        for start in range(0, 256, 2 * length):
            for j in range(start, start + length):
                a, b = f[j], f[j + length]
                f[j], f[j + length] = (a + b) % Q, ZETAS[i] * (b - a) % Q
            i -= 1
        length *= 2
    return [x * 3303 % Q for x in f]


def multiply(f, g):
    h = []
    for i in range(128):
        a, b, c, d = f[2 * i], f[2 * i + 1], g[2 * i], g[2 * i + 1]
        h += [(a * c + b * d * GAMMAS[i]) % Q, (a * d + b * c) % Q]
    return h


plus = lambda f, g: [(a + b) % Q for a, b in zip(f, g)]
minus = lambda f, g: [(a - b) % Q for a, b in zip(f, g)]


def inner(f, g):
    total = [0] * 256
    for a, b in zip(f, g):
        total = plus(total, multiply(a, b))
    return total


def unpack(b, d):
    bits = int.from_bytes(b, "little")
    return [bits >> d * i & (1 << d) - 1 for i in range(256)]


def pack(f, d):
    return sum(x << d * i for i, x in enumerate(f)).to_bytes(32 * d, "little")


compress = lambda f, d: [((x << d + 1) + Q) // (2 * Q) % (1 << d) for x in f]
expand = lambda f, d: [(x * Q * 2 + (1 << d)) >> d + 1 for x in f]


def uniform(rho, j, i):
    stream, f = hashlib.shake_128(rho + bytes([j, i])).digest(3 * 1024), []
    for k in range(0, len(stream), 3):
        a, b, c = stream[k : k + 3]
        f += [x for x in (a | (b & 15) << 8, b >> 4 | c << 4) if x < Q]
    return f[:256]


def small(seed, n):
    bits = int.from_bytes(hashlib.shake_256(seed + bytes([n])).digest(128), "little")
    bit = lambda i: bits >> i & 1
    return [(bit(4 * i) + bit(4 * i + 1) - bit(4 * i + 2) - bit(4 * i + 3)) % Q for i in range(256)]


def matrix(rho):
    return [[uniform(rho, j, i) for j in range(3)] for i in range(3)]


def kem_keys(d):
    g = hashlib.sha3_512(d + b"\x03").digest()
    rho, sigma = g[:32], g[32:]
    s, e = [ntt(small(sigma, i)) for i in range(3)], [ntt(small(sigma, i + 3)) for i in range(3)]
    t = [plus(inner(row, s), noise) for row, noise in zip(matrix(rho), e)]
    return s, b"".join(pack(f, 12) for f in t) + rho


def kem_encrypt(public, message, seed):
    t, a = [unpack(public[384 * i : 384 * i + 384], 12) for i in range(3)], matrix(public[-32:])
    y, noise = [ntt(small(seed, i)) for i in range(3)], [small(seed, i + 3) for i in range(4)]
    u = [plus(inverse_ntt(inner([a[j][i] for j in range(3)], y)), noise[i]) for i in range(3)]
    v = plus(plus(inverse_ntt(inner(t, y)), noise[3]), expand(unpack(message, 1), 1))
    return b"".join(pack(compress(f, 10), 10) for f in u) + pack(compress(v, 4), 4)


def kem_open(seed, sealed):
    secret, public = kem_keys(seed[:32])
    u = [expand(unpack(sealed[320 * i : 320 * i + 320], 10), 10) for i in range(3)]
    v = expand(unpack(sealed[960:], 4), 4)
    message = pack(compress(minus(v, inverse_ntt(inner(secret, [ntt(f) for f in u]))), 1), 1)
    g = hashlib.sha3_512(message + hashlib.sha3_256(public).digest()).digest()
    if kem_encrypt(public, message, g[32:]) == sealed:
        return g[:32], public
    return hashlib.shake_256(seed[32:] + sealed).digest(32), public


# HPKE in base mode.


def extract(salt, key):
    return hmac.digest(salt, key, "sha256")


def stretch(key, info, n):
    out, block = b"", b""
    while len(out) < n:
        block = hmac.digest(key, block + info + bytes([len(out) // 32 + 1]), "sha256")
        out += block
    return out[:n]


def labelled(suite):
    begins = lambda label: b"HPKE-v1" + suite + label
    return (lambda salt, label, key: extract(salt, begins(label) + key), lambda key, label, info, n: stretch(key, n.to_bytes(2, "big") + begins(label) + info, n))


def dhkem(private, enc):
    shared, public = x25519(private, enc), x25519(private, BASE)
    draw, spread = labelled(b"KEM\x00\x20")
    return spread(draw(b"", b"eae_prk", shared), b"shared_secret", enc + public, 32), public


def hybrid(private, enc):
    seed = hashlib.shake_256(private).digest(96)
    lattice, public = kem_open(seed[:64], enc[:1088])
    curve, point = x25519(seed[64:], enc[1088:]), x25519(seed[64:], BASE)
    return hashlib.sha3_256(lattice + curve + enc[1088:] + point + b"\\.//^\\").digest(), public + point


KEMS = {"x25519": (dhkem, 32), "x-wing": (hybrid, 1120)}


def open_layer(suite, suite_id, private, info, aad, envelope, expected):
    """The encapsulated key, the ciphertext, what is in it, and the public key."""
    kem, length = KEMS[suite]
    if len(envelope) != expected:
        raise ValueError("another length")
    enc, sealed = envelope[:length], envelope[length:]
    secret, public = kem(private, enc)
    draw, spread = labelled(b"HPKE" + suite_id)
    context = b"\x00" + draw(b"", b"psk_id_hash", b"") + draw(b"", b"info_hash", info)
    key = draw(secret, b"secret", b"")
    return enc, sealed, gcm_open(spread(key, b"key", context, 16), spread(key, b"base_nonce", context, 12), aad, sealed), public


def check(path):
    d = json.load(open(path))
    plan, suite, suite_id = bytes.fromhex(d["plan"]), d["suite"], bytes.fromhex(d["suite_id"])
    info = lambda plan, instance, hop: b"confetti/v1" + suite_id + plan + instance.to_bytes(2, "big") + bytes([hop])
    expected = lambda hop: len(d["payload"]) // 2 + (len(d["layers"]) - hop) * (KEMS[suite][1] + 16)
    wrong, travels = [], None

    def same(layer, name, got):
        if layer[name] != got:
            wrong.append("%s: layer %d, %s" % (path, layer["hop"], name))

    for layer in d["layers"]:
        about, crowd = info(plan, d["instance"], layer["hop"]), d["crowd"].to_bytes(4, "big")
        envelope = bytes.fromhex(layer["envelope"])
        if travels is not None and envelope != travels:
            wrong.append("%s: layer %d is not what was in the one before" % (path, layer["hop"]))
        enc, sealed, travels, public = open_layer(suite, suite_id, bytes.fromhex(layer["private_key"]), about, crowd, envelope, expected(layer["hop"]))
        text = suite + ":" + base64.urlsafe_b64encode(public).decode().rstrip("=")
        same(layer, "info", about.hex())
        same(layer, "aad", crowd.hex())
        same(layer, "public_key", text)
        same(layer, "key_id", hashlib.sha256(text.encode()).hexdigest()[:16])
        same(layer, "encapsulated_key", enc.hex())
        same(layer, "ciphertext", sealed.hex())
        same(layer, "inner", travels.hex())
    if travels.hex() != d["payload"]:
        wrong.append(path + ": the payload")
    last = d["layers"][-1]
    for bad in d["bad"]:
        about, crowd = info(bytes.fromhex(bad["plan"]), bad["instance"], bad["hop"]), bad["crowd"].to_bytes(4, "big")
        try:
            open_layer(suite, suite_id, bytes.fromhex(last["private_key"]), about, crowd, bytes.fromhex(bad["envelope"]), expected(last["hop"]))
            wrong.append("%s: opened, though %s" % (path, bad["comment"]))
        except ValueError:
            pass
    return wrong, len(d["layers"]) + len(d["bad"])


all_wrong, opened = [], 0
for name in sys.argv[1:]:
    try:
        wrong, n = check(name)
    except ValueError as e:
        wrong, n = ["%s: %s" % (name, e)], 0
    all_wrong += wrong
    opened += n
print("\n".join(all_wrong))
print(opened, "looked at,", len(all_wrong), "wrong")
sys.exit(bool(all_wrong) or opened == 0)
