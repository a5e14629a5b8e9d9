package queue

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

// A cluster is one whose certificate an authority of ours has signed, and may ask
// for a certificate of the service.
func TestAClusterOverTLS(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authority, err := serve.NewAuthority("ours", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	other, err := serve.NewAuthority("another", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	clientCert, clientKey, err := authority.Client("hop")
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authority.PEM())
	s := ready(t, node(t, server.Options{
		TLS: true, TLSVerify: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13},
	}))
	c := Config{
		URL: "tls://" + s.Addr().String(), Roots: file("roots.pem", authority.PEM()),
		Certificate: file("client.crt", clientCert), Key: file("client.key", clientKey),
	}
	keeps(t, c)
	for name, change := range map[string]func(*Config){
		"another authority":         func(c *Config) { c.Roots = file("other.pem", other.PEM()) },
		"no certificate to show":    func(c *Config) { c.Certificate, c.Key = "", "" },
		"credentials not there":     func(c *Config) { c.Credentials = filepath.Join(dir, "none.creds") },
		"authorities not there":     func(c *Config) { c.Roots = filepath.Join(dir, "none.pem") },
		"the system's authorities":  func(c *Config) { c.Roots = "" },
		"a certificate not there":   func(c *Config) { c.Certificate = filepath.Join(dir, "none.crt") },
		"another's key beside it":   func(c *Config) { c.Key = file("other.key", key) },
		"an address nobody is at":   func(c *Config) { c.URL = "tls://127.0.0.1:1" },
		"the clear, which is wrong": func(c *Config) { c.URL, c.Roots, c.Certificate, c.Key = "nats://"+s.Addr().String(), "", "", "" },
	} {
		bad := c
		change(&bad)
		refused(t, name, bad)
	}
}
