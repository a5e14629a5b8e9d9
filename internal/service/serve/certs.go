package serve

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// ReadCertificate reads a certificate chain and its key from PEM files, and
// again when they change: a renewed certificate needs no restart. The result is
// for TLS.
func ReadCertificate(certFile, keyFile string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	w, err := watch(func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(certFile, keyFile)
		if errors.Is(err, fs.ErrNotExist) {
			for _, name := range []string{certFile, keyFile} {
				if _, err := os.Stat(name); err != nil {
					return nil, fmt.Errorf("serve: %s is not there", name)
				}
			}
		}
		if err != nil {
			// Not wrapped: the cause may quote the key's file.
			return nil, fmt.Errorf("serve: %s and %s are not a certificate and its key in PEM", certFile, keyFile)
		}
		return &c, nil
	}, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, _ := w.get()
		return c, nil
	}, nil
}

// ReadPool reads the certificates of authorities from a PEM file.
func ReadPool(path string) (*x509.CertPool, error) {
	text, err := atomicfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("serve: %s has no certificate in PEM", path)
	}
	return pool, nil
}

// Authority signs certificates: for a trial on one machine, or as an organisation's own.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	until       time.Time
}

// ReadAuthority reads an authority that others have made, whose certificates last so long, and no
// longer than it does.
func ReadAuthority(certFile, keyFile string, lasts time.Duration) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil { // not wrapped: the cause may quote the key's file
		return nil, fmt.Errorf("serve: %s and %s are not an authority's certificate and its key in PEM", certFile, keyFile)
	}
	key, signs := pair.PrivateKey.(crypto.Signer)
	if !pair.Leaf.IsCA || !signs {
		return nil, fmt.Errorf("serve: %s is not the certificate of an authority", certFile)
	}
	until := time.Now().Add(lasts)
	if until.After(pair.Leaf.NotAfter) {
		until = pair.Leaf.NotAfter
	}
	return &Authority{pair.Leaf, key, until}, nil
}

// SelfSigned makes a certificate for a service on that host that vouches for itself alone, and its
// key, in PEM.
func SelfSigned(lasts time.Duration, host string) (cert, key []byte, err error) {
	return (&Authority{until: time.Now().Add(lasts)}).Server(host)
}

// NewAuthority makes one that lasts as long as the certificates it signs.
func NewAuthority(name string, lasts time.Duration) (*Authority, error) {
	template, key, err := certificate(name, lasts)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rng.Reader(rng.New()), template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("serve: make an authority: %w", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("serve: make an authority: %w", err)
	}
	return &Authority{parsed, key, parsed.NotAfter}, nil
}

// PEM returns the authority's certificate, for those who shall trust it.
func (a *Authority) PEM() []byte { return pemBlock("CERTIFICATE", a.certificate.Raw) }

// Pool holds the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Server signs a certificate for a service that is reached under the given host
// names and addresses. It returns certificate and key in PEM.
func (a *Authority) Server(hosts ...string) (cert, key []byte, err error) {
	if len(hosts) == 0 {
		return nil, nil, errors.New("serve: a service's certificate needs a host name or address")
	}
	return a.sign(hosts[0], func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		for _, h := range hosts {
			if ip := net.ParseIP(h); ip != nil {
				c.IPAddresses = append(c.IPAddresses, ip)
			} else {
				c.DNSNames = append(c.DNSNames, h)
			}
		}
	})
}

// Client signs a certificate for a client of that name.
func (a *Authority) Client(name string) (cert, key []byte, err error) {
	return a.sign(name, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
}

func (a *Authority) sign(name string, use func(*x509.Certificate)) (cert, key []byte, err error) {
	template, private, err := certificate(name, time.Until(a.until))
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	use(template)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, private
	}
	der, err := x509.CreateCertificate(rng.Reader(rng.New()), template, parent, private.Public(), signer)
	if err != nil {
		return nil, nil, fmt.Errorf("serve: sign a certificate: %w", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("serve: sign a certificate: %w", err)
	}
	return pemBlock("CERTIFICATE", der), pemBlock("PRIVATE KEY", pkcs8), nil
}

// certificate returns what all of them have in common: a P-256 key, which every
// TLS 1.3 implementation takes, and an hour of grace for clocks that are late.
func certificate(name string, lasts time.Duration) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rng.Reader(rng.New()))
	if err != nil {
		return nil, nil, fmt.Errorf("serve: generate a key: %w", err)
	}
	serial := make([]byte, 16)
	rng.Reader(rng.New()).Read(serial)
	serial[0] &= 0x7f // positive in DER
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(lasts),
	}, key, nil
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
