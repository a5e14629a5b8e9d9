package party

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/cmd/internal/card"
	"github.com/confetti-dp/confetti/cmd/internal/server/roles"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

// What the folder of a party has beside its card.
const (
	keysFolder      = "keys"
	certificateFile = "server.crt"
	keyFile         = "server.key"
	operatorsFile   = "operators"       // hashes of operators' tokens
	tokensFile      = "operator.tokens" // the first operator's, with the service's address
	respondentsFile = "respondents"
	publishersFile  = "publishers.txt"
	rootsFile       = "roots.pem"
	pairFile        = "pair.secret"
	publisherKey    = "publisher.json"
	gatewayFolder   = "gateway" // keys to which devices seal what they send by a relay
)

type partyNew struct {
	Dir string `arg:"" help:"A folder that is not there, or is empty." type:"path"`
	of
	Listen  string  `help:"Where its service listens, host and port; the port of --url on every address of the machine without it." placeholder:"ADDRESS"`
	Suite   string  `help:"Of the key that opens: x25519, or x-wing against recorded traffic and later quantum computers." enum:"x25519,x-wing" default:"x25519"`
	Tokens  int     `help:"Of an issuer: keys of tokens, one for each hop of a plan that demands them." default:"1"`
	Epsilon float64 `help:"Of an analyzer: what one person may be charged by all plans together." placeholder:"E"`
	Delta   float64 `help:"Of an analyzer: beside it." default:"1e-4"`
	Public  bool    `help:"Make no certificate: server.crt and server.key will come from an authority that systems know (ACME)."`
	terminal.Form
}

func (partyNew) Help() string {
	return `Private keys never leave the folder (mode 0700). Then give party.card to the others, take
theirs with confetti party trust, and start the service: confetti serve shuffler --config
DIR/shuffler.toml, and likewise of every other role.

With a --relay the service gets a gateway too: give the relay's operator the address
URL/.well-known/ohttp-gateway, and write its networks into the configuration (relays).

Examples:
  confetti-server party new north --role shuffler --name North --contact ops@north.example --url https://confetti.north.example:8443
  confetti-server party new institute --role analyzer --name Institute --contact ops@institute.example --url https://analyzer.institute.example:8443 --epsilon 8
  confetti-server party new office --role publisher --name Office --contact ops@office.example`
}

func (c partyNew) check() error {
	errs := terminal.Faults{c.of.check()}
	errs.Require((c.Role == card.Analyzer) == (c.Epsilon != 0), "--epsilon: say of an analyzer what one person may be charged by all plans together, and of nobody else")
	errs.Require(c.Role != card.Analyzer || c.Epsilon > 0 && c.Epsilon <= 1000 && c.Delta > 0 && c.Delta < 1, "--epsilon is %v, --delta %v: give a number above 0, and one between 0 and 1", c.Epsilon, c.Delta)
	errs.Require(c.Tokens >= 1 && c.Tokens <= 64, "--tokens is %d: give 1 to 64", c.Tokens)
	return errors.Join(errs...)
}

func (c partyNew) Run(std terminal.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	host, listen, err := c.address()
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name another folder", c.Dir)
	}
	_, absent := os.Stat(c.Dir)
	if err := os.MkdirAll(c.path(keysFolder), 0o700); err != nil {
		return err
	}
	made := partyCard{File: c.path(cardFile), of: c.of, Keys: c.path(keysFolder), Form: c.Form}
	if c.Role == card.Leader {
		made.Pair = c.path(pairFile)
	}
	if host != "" && !c.Public {
		made.Certificate = c.path(certificateFile)
	}
	if c.Relay != "" {
		made.Gateway = c.path(filepath.Join(gatewayFolder, "gateway.json"))
	}
	err = errors.Join(os.Chmod(c.Dir, 0o700), c.keys(), c.gateway(made.Gateway))
	if err == nil && made.Certificate != "" {
		err = partyCertificate{File: made.Certificate, Key: c.path(keyFile), Host: host, Days: 365}.Run(terminal.Streams{Out: c.Words(std), Err: std.Err})
	}
	if err == nil && host != "" {
		err = c.service(listen)
	}
	if err == nil {
		err = made.Run(std)
	}
	if err != nil && absent != nil { // the folder was not there, and is not, for another try
		err = errors.Join(err, os.RemoveAll(c.Dir))
	}
	return err
}

func (c partyNew) path(name string) string { return filepath.Join(c.Dir, name) }

