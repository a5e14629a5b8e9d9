package serve

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// HTTP is the part of every service's configuration that says how it is reached. Its tags, as those of all
// settings, are what package example writes a configuration from.
type HTTP struct {
	Listen      string   `toml:"listen" eg:":8443" help:"Address to listen at, host:port; an empty host is every one."`
	Certificate Path     `toml:"certificate" eg:"server.crt" help:"Certificate and key in PEM; read again when they change."`
	Key         Path     `toml:"key" eg:"server.key"`
	Clients     Path     `toml:"clients" or:"clients.crt" help:"Authorities of client certificates, in PEM, by which respondents may be told apart. An analyzer, a helper and a log ask nobody for one."`
	Operators   Path     `toml:"operators" eg:"operators" help:"Hashes of the operators' bearer tokens (confetti token add), who alone see /metrics and the status page, and register and close plans."`
	OpenPages   bool     `toml:"open_pages" or:"false" help:"In the place of operators, where nobody else reaches the service: the pages are open, and show when somebody answers. An analyzer's are its operators'."`
	Origins     []string `toml:"origins" or:"https://app.example.org" help:"Origins of pages whose scripts may answer, ask for tokens and read what is public, each as a browser writes it; without it none."`
	Debug       string   `toml:"debug" or:"127.0.0.1:6060" help:"Profiles, on a loopback address only; without it none."`
	Connections int      `toml:"connections" or:"4096" help:"Open at once. The one without a request for longest goes when another one comes."`
	PerAddress  int      `toml:"per_address" or:"1024" help:"Of one address. Behind a balancer that has one address for all: the same number."`
	Requests    int      `toml:"requests" or:"1024" help:"Requests of respondents under way at once; of hops and of the other aggregator a sixteenth, of others a quarter."`
	Memory      int64    `toml:"memory" or:"1_073_741_824" help:"Bytes of bodies held at once."`
	Stop        Duration `toml:"stop" or:"30s" help:"For requests under way when the service stops."`
}

// Path is a file or folder. A relative one is beside the configuration file.
type Path string

// Duration is written as "90s", "12h" or "30d".
type Duration time.Duration

// UnmarshalText reads a duration of at least 0.
func (d *Duration) UnmarshalText(text []byte) error {
	number, factor := string(text), time.Duration(1)
	if days, ok := strings.CutSuffix(number, "d"); ok {
		number, factor = days+"h", 24
	}
	v, err := time.ParseDuration(number)
	if err != nil || v < 0 || v > maxDuration/factor {
		return errors.New(`a duration is written as "90s", "12h" or "30d"`)
	}
	*d = Duration(v * factor)
	return nil
}

// maxDuration keeps sums with times in range.
const maxDuration = 100 * 365 * 24 * time.Hour

// ReadConfig reads a service's configuration from a TOML file into a struct.
// Every key must be known; the error names all that are not. Relative Paths are
// made to lead from the file's folder.
func ReadConfig(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	return ParseConfig(path, text, into)
}

// maxConfig bounds a configuration file, in bytes.
const maxConfig = 1 << 20

// ParseConfig is ReadConfig of a file with that path and text.
func ParseConfig(path string, text []byte, into any) error {
	if len(text) > maxConfig {
		return fmt.Errorf("%s: more than %d bytes: no configuration is so long", path, maxConfig)
	}
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
			var errs []error
			for _, e := range strict.Errors {
				row, _ := e.Position()
				errs = append(errs, fmt.Errorf("%s: line %d: there is no setting %s here", path, row, strings.Join(e.Key(), ".")))
			}
			return errors.Join(errs...)
		}
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, column := at.Position()
			return fmt.Errorf("%s: line %d, column %d: %s", path, row, column, strings.TrimPrefix(at.Error(), "toml: "))
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	beside(reflect.ValueOf(into).Elem(), filepath.Dir(path))
	return nil
}

var pathType = reflect.TypeFor[Path]()

// beside makes the relative paths in a struct lead from the folder.
func beside(v reflect.Value, dir string) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Type() == pathType:
			if p := f.String(); p != "" && !filepath.IsAbs(p) {
				f.SetString(filepath.Join(dir, p))
			}
		case f.Kind() == reflect.Struct:
			beside(f, dir)
		case f.Kind() == reflect.Pointer && !f.IsNil() && f.Elem().Kind() == reflect.Struct:
			beside(f.Elem(), dir)
		}
	}
}

// Fault returns a setting with what is wrong with it; nil if nothing is.
func Fault(setting string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", setting, err)
}

// Open reads the files that the settings name into a Config without routes. The
// error joins everything that is wrong.
func (h HTTP) Open(name string, logger *slog.Logger) (Config, error) {
	c := Config{
		Name: name, Listen: h.Listen, Debug: h.Debug, Log: logger, Metrics: NewMetrics(), Origins: h.Origins,
		Limits: Limits{Connections: h.Connections, PerAddress: h.PerAddress, Requests: h.Requests, Memory: h.Memory, Stop: time.Duration(h.Stop)},
	}
	var errs []error
	fault := func(setting string, err error) { errs = append(errs, Fault("http."+setting, err)) }
	_, _, err := net.SplitHostPort(h.Listen)
	if err != nil {
		err = errors.New("need host:port, such as 127.0.0.1:8443")
	}
	fault("listen", err)
	fault("origins", CheckOrigins(h.Origins))
	if h.Debug != "" {
		fault("debug", loopback(h.Debug))
	}
	if h.Connections < 0 || h.PerAddress < 0 || h.Requests < 0 || h.Memory < 0 {
		errs = append(errs, errors.New("http: a limit is negative"))
	}
	certificate, err := ReadCertificate(string(h.Certificate), string(h.Key))
	if h.Certificate == "" || h.Key == "" {
		err = errors.New("a service is reached over TLS only: name a PEM certificate and, as http.key, its key")
	}
	fault("certificate", err)
	var clients *x509.CertPool
	if h.Clients != "" {
		clients, err = ReadPool(string(h.Clients))
		fault("clients", err)
	}
	switch {
	case h.Operators != "":
		c.Operators, err = ReadBearers(string(h.Operators))
		fault("operators", err)
		if h.OpenPages {
			fault("open_pages", errors.New("the pages are either the operators' or open: set operators or open_pages, not both"))
		}
	case !h.OpenPages:
		fault("operators", errors.New("whoever reaches the service could read /metrics and see when somebody answers: name a file of bearer tokens (confetti token add), or set http.open_pages where only operators reach it"))
	}
	fault("key", secretFile(h.Key))
	c.TLS = TLS(certificate, clients)
	return c, errors.Join(errs...)
}

// Client reaches other services over TLS 1.3. It trusts what ReadRoots finds in the
// file, or the system's authorities without one.
func Client(roots Path) (*http.Client, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS13}
	// What an answer takes of memory that nobody reads yet, as when it is handed on to a slow reader.
	t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: receiveBuffer}
	if roots != "" {
		var err error
		if t.TLSClientConfig.RootCAs, t.TLSClientConfig.VerifyConnection, err = ReadRoots(string(roots)); err != nil {
			return nil, err
		}
	}
	// A service stands where the plan says: nobody sends a batch elsewhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: t, CheckRedirect: stay}, nil
}
