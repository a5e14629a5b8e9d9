package serve

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// SystemRoots is a line of a file of roots: beside its certificates the authorities of the system are
// trusted, for hosts of which it has none.
const SystemRoots = "# and the authorities of the system"

// ReadRoots reads whom other services are known by: certificates of authorities, and those of single
// services. A service whose own certificate is there is known by that alone: check refuses every other
// one of its host, whoever has signed it.
func ReadRoots(path string) (pool *x509.CertPool, check func(tls.ConnectionState) error, err error) {
	text, err := atomicfile.Read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("serve: %w", err)
	}
	pool = x509.NewCertPool()
	found := slices.ContainsFunc(bytes.Split(text, []byte("\n")), func(line []byte) bool {
		return string(bytes.TrimSpace(line)) == SystemRoots
	})
	if found {
		if pool, err = x509.SystemCertPool(); err != nil {
			return nil, nil, fmt.Errorf("serve: the authorities of the system: %w", err)
		}
	}
	var own []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			continue
		}
		pool.AddCert(c)
		if found = true; !c.IsCA {
			own = append(own, c)
		}
	}
	if !found {
		return nil, nil, fmt.Errorf("serve: %s has no certificate in PEM", path)
	}
	return pool, func(s tls.ConnectionState) error { return pinned(own, s.PeerCertificates[0]) }, nil
}

// pinned refuses a certificate for a host that has one of its own among these, and it is another.
func pinned(own []*x509.Certificate, shown *x509.Certificate) error {
	if slices.ContainsFunc(own, shown.Equal) {
		return nil
	}
	for _, c := range own {
		names := slices.Clone(c.DNSNames)
		for _, ip := range c.IPAddresses {
			names = append(names, ip.String())
		}
		for _, name := range names {
			if shown.VerifyHostname(name) == nil {
				return fmt.Errorf("serve: %s shows another certificate than its party's card has: ask that party for its new card (confetti party trust)", name)
			}
		}
	}
	return nil
}