// address returns the host that others reach, and where the service listens; both are empty for a
// publisher.
func (c partyNew) address() (host, listen string, err error) {
	if c.Role == card.Publisher {
		return "", "", nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return "", "", terminal.Usagef("--url is %q: give https://host:port", c.URL)
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	if listen = c.Listen; listen == "" {
		listen = ":" + port
	}
	if _, _, err := net.SplitHostPort(listen); err != nil || strings.ContainsAny(listen, "'\n") {
		return "", "", terminal.Usagef("--listen is %q: give host and port, such as 127.0.0.1:8443", listen)
	}
	return u.Hostname(), listen, nil
}

// keys makes the private keys of the role.
func (c partyNew) keys() error {
	sign, err := relay.GenerateSignKey()
	if err != nil {
		return err
	}
	name := map[string]string{card.Analyzer: "releases.json", card.Issuer: "card.json", card.Publisher: publisherKey}[c.Role]
	if name == "" {
		name = "receipts.json"
	}
	if err := partykey.CreateSigning(c.path(filepath.Join(keysFolder, name)), sign, c.Name); err != nil {
		return err
	}
	switch c.Role {
	case card.Publisher:
		return atomicfile.Create(c.path(publishersFile), plan.Trust(sign.Public().String()).Marshal(), 0o644)
	case card.Issuer:
		for i := range c.Tokens {
			key, err := token.GenerateKey()
			if err == nil {
				err = partykey.CreateTokens(c.path(filepath.Join(keysFolder, fmt.Sprintf("tokens-%02d.json", i+1))), key, c.Name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case card.Leader:
		var seed [aggregator.PairBytes]byte
		rng.Reader(rng.New()).Read(seed[:])
		if err := aggregator.CreatePair(c.path(pairFile), seed); err != nil {
			return err
		}
	}
	key, err := envelope.GenerateKey(envelope.Suite(c.Suite))
	if err != nil {
		return err
	}
	return partykey.CreateOpening(c.path(filepath.Join(keysFolder, "open.json")), key, c.Name)
}

// gateway makes the key of a gateway, where there is a relay.
func (c partyNew) gateway(file string) error {
	if file == "" {
		return nil
	}
	if err := os.Mkdir(c.path(gatewayFolder), 0o700); err != nil {
		return err
	}
	key, err := envelope.GenerateKey(envelope.Suite(c.Suite))
	if err != nil {
		return err
	}
	return partykey.CreateOpening(file, key, "gateway of "+c.Name)
}

// service writes the configuration, and draws the first operator's token.
func (c partyNew) service(listen string) error {
	operator, err := serve.AddBearer(rng.New(), c.path(operatorsFile), "operator")
	if err != nil {
		return err
	}
	if _, err := serve.AddBearers(rng.New(), c.path(respondentsFile)); err != nil {
		return err
	}
	roots := fmt.Sprintf("roots = '%s'\n", rootsFile)
	text := fmt.Sprintf("keys = '%s'\n%spublishers_file = '%s'\n%s\n[http]\nlisten = '%s'\ncertificate = '%s'\nkey = '%s'\noperators = '%s'\n%s",
		keysFolder, roots, publishersFile, c.role()+c.edge(), listen, certificateFile, keyFile, operatorsFile, c.population())
	return errors.Join(
		atomicfile.Create(c.path(tokensFile), fmt.Appendf(nil, "%s %s\n", strings.TrimSuffix(c.URL, "/"), operator), 0o600),
		atomicfile.Create(c.path(c.Role+".toml"), []byte(text), 0o600),
		roles.Make(c.Role, c.Dir),
	)
}

// role returns the settings that only this role has.
func (c partyNew) role() string {
	switch c.Role {
	case card.Shuffler:
		return fmt.Sprintf("bearers = '%s'\nqueue.folder = '%s'\n", respondentsFile, roles.QueueFolder)
	case card.Leader:
		return fmt.Sprintf("bearers = '%s'\ndatabase = '%s'\npair = '%s'\n", respondentsFile, roles.ShelvesFolder, pairFile)
	case card.Helper:
		return fmt.Sprintf("database = '%s'\npair = '%s'\n", roles.ShelvesFolder, pairFile)
	case card.Issuer:
		return fmt.Sprintf("bearers = '%s'\nfolder = '%s'\n", respondentsFile, roles.MarksFolder)
	}
	return fmt.Sprintf("database = '%s'\n", roles.ShelvesFolder)
}

// edge returns the settings of a gateway. The relay's networks are for its operator to tell.
func (c partyNew) edge() string {
	if c.Relay == "" {
		return ""
	}
	return fmt.Sprintf("gateway = '%s'\n# relays = ['203.0.113.0/24'] # the networks from which the relay comes\n", gatewayFolder)
}

// population returns whom an analyzer's plans ask, and what they may be charged.
func (c partyNew) population() string {
	if c.Role != card.Analyzer {
		return ""
	}
	return fmt.Sprintf("\n[[publishers]]\nname = 'publishers'\npopulation = 'everybody'\n\n[populations.everybody]\nepsilon = %g\ndelta = %g\nadjacency = 'replacement'\n", c.Epsilon, c.Delta)
}
