// Package cluster checks how a configuration reaches a cluster of NATS. Used by internal/service/shufflerd.
package cluster

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

// Check says what is wrong with how a cluster is reached, at addresses with commas between them, by an authority,
// a client certificate with its key, and a credentials file of NATS; "": none.
func Check(urls string, roots, certificate, key, credentials serve.Path) error {
	if urls == "" {
		if roots != "" || certificate != "" || key != "" || credentials != "" {
			return errors.New("roots, certificate, key and credentials are for a cluster: set url, or leave them out")
		}
		return nil
	}
	var errs []error
	for _, one := range strings.Split(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil: // whose text may hold a password
			errs = append(errs, errors.New("url cannot be read: write tls://host:4222"))
		case u.Scheme != "tls" && !serve.Local(u.Hostname()):
			errs = append(errs, fmt.Errorf("url: %s is reached in the clear, and could be anybody: write tls://", u.Hostname()))
		}
	}
	if roots != "" {
		_, err := serve.ReadPool(string(roots))
		errs = append(errs, serve.Fault("roots", err))
	}
	if (certificate == "") != (key == "") {
		errs = append(errs, errors.New("certificate and key belong together"))
	} else if certificate != "" {
		_, err := serve.ReadCertificate(string(certificate), string(key))
		errs = append(errs, serve.Fault("certificate", err), serve.Fault("key", serve.SecretFile(key)))
	}
	if credentials != "" {
		_, err := os.Stat(string(credentials))
		errs = append(errs, serve.Fault("credentials", err), serve.Fault("credentials", serve.SecretFile(credentials)))
	}
	return errors.Join(errs...)
}
