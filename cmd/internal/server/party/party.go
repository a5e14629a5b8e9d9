// Package party implements confetti-server party: what an organisation makes for its role, and takes from others. Used
// by cmd/internal/server, for operators.
package party

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/cmd/internal/card"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

type Command struct {
	New         partyNew         `cmd:"" help:"Make the folder of a party: keys, certificate, configuration and card."`
	Card        partyCard        `cmd:"" help:"Write a party's card: what others need to name it in a plan and to reach it."`
	Show        partyShow        `cmd:"" help:"Check a card, and show it."`
	Trust       partyTrust       `cmd:"" help:"Take others' cards: whose services and plans a party trusts."`
	Certificate partyCertificate `cmd:"" help:"Make a service's certificate and its private key."`
}

// of are the flags that say whose a card is.
type of struct {
	Name    string `help:"The organisation's name, as plans show it." required:"" placeholder:"TEXT"`
	Role    string `help:"shuffler, leader, helper, analyzer, issuer or publisher: a card for each role." enum:"shuffler,leader,helper,analyzer,issuer,publisher" required:"" placeholder:"ROLE"`
	Contact string `help:"How its operators are reached: an address, a number." required:"" placeholder:"TEXT"`
	URL     string `name:"url" help:"Where others reach its service, https://host:port; a publisher has none." placeholder:"URL"`
	Helper  string `help:"Of a leader: the helper's card, to whose key the secret of the pair is sealed." type:"path" placeholder:"CARD"`
	Relay   string `help:"Of whom devices send something: the address at a relay of another organisation (Oblivious HTTP) that leads to this service's gateway, URL/.well-known/ohttp-gateway. Devices then show the relay where they are, and not this service." placeholder:"URL"`
	Relayer string `name:"relay-operator" help:"Beside it: the organisation that runs the relay, as plans show it." placeholder:"TEXT"`
}

// check refuses flags that do not go together.
func (f of) check() error {
	var errs terminal.Faults
	errs.Require((f.Role == card.Publisher) == (f.URL == ""), "--url: every role but a publisher's has a service: say where others reach it, or leave it out")
	errs.Require((f.Role == card.Leader) == (f.Helper != ""), "--helper: a leader names the helper's card, and nobody else does")
	errs.Require((f.Relay == "") == (f.Relayer == ""), "--relay and --relay-operator: say both, or none")
	return errors.Join(errs...)
}

type partyCard struct {
	File string `arg:"" help:"Where to write the card; it holds nothing private." type:"path"`
	of
	Keys        string   `help:"Folder of the party's keys." type:"path" xor:"keys" placeholder:"DIR"`
	Key         []string `help:"A key file that the card names, in the place of all in a folder: one that signs, one that opens, an issuer's of tokens." type:"path" sep:"none" xor:"keys" placeholder:"FILE"`
	Certificate string   `help:"PEM file of the service's certificate, which others then trust alone; without, they trust whom their systems know, as for a certificate by ACME." type:"path" placeholder:"FILE"`
	Pair        string   `help:"Of a leader: the secret of the pair (confetti keys pair)." type:"path" placeholder:"FILE"`
	Gateway     string   `help:"Of a party with a --relay: the key file of its gateway, in the folder that its setting gateway names." type:"path" placeholder:"FILE"`
	terminal.Form
}

func (partyCard) Help() string {
	return `The party's own key signs the card: that of receipts, releases or plans. Give the card to
whoever writes the plan and to the other parties, and tell them its id over another way.

Example:
  confetti-server party card north.card --role shuffler --name North --contact ops@north.example --url https://confetti.north.example:8443 --keys keys --certificate server.crt`
}

func (c partyCard) Run(std terminal.Streams) error {
	if err := c.of.check(); err != nil {
		return err
	}
	if c.Keys == "" && len(c.Key) == 0 {
		return terminal.Usagef("name the folder of the party's --keys, or each --key")
	}
	text, err := c.write()
	if err != nil {
		return err
	}
	if err := atomicfile.Replace(c.File, text, 0o644); err != nil {
		return err
	}
	made, err := card.Read(c.File)
	if err != nil {
		return err
	}
	return c.Print(std, shown(made), "%s is the card of %s, %s; tell others its id over another way:\n  %s\n", c.File, sanitize.Text(made.Name), made.Role, made.ID())
}

