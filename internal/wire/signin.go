package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

const signInText = "confetti/sign-in/v1\n"

// SignInNonce returns the nonce with which whoever asks for tokens of a plan signs in at an OpenID
// provider, so that the identity token serves for that plan, and for those who have the
// secret: 32 bytes that the device drew for this sign-in, in base64url.
func SignInNonce(plan [32]byte, secret string) string {
	sum := sha256.Sum256([]byte(signInText + string(plan[:]) + secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// SignedIn divides the credential of whoever has signed in: the identity token, a tilde, and the
// secret. ok is whether the secret has the one form that 32 bytes have.
func SignedIn(credential string) (token, secret string, ok bool) {
	token, secret, _ = strings.Cut(credential, "~")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	return token, secret, err == nil && len(raw) == 32 && base64.RawURLEncoding.EncodeToString(raw) == secret
}
