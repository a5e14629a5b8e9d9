package queue

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// member is somebody whom NATS knows by a key: an operator, an account or a user.
func member(t *testing.T, make func() (nkeys.KeyPair, error)) (key nkeys.KeyPair, public string) {
	t.Helper()
	key, err := make()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = key.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return key, public
}

// A cluster that asks for credentials keeps a queue for who has good ones, and for
// nobody without, with another account's, with those of an account of another operator
// or with the account alone and no key.
func TestAClusterWithCredentials(t *testing.T) {
	dir := t.TempDir()
	operator, operatorName := member(t, nkeys.CreateOperator)
	signed, err := jwt.NewOperatorClaims(operatorName).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := jwt.DecodeOperatorClaims(signed)
	if err != nil {
		t.Fatal(err)
	}
	accounts := &server.MemAccResolver{}
	account := func(by nkeys.KeyPair, disk int64) (key nkeys.KeyPair, name string) {
		t.Helper()
		key, name = member(t, nkeys.CreateAccount)
		c := jwt.NewAccountClaims(name)
		if disk != 0 {
			c.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: disk, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
		}
		text, err := c.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		if err := accounts.Store(name, text); err != nil {
			t.Fatal(err)
		}
		return key, name
	}
	credentials := func(name string, of nkeys.KeyPair, change func([]byte) []byte) string {
		t.Helper()
		user, public := member(t, nkeys.CreateUser)
		text, err := jwt.NewUserClaims(public).Encode(of)
		if err != nil {
			t.Fatal(err)
		}
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		b, err := jwt.FormatUserConfig(text, seed)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			b = change(b)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, system := account(operator, 0)
	ours, _ := account(operator, jwt.NoLimit)
	diskless, _ := account(operator, 0)
	stranger, _ := member(t, nkeys.CreateOperator)
	foreign, _ := account(stranger, jwt.NoLimit)
	s := ready(t, node(t, server.Options{TrustedOperators: []*jwt.OperatorClaims{claims}, AccountResolver: accounts, SystemAccount: system}))
	c := Config{URL: "nats://" + s.Addr().String(), Credentials: credentials("ours.creds", ours, nil)}
	for range 2 { // what was kept is there when the service comes again
		keeps(t, c)
	}
	for name, path := range map[string]string{
		"none":                          "",
		"of an account without a disk":  credentials("diskless.creds", diskless, nil),
		"of another operator's account": credentials("foreign.creds", foreign, nil),
		"not a file of credentials":     credentials("garbage.creds", ours, func(b []byte) []byte { return b[:len(b)/2] }),
		"not there":                     filepath.Join(dir, "none.creds"),
	} {
		bad := c
		bad.Credentials = path
		refused(t, "credentials "+name, bad)
	}
}
