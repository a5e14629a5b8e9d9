"""Check the golden token in Python: a second origin.

Nothing here is shared with the Go code: it was written from docs/wire.md, RFC 9474 (blind RSA) and
RFC 8017 (PSS), with the standard library alone.

    python3 origin.py v1/token.json
"""
import base64
import hashlib
import json
import sys

plain = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def integers(der):
    """The integers of a DER text, in order, whatever they are in."""
    found, at = [], 0
    while at < len(der):
        tag, length = der[at], der[at + 1]
        at += 2
        if length & 0x80:
            n = length & 0x7F
            length = int.from_bytes(der[at : at + n], "big")
            at += n
        body = der[at : at + length]
        at += length
        if tag == 0x02:
            found.append(int.from_bytes(body, "big"))
        elif tag == 0x30 or tag == 0x04:
            found += integers(body)
        elif tag == 0x03:
            found += integers(body[1:])
    return found


def mask(seed, n):
    blocks = (hashlib.sha384(seed + i.to_bytes(4, "big")).digest() for i in range(n // 48 + 1))
    return b"".join(blocks)[:n]


def verifies(modulus, message, signature):
    """RSASSA-PSS-VERIFY with SHA-384 and a salt of 48 bytes; the modulus has 2,048 bits."""
    s = int.from_bytes(signature, "big")
    if len(signature) != 256 or s >= modulus:
        return False
    encoded = pow(s, 65537, modulus).to_bytes(256, "big")
    masked, hashed, end = encoded[:207], encoded[207:255], encoded[255]
    data = bytes(a ^ b for a, b in zip(masked, mask(hashed, 207)))
    data = bytes([data[0] & 0x7F]) + data[1:]
    salt = data[-48:]
    whole = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    return end == 0xBC and masked[0] < 0x80 and data[:-48] == bytes(207 - 49) + b"\x01" and whole == hashed


def good(modulus, c):
    token = plain(c["token"])
    about = plain(c["plan"]) + c["instance"].to_bytes(2, "big") + bytes([c["hop"]])
    message = b"confetti/token/v1" + about + token[:32]
    return len(token) == 288 and verifies(modulus, message, token[32:]), message


wrong = looked = 0
for name in sys.argv[1:]:
    d = json.load(open(name))
    private = integers(plain(d["private_key"]))
    modulus, exponent, secret = private[2:5]  # behind the two versions
    public = integers(plain(d["public_key"].partition(":")[2]))
    holds, message = good(modulus, d)
    blinded, answer = int.from_bytes(plain(d["blinded"]), "big"), int.from_bytes(plain(d["answer"]), "big")
    checks = {
        "the public key is of the private one": public == [modulus, exponent],
        "the message is of the plan, instance, hop and nonce": message == plain(d["message"]),
        "the token is good": holds,
        "the answer signs what was asked": pow(blinded, secret, modulus) == answer,
    }
    for bad in d["bad"]:
        checks["refused: " + bad["comment"]] = not good(modulus, bad)[0]
    looked += len(checks)
    for what, right in checks.items():
        if not right:
            wrong += 1
            print(name, "does not hold:", what)
print(looked, "looked at,", wrong, "wrong")
sys.exit(wrong > 0 or looked == 0)
