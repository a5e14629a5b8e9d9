package keytext

import "testing"

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"", "ed25519", "x25519:AQID", "ed25519:AQID=", "ed25519:AQI", "ed25519:AR", "ed25519:AQ\nID", "ed25519:AQ+D"} {
		if raw, err := Decode("ed25519", text); err == nil && Encode("ed25519", raw) != text {
			t.Errorf("%q was accepted", text)
		}
	}
}