// write returns the card's text.
func (c partyCard) write() ([]byte, error) {
	all := card.Card{Name: c.Name, Role: c.Role, Contact: c.Contact, URL: c.URL}
	sign, err := c.keys(&all)
	if err != nil {
		return nil, err
	}
	if c.Certificate != "" {
		if all.Certificate, err = readCertificate(c.Certificate); err != nil {
			return nil, err
		}
	}
	if (c.Gateway == "") != (c.Relay == "") {
		return nil, terminal.Usagef("--gateway: a party with a --relay names the key of its gateway, and nobody else does")
	}
	if c.Relay != "" {
		f, err := keyfile.Read(c.Gateway)
		if err != nil {
			return nil, fmt.Errorf("--gateway: %w", err)
		}
		all.Relay = &plan.Relay{Operator: c.Relayer, URL: c.Relay, Key: f.PublicKey}
	}
	if c.Role == card.Leader {
		helper, err := card.Read(c.Helper)
		if err != nil {
			return nil, fmt.Errorf("--helper: %w", err)
		}
		if c.Pair == "" {
			return nil, terminal.Usagef("name the --pair, the secret that a leader shares with its helper: confetti keys pair")
		}
		if _, err := aggregator.ReadPair(c.Pair); err != nil {
			return nil, err
		}
		secret, err := os.ReadFile(c.Pair)
		if err != nil {
			return nil, err
		}
		if err := all.SealPair(helper, secret); err != nil {
			return nil, fmt.Errorf("--helper: %w", err)
		}
	}
	text, err := all.Sign(sign)
	if err != nil {
		return nil, terminal.Usage(err)
	}
	return text, nil
}

// keys names the public keys in the card, and returns the one that signs it.
func (c partyCard) keys(to *card.Card) (sign relay.SignKey, err error) {
	files := c.Key
	if c.Keys != "" {
		all, err := keyfile.ReadFolder(c.Keys)
		if err != nil {
			return sign, err
		}
		for path := range all {
			files = append(files, path)
		}
		slices.Sort(files)
	}
	var signs, opens []string
	for _, file := range files {
		f, err := keyfile.Read(file)
		if err != nil {
			return sign, err
		}
		switch {
		case f.Suite == token.Suite:
			to.Tokens = append(to.Tokens, f.PublicKey)
		case envelope.Suite(f.Suite).Validate() == nil:
			to.Opens, opens = f.PublicKey, append(opens, file)
		default:
			signs = append(signs, file)
		}
	}
	if len(opens) > 1 {
		return sign, terminal.Usagef("%s open: name with --key which one the card has, and the other keys of the card", strings.Join(opens, " and "))
	}
	if len(signs) != 1 {
		return sign, terminal.Usagef("%d keys sign (%s), and a card needs one: name it with --key, beside the other keys of the card", len(signs), strings.Join(signs, ", "))
	}
	sign, _, err = partykey.ReadSigning(signs[0])
	return sign, err
}

// readCertificate returns the first certificate of a PEM file, the service's own, in DER.
func readCertificate(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no certificate at %s: check the path, or make one with confetti party certificate", file)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("%s does not begin with a certificate in PEM", file)
	}
	return block.Bytes, nil
}

// shown returns a card as JSON has it, with its id.
func shown(c card.Card) any {
	return struct {
		ID          string `json:"id"`
		Fingerprint string `json:"fingerprint,omitempty"`
		card.Card
	}{c.ID(), c.Fingerprint(), c}
}

type partyShow struct {
	File string `arg:"" help:"A party's card." type:"path"`
	terminal.Form
}

func (partyShow) Help() string {
	return `Checks that the card's own key has signed it, and that it says what its role needs. Whose
it is you find out: ask the party for the id, over another way than the card came.

Example:
  confetti-server party show north.card`
}

func (c partyShow) Run(std terminal.Streams) error {
	one, err := card.Read(c.File)
	if err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, shown(one))
	}
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(std.Out, "%-12s %s\n", name, sanitize.Text(value))
		}
	}
	row("id", one.ID())
	row("name", one.Name)
	row("role", one.Role)
	row("url", one.URL)
	row("contact", one.Contact)
	row("opens", one.Opens)
	row("signs", one.Signs)
	for _, key := range one.Tokens {
		row("tokens", keytext.ID(key))
	}
	row("certificate", one.Fingerprint())
	if r := one.Relay; r != nil {
		row("relay", r.Operator+", "+r.URL)
		row("gateway", r.Key)
	}
	return nil
}

// cardFile is the name of a party's own card in its folder, and othersFolder where it keeps the cards
// that it trusts.
const (
	cardFile     = "party.card"
	othersFolder = "parties"
)

// keptAs returns the name of the file of a trusted card: a new one of the same role and address takes
// the place of the old.
func keptAs(c card.Card) string {
	where := c.URL
	if where == "" {
		where = c.Signs
	}
	return filepath.Join(othersFolder, c.Role+"-"+keytext.ID(where)+".card")
}
