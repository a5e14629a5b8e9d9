package roles

import (
	"crypto/tls"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

// A console that other machines reach answers to the names of its certificate, or of --address, and to no
// other; one that knows none does not start.
func TestAConsoleAnswersToItsNames(t *testing.T) {
	authority, err := serve.NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) *tls.Certificate {
		certificate, key, err := authority.Server(name)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		return &pair
	}
	for name, c := range map[string]struct {
		address, host, port string
		local               bool
		pair                *tls.Certificate
		want                []string
		secure              bool
	}{
		"this machine's":       {"", "127.0.0.1", "8480", true, nil, []string{"127.0.0.1:8480", "localhost:8480"}, false},
		"before it ends TLS":   {"https://console.example", "127.0.0.1", "8480", true, nil, []string{"console.example", "127.0.0.1:8480", "localhost:8480"}, true},
		"the certificate's":    {"", "", "8480", false, of("console.example"), []string{"console.example:8480"}, true},
		"on the usual port":    {"", "", "443", false, of("console.example"), []string{"console.example", "console.example:443"}, true},
		"an address":           {"", "192.0.2.7", "443", false, of("2001:db8::7"), []string{"[2001:db8::7]", "[2001:db8::7]:443"}, true},
		"the one that is said": {"https://other.example:8480", "", "8480", false, of("console.example"), []string{"other.example:8480"}, true},
		"of a wildcard":        {"", "", "8480", false, of("*.example"), nil, false},
		"of another form":      {"console.example", "", "8480", false, of("console.example"), nil, false},
	} {
		hosts, secure, err := serveConsole{Address: c.address}.hosts(c.host, c.port, c.local, c.pair)
		if !slices.Equal(hosts, c.want) || secure != c.secure || (err != nil) != (c.want == nil) {
			t.Errorf("%s: %v %v %v, want %v", name, hosts, secure, err, c.want)
		}
	}
}
