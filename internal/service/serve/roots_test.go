package serve

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A host whose own certificate stands among the roots is known by that alone, though an authority that is
// trusted, too, has signed another one for it; other hosts are known by authorities.
func TestAServiceIsKnownByItsOwnCertificateAlone(t *testing.T) {
	ca, err := NewAuthority("known to everybody", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair := func(cert, key []byte, err error) (tls.Certificate, []byte) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		c, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return c, cert
	}
	own, text := pair(SelfSigned(time.Hour, "localhost"))
	renewed, next := pair(SelfSigned(time.Hour, "localhost"))
	ownIP, textIP := pair(SelfSigned(time.Hour, "127.0.0.1"))
	vouched, _ := pair(ca.Server("localhost"))
	both, _ := pair(ca.Server("127.0.0.1", "localhost"))
	address, _ := pair(ca.Server("127.0.0.1"))
	for name, c := range map[string]struct {
		roots []byte
		host  string
		shown tls.Certificate
		want  string
	}{
		"its own":                        {text, "localhost", own, ""},
		"its own, beside others":         {append(ca.PEM(), text...), "localhost", own, ""},
		"the next":                       {append(next, text...), "localhost", renewed, ""},
		"another of its own making":      {text, "localhost", renewed, "certificate"},
		"an authority's":                 {append(ca.PEM(), text...), "localhost", vouched, "localhost shows another certificate than its party's card has"},
		"an authority's, of an address":  {append(ca.PEM(), textIP...), "127.0.0.1", address, "127.0.0.1 shows another certificate"},
		"its own, of an address":         {append(ca.PEM(), textIP...), "127.0.0.1", ownIP, ""},
		"another host's":                 {append(ca.PEM(), text...), "127.0.0.1", address, ""},
		"another host's, and this one's": {append(ca.PEM(), text...), "127.0.0.1", both, "localhost shows another certificate"},
		"nobody has its own":             {ca.PEM(), "localhost", both, ""},
	} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		s.TLS = &tls.Config{Certificates: []tls.Certificate{c.shown}, MinVersion: tls.VersionTLS13}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		file := filepath.Join(t.TempDir(), "roots.pem")
		if err := os.WriteFile(file, c.roots, 0o600); err != nil {
			t.Fatal(err)
		}
		client, err := Client(Path(file))
		if err != nil {
			t.Fatal(name, err)
		}
		res, err := client.Get(strings.Replace(s.URL, "127.0.0.1", c.host, 1))
		if err == nil {
			res.Body.Close()
		}
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		client.CloseIdleConnections()
		s.Close()
	}
}

// A file of roots without a certificate is one only if it says that the system's are trusted.
func TestAFileOfRootsSaysWhomItTrusts(t *testing.T) {
	for text, good := range map[string]bool{"": false, "nothing\n": false, SystemRoots + "\n": true, "\r\n" + SystemRoots + "\r\n": true, SystemRoots + " not\n": false} {
		file := filepath.Join(t.TempDir(), "roots.pem")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadRoots(file); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
