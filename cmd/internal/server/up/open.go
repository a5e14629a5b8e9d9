package up

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/server/roles"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/console"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

// lanAddress checks --lan: an address of this machine, and no name.
func (c Command) lanAddress() (net.IP, error) {
	if c.LAN == "" {
		return net.ParseIP(trial.Host), nil
	}
	if !c.Open {
		return nil, terminal.Usagef("--lan is for --open, which it lets phones of the network reach")
	}
	ip := net.ParseIP(c.LAN)
	if ip == nil || ip.IsUnspecified() {
		return nil, terminal.Usagef("--lan is %q: give the address of this machine on the network, such as 192.168.0.7", c.LAN)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		return nil, terminal.Usagef("--lan: this machine does not listen at %s: give one of its own addresses: %w", ip, err)
	}
	return ip, l.Close()
}

// open serves the console with a live poll until the context ends, and says where. done waits
// for its end.
func (c Command) open(ctx context.Context, std terminal.Streams, log *slog.Logger, t trial.Folder, signed plan.Signed, s *services.Services) (at *pages, done func() error, err error) {
	ip, err := c.lanAddress()
	if err != nil {
		return nil, nil, err
	}
	scheme := "http"
	var certificate *tls.Certificate
	if c.LAN != "" { // a browser runs no device that came over the network in the clear
		if certificate, err = certify(ip); err != nil {
			return nil, nil, err
		}
		scheme = "https"
	}
	l, err := listenPages(t, ip)
	if err != nil {
		return nil, nil, err
	}
	host := l.Addr().String()
	report, finish := terminal.Progress(std.Err)
	room, err := c.room(ctx, std.Err, t, signed, scheme+"://"+host+"/answer", report)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	const operator = "trial"
	folder := t.Path("room")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	served, err := console.New(console.Options{
		Folder: folder, Names: []string{operator},
		Analyzer: signed.Plan.Analyzer.URL, Public: s.Stranger(), Operator: s, Poll: room, Studio: roles.Studio(), Close: s.Closing, Hosts: []string{host}, Log: log,
		Backup: func(ctx context.Context) (string, error) {
			file := t.Path("backup-" + time.Now().UTC().Format("20060102-150405") + ".db")
			return file, roles.Backup(ctx, t.Config(plans.Party{Role: "analyzer"}), file)
		},
	})
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	at = &pages{Screen: scheme + "://" + host + served.Login(operator)}
	if room.Without == "" {
		at.Phones = room.Address
	}
	if err := c.tell(std.Out, room, at.Screen); err != nil {
		return nil, nil, errors.Join(err, l.Close(), served.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(served.Serve(ctx, l, certificate), served.Close()) }()
	return at, func() error { finish(); return <-ended }, nil
}

// certify makes a certificate for an address, by an authority of its own.
func certify(ip net.IP) (*tls.Certificate, error) {
	authority, err := serve.NewAuthority("Confetti trial", 30*24*time.Hour)
	if err != nil {
		return nil, err
	}
	certificate, key, err := authority.Server(ip.String())
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	return &pair, err
}

// tell says where the room's screen is, and what phones open.
func (c Command) tell(out io.Writer, room *console.Poll, login string) error {
	drawn, err := room.Drawn()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe room's screen, where this link logs one browser in, once:\n  %s\n", login)
	if room.Without != "" {
		fmt.Fprintf(out, "Phones cannot answer: %s\n", room.Without)
		return nil
	}
	fmt.Fprintf(out, "Phones open %s\n\n%s\n", room.Address, drawn)
	if c.LAN == "" {
		_, err = fmt.Fprintln(out, "That is this machine's own address, which no phone reaches. For phones on the network, name the machine's address there with --lan.")
	} else {
		_, err = fmt.Fprintln(out, "A phone warns that it does not know who vouches for this machine: the trial's authority does, which is its own.")
	}
	return err
}

// room returns the live poll of the trial's plan.
func (c Command) room(ctx context.Context, errs io.Writer, t trial.Folder, signed plan.Signed, address string, report func(stage string, done, total int)) (*console.Poll, error) {
	carry, err := serve.Client(serve.Path(t.Path(trial.Roots)))
	if err != nil {
		return nil, err
	}
	carry.Timeout = time.Minute
	text, err := atomicfile.Read(t.Path(trial.Devices))
	if err != nil {
		return nil, err
	}
	bearers := strings.Fields(string(text))
	slices.Reverse(bearers) // confetti submit takes them from the beginning
	room := &console.Poll{
		Signed: signed, Address: address, Carry: carry, Bearers: bearers,
		Hand: func(phones [][sha256.Size]byte) error {
			report("phones joined", len(phones), max(len(phones), signed.Plan.Crowd.Minimum))
			return atomicfile.Replace(t.Path(joined), listed(phones), 0o600)
		},
	}
	if text, err := atomicfile.Read(t.Path(joined)); err == nil {
		if room.Phones, err = phones(text); err != nil || len(room.Phones) > len(bearers) {
			return nil, fmt.Errorf("%s is no list of phones: put it back from a backup, or start another poll in another folder, since phones that answered would be others without it", t.Path(joined))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	long := time.AfterFunc(time.Second, func() {
		fmt.Fprintln(errs, "The module that phones load is made from the source, which takes a minute at first...")
	})
	defer long.Stop()
	room.Device, room.Without = device(ctx)
	return room, nil
}

// joined has the phones that were given a credential, by the hashes of their cookies.
const joined = "phones"

// listed writes phones one a line, in hexadecimal.
func listed(phones [][sha256.Size]byte) []byte {
	var b bytes.Buffer
	for _, p := range phones {
		fmt.Fprintf(&b, "%x\n", p)
	}
	return b.Bytes()
}

// phones reads what listed has written.
func phones(text []byte) (all [][sha256.Size]byte, err error) {
	for line := range strings.Lines(string(text)) {
		var one [sha256.Size]byte
		hash, err := hex.DecodeString(strings.TrimSuffix(line, "\n"))
		if err != nil || copy(one[:], hash) != len(one) || len(line) != 2*len(one)+1 {
			return nil, errors.New("a line is no phone")
		}
		all = append(all, one)
	}
	return all, nil
}
