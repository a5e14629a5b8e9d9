"""Open the golden envelopes in Python: a second origin of their every byte.

Nothing here is shared with the Go code: it was written from docs/wire.md, RFC 9180 (HPKE), RFC 7748
(X25519), FIPS 197 and NIST SP 800-38D (AES-GCM), FIPS 203 (ML-KEM) and draft-ietf-hpke-pq
(MLKEM768-X25519), with the standard library alone. It is slow, and not in constant time: for
vectors, not for secrets.

    python3 origin.py v1/x25519.json v1/x-wing.json v2/x25519.json v2/x-wing.json

Those of v2, contributions that are sealed once for the entry, were made here too, with fixed keys:

    python3 origin.py --make v2/x25519.json v2/x-wing.json
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


def gcm(key, nonce, aad, text, seal):
    """The text, encrypted or decrypted, and the tag over what is encrypted."""
    keys = round_keys(key)
    mask = lambda n: aes(keys, nonce + n.to_bytes(4, "big"))
    turned = bytes(a ^ b for i in range(0, len(text), 16) for a, b in zip(text[i : i + 16], mask(2 + i // 16)))
    h, sum, shut = int.from_bytes(aes(keys, bytes(16)), "big"), 0, turned if seal else text
    padded = lambda b: b + bytes(-len(b) % 16)
    hashed = padded(aad) + padded(shut) + (8 * len(aad)).to_bytes(8, "big") + (8 * len(shut)).to_bytes(8, "big")
    for i in range(0, len(hashed), 16):
        sum = field_times(sum ^ int.from_bytes(hashed[i : i + 16], "big"), h)
    return turned, (sum ^ int.from_bytes(mask(1), "big")).to_bytes(16, "big")


def gcm_open(key, nonce, aad, sealed):
    text, tag = gcm(key, nonce, aad, sealed[:-16], False)
    if tag != sealed[-16:]:
        raise ValueError("the tag is another")
    return text


def gcm_seal(key, nonce, aad, text):
    return b"".join(gcm(key, nonce, aad, text, True))


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


def dh_secret(shared, enc, public):
    draw, spread = labelled(b"KEM\x00\x20")
    return spread(draw(b"", b"eae_prk", shared), b"shared_secret", enc + public, 32)


def dhkem(private, enc):
    shared, public = x25519(private, enc), x25519(private, BASE)
    if not any(shared):
        raise ValueError("a point of low order")
    return dh_secret(shared, enc, public), public


def dhkem_to(public, ephemeral):
    enc = x25519(ephemeral, BASE)
    return dh_secret(x25519(ephemeral, public), enc, public), enc


def hybrid_secret(lattice, curve, enc, point):
    return hashlib.sha3_256(lattice + curve + enc + point + b"\\.//^\\").digest()


def hybrid(private, enc):
    seed = hashlib.shake_256(private).digest(96)
    lattice, public = kem_open(seed[:64], enc[:1088])
    curve, point = x25519(seed[64:], enc[1088:]), x25519(seed[64:], BASE)
    if not any(curve):
        raise ValueError("a point of low order")
    return hybrid_secret(lattice, curve, enc[1088:], point), public + point


def hybrid_to(public, ephemeral):
    """Of 64 bytes: the message of ML-KEM, then a scalar."""
    lattice, point = public[:-32], public[-32:]
    g = hashlib.sha3_512(ephemeral[:32] + hashlib.sha3_256(lattice).digest()).digest()
    sealed, enc = kem_encrypt(lattice, ephemeral[:32], g[32:]), x25519(ephemeral[32:], BASE)
    return hybrid_secret(g[:32], x25519(ephemeral[32:], point), enc, point), sealed + enc


KEMS = {"x25519": (dhkem, 32, dhkem_to), "x-wing": (hybrid, 1120, hybrid_to)}


def key_schedule(suite_id, secret, info):
    draw, spread = labelled(b"HPKE" + suite_id)
    context = b"\x00" + draw(b"", b"psk_id_hash", b"") + draw(b"", b"info_hash", info)
    key = draw(secret, b"secret", b"")
    return spread(key, b"key", context, 16), spread(key, b"base_nonce", context, 12)


def open_layer(suite, suite_id, private, info, aad, envelope, expected):
    """The encapsulated key, the ciphertext, what is in it, and the public key."""
    kem, length, _ = KEMS[suite]
    if len(envelope) != expected:
        raise ValueError("another length")
    enc, sealed = envelope[:length], envelope[length:]
    secret, public = kem(private, enc)
    return enc, sealed, gcm_open(*key_schedule(suite_id, secret, info), aad, sealed), public


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


# Contributions, sealed once for the entry.


def header(plan, instance, crowd, number, size, version=2, kind=1):
    return bytes([version, kind]) + plan + instance.to_bytes(2, "big") + b"".join(n.to_bytes(4, "big") for n in (crowd, number, size))


def about(suite_id, plan, instance):
    return b"confetti/contribution/v2" + suite_id + plan + instance.to_bytes(2, "big") + b"\x00"


def seal_whole(suite, suite_id, public, ephemeral, plan, instance, crowd, envelopes):
    head = header(plan, instance, crowd, len(envelopes), len(envelopes[0]))
    secret, enc = KEMS[suite][2](public, ephemeral)
    return head + enc + gcm_seal(*key_schedule(suite_id, secret, about(suite_id, plan, instance)), head, b"".join(envelopes))


def open_whole(suite, suite_id, private, plan, instance, crowd, number, size, body):
    head = header(plan, instance, crowd, number, size)
    if body[:48] != head:
        raise ValueError("another header")
    return open_layer(suite, suite_id, private, about(suite_id, plan, instance), head, body[48:], KEMS[suite][1] + number * size + 16)


def counting(first, n):
    return bytes((first + i) % 256 for i in range(n))


def make(suite, suite_id):
    plan, instance, crowd, private = counting(0xA0, 32), 258, 16909060, counting(1, 32)
    envelopes = [counting(1 + 40 * i, 64) for i in range(3)]
    public = KEMS[suite][0](private, x25519(counting(7, 32), BASE) if suite == "x25519" else bytes(1088) + BASE)[1]
    drawn = [counting(65 + 16 * i, 32 if suite == "x25519" else 64) for i in range(2)]
    seal = lambda ephemeral, plan=plan, instance=instance, crowd=crowd, envelopes=envelopes: seal_whole(suite, suite_id, public, ephemeral, plan, instance, crowd, envelopes)
    body, enc, bad = seal(drawn[0]), KEMS[suite][1], []

    def refuse(comment, error, body, plan=plan, instance=instance, crowd=crowd, number=3, size=64):
        bad.append({"comment": comment, "plan": plan.hex(), "instance": instance, "crowd": crowd, "number": number, "size": size, "body": body.hex(), "error": error})

    def flipped(at, bit):
        return body[:at] + bytes([body[at] ^ bit]) + body[at + 1 :]

    def headed(*fields, **more):
        return header(*fields, **more) + body[48:]

    middle, other, two = 48 + enc + 96, plan[:-1] + bytes([plan[-1] ^ 1]), [envelopes[0] + counting(9, 32), envelopes[1] + counting(9, 32)]
    shut, foreign = "does not open", "other"
    refuse("halves of two contributions, joined", shut, body[:middle] + seal(drawn[1])[middle:])
    refuse("the encapsulated key of another contribution", shut, seal(drawn[1])[: 48 + enc] + body[48 + enc :])
    refuse("another number: two longer envelopes where three are wanted", foreign, seal(drawn[0], envelopes=two))
    refuse("the same with the header changed", shut, header(plan, instance, crowd, 3, 64) + seal(drawn[0], envelopes=two)[48:])
    refuse("three envelopes behind a header that says two longer ones", shut, headed(plan, instance, crowd, 2, 96), number=2, size=96)
    refuse("a number that its length does not bear out", "in no suite", headed(plan, instance, crowd, 4, 64), number=4)
    refuse("a length of envelopes that its length does not bear out", "in no suite", headed(plan, instance, crowd, 3, 65), size=65)
    refuse("2^32 - 1 envelopes stated", "in no suite", headed(plan, instance, crowd, 2**32 - 1, 64), number=2**32 - 1)
    refuse("no envelopes", "no envelopes", headed(plan, instance, crowd, 0, 64), number=0)
    refuse("envelopes of no length", "need", headed(plan, instance, crowd, 3, 0), size=0)
    refuse("of another crowd", foreign, seal(drawn[0], crowd=crowd + 1))
    refuse("another crowd in the header", shut, headed(plan, instance, crowd + 1, 3, 64), crowd=crowd + 1)
    refuse("another plan's body", foreign, seal(drawn[0], plan=other))
    refuse("another plan's body under this plan's header", shut, header(plan, instance, crowd, 3, 64) + seal(drawn[0], plan=other)[48:])
    refuse("another instance's body", foreign, seal(drawn[0], instance=instance + 1))
    refuse("another instance's body under this one's header", shut, header(plan, instance, crowd, 3, 64) + seal(drawn[0], instance=instance + 1)[48:])
    refuse("format version 1", "version", headed(plan, instance, crowd, 3, 64, version=1))
    refuse("a format version of the future", "version", headed(plan, instance, crowd, 3, 64, version=3))
    refuse("the kind of a batch", "kind", headed(plan, instance, crowd, 3, 64, kind=2))
    refuse("empty", "truncated", b"")
    refuse("the header cut", "truncated", body[:47])
    refuse("the last byte missing", "in no suite", body[:-1])
    refuse("a byte too many", "in no suite", body + b"\0")
    refuse("first bit of the encapsulated key flipped", shut, flipped(48, 0x80))
    refuse("bit 255 of the X25519 point flipped, which the function itself ignores", shut, flipped(48 + enc - 1, 0x80))
    refuse("the X25519 point is the point of order one", shut, body[: 48 + enc - 32] + bytes(32) + body[48 + enc :])
    refuse("first bit of the ciphertext flipped", shut, flipped(48 + enc, 0x80))
    refuse("last bit of the tag flipped", shut, flipped(len(body) - 1, 1))
    return {
        "comment": "three envelopes of 64 bytes, sealed once for the entry; the bad ones are for its key and the form that each names",
        "source": "python3 origin.py --make",
        "suite": suite, "suite_id": suite_id.hex(), "plan": plan.hex(), "instance": instance, "crowd": crowd,
        "private_key": private.hex(), "public_key": suite + ":" + base64.urlsafe_b64encode(public).decode().rstrip("="), "ephemeral": drawn[0].hex(),
        "envelopes": [e.hex() for e in envelopes], "info": about(suite_id, plan, instance).hex(), "header": body[:48].hex(),
        "encapsulated_key": body[48 : 48 + enc].hex(), "body": body.hex(), "bad": bad,
    }


def check_whole(path):
    d = json.load(open(path))
    suite, suite_id, wrong = d["suite"], bytes.fromhex(d["suite_id"]), []
    made = make(suite, suite_id)
    for name in sorted(set(d) | set(made)):
        if d.get(name) != made.get(name):
            wrong.append("%s: %s" % (path, name))
    opens = lambda v, number, size: open_whole(suite, suite_id, bytes.fromhex(d["private_key"]), bytes.fromhex(v["plan"]), v["instance"], v["crowd"], number, size, bytes.fromhex(v["body"]))
    if opens(d, 3, 64)[2].hex() != "".join(d["envelopes"]):
        wrong.append(path + ": the envelopes")
    for bad in d["bad"]:
        try:
            opens(bad, bad["number"], bad["size"])
            wrong.append("%s: opened, though %s" % (path, bad["comment"]))
        except (ValueError, OverflowError):
            pass
    return wrong, 1 + len(d["bad"])


names = sys.argv[1:]
if names[:1] == ["--make"]:
    for name in names[1:]:
        suite = name.split("/")[-1].split(".")[0]
        with open(name, "w") as f:
            json.dump(make(suite, bytes.fromhex({"x25519": "002000010001", "x-wing": "647a00010001"}[suite])), f, indent=1)
            f.write("\n")
    names = names[1:]

all_wrong, opened = [], 0
for name in names:
    try:
        wrong, n = check_whole(name) if "header" in json.load(open(name)) else check(name)
    except ValueError as e:
        wrong, n = ["%s: %s" % (name, e)], 0
    all_wrong += wrong
    opened += n
print("\n".join(all_wrong))
print(opened, "looked at,", len(all_wrong), "wrong")
sys.exit(bool(all_wrong) or opened == 0)
