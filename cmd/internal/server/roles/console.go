package roles

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/bands"
	"github.com/confetti-dp/confetti/internal/service/console"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/webstudio"
)

type serveConsole struct {
	Analyzer string `help:"Address of the analyzer whose collections are shown; with --dir the trial's." placeholder:"URL"`
	Listen   string `help:"Where the pages are: host and port. Other machines are let in over TLS only." default:"127.0.0.1:8480"`
	services.Operator
	Certificate string `help:"PEM file of the console's own certificate." type:"path" placeholder:"FILE"`
	Key         string `help:"PEM file of its private key." type:"path" placeholder:"FILE"`
	Address     string `help:"Address by which browsers call the console, where it is not that of --listen, or of the certificate; it answers to no other." placeholder:"URL"`
	Folder      string `help:"Folder that keeps operators' sessions, by the hash of what their browsers have, and what they did, across restarts; with --dir console in it. Without either both end with the program." type:"path" placeholder:"DIR"`
	Bands       string `help:"TOML file that says in which band the share of a value is expected, and who is told when it surely leaves; --folder keeps of what somebody was told." type:"path" placeholder:"FILE"`
	OIDC        oidc   `embed:"" prefix:"oidc-"`
}

// oidc are the flags of a provider at which operators sign in.
type oidc struct {
	Issuer   string            `help:"URL of an OpenID provider at which operators sign in, beside the link that is printed." placeholder:"URL"`
	Client   string            `help:"Client ID that the provider gave the console. Its redirect URI is the console's address with /login/oidc/callback." placeholder:"ID"`
	Secret   string            `help:"File of the client's secret, if the provider gave one." type:"path" placeholder:"FILE"`
	Roots    string            `help:"PEM file of the provider's authorities; the system's without it." type:"path" placeholder:"FILE"`
	Operator map[string]string `help:"Who is let in: the operator's name in logs, and the subject (sub) with the provider." placeholder:"NAME=SUBJECT"`
}

// open returns how operators sign in; nil if no flag says so.
func (f oidc) open(address string) (console.Provider, error) {
	if f.Issuer == "" && f.Client == "" && f.Secret == "" && f.Roots == "" && len(f.Operator) == 0 {
		return nil, nil
	}
	names := map[string]string{}
	for name, subject := range f.Operator {
		if names[subject] != "" {
			return nil, terminal.Usagef("--oidc-operator gives %s and %s one subject", min(name, names[subject]), max(name, names[subject]))
		}
		names[subject] = name
	}
	found, err := identity.OpenSignIn(identity.Operators{
		Issuer: f.Issuer, Client: f.Client, Secret: serve.Path(f.Secret), Roots: serve.Path(f.Roots), Names: names,
		Back: strings.TrimSuffix(address, "/") + "/login/oidc/callback",
	}, time.Now)
	if err != nil {
		return nil, terminal.Usagef("--oidc-...: %v", err)
	}
	return found, nil
}

func (serveConsole) Help() string {
	return `Shows collections, releases and studies to whoever opens the page. With operators'
tokens it also shows how far collections have come, and prints a link that logs
one browser in as the operator, once. Services for which no token is there are not ours.

Example:
  confetti-server serve console --analyzer https://analyzer.example:8443
  confetti-server serve console --analyzer https://analyzer.example:8443 --tokens operator.tokens
  confetti-server serve console --dir trial
  confetti-server serve console --dir trial --oidc-issuer https://accounts.example.org --oidc-client confetti-console --oidc-operator ada=248289761001`
}

func (c serveConsole) Run(std terminal.Streams) error {
	o := console.Options{Analyzer: c.Analyzer, Studio: Studio(), Log: slog.New(slog.NewTextHandler(std.Err, nil))}
	if c.Dir != "" && c.Analyzer == "" {
		signed, err := services.SignedPlan{}.Read(c.Dir)
		if err != nil {
			return err
		}
		o.Analyzer = signed.Plan.Analyzer.URL
	}
	if o.Analyzer == "" {
		return terminal.Usagef("name the --analyzer, or with --dir a trial that has one")
	}
	if err := serve.Address(strings.TrimSuffix(o.Analyzer, "/")); err != nil {
		return terminal.Usagef("--analyzer %q is %v", o.Analyzer, err)
	}
	if (c.Certificate == "") != (c.Key == "") {
		return terminal.Usagef("--certificate and --key go together")
	}
	if err := c.reach(&o); err != nil {
		return err
	}
	l, certificate, err := c.listen(&o)
	if err != nil {
		return err
	}
	address := c.Address
	if address == "" {
		address = c.address(o.Hosts[0])
	}
	if o.SignIn, err = c.OIDC.open(address); err == nil && o.SignIn != nil && o.Operator == nil {
		err = terminal.Usagef("operators have nothing to do here: give operators' tokens, too, with --dir or --tokens")
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if err := c.remember(&o); err != nil {
		return errors.Join(err, l.Close())
	}
	pages, err := console.New(o)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ctx, stop := terminal.UntilStopped()
	defer stop()
	fmt.Fprintf(std.Out, "The console is at %s\n", address)
	if o.Operator != nil {
		fmt.Fprintf(std.Out, "This link logs one browser in as the operator, once:\n  %s\n", strings.TrimSuffix(address, "/")+pages.Login(operatorName))
	}
	return errors.Join(pages.Serve(ctx, l, certificate), pages.Close())
}

// operatorName is who opens the link that is printed.
const operatorName = "operator"

// remember names the folder, where operators can log in, and those who are operators still.
func (c serveConsole) remember(o *console.Options) error {
	if o.Operator == nil && c.Bands == "" {
		if c.Folder != "" {
			return terminal.Usagef("--folder keeps what operators do, and nobody can log in: give operators' tokens, too, with --dir or --tokens")
		}
		return nil
	}
	o.Folder, o.Names = c.Folder, append(slices.Sorted(maps.Keys(c.OIDC.Operator)), operatorName)
	if o.Folder == "" && c.Dir != "" {
		o.Folder = filepath.Join(c.Dir, "console")
	}
	if o.Folder == "" && c.Bands != "" {
		return terminal.Usagef("--bands needs a --folder, which keeps of what somebody was told: it is told once")
	}
	if o.Folder == "" {
		return nil
	}
	if c.Bands != "" {
		o.Bands = func() (console.Bands, error) { return bands.Open(c.Bands, o.Folder, o.Log, time.Now) }
	}
	return os.MkdirAll(o.Folder, 0o700)
}

// Studio returns the module that pages compute with in a browser, which is looked for, or made, when it
// is first asked for.
func Studio() func() (http.Handler, error) {
	return sync.OnceValues(func() (http.Handler, error) { return webstudio.Handler(context.Background()) })
}

// reach opens the ways to ask services: without a credential, and with one where there is.
func (c serveConsole) reach(o *console.Options) error {
	asker, err := c.Operator.Open()
	if err != nil {
		return err
	}
	if !asker.Credential() {
		o.Public = asker
		return nil
	}
	o.Operator, o.Close = asker, asker.Closing
	o.Public = asker.Stranger()
	return nil
}

// listen takes the port. Names by which browsers may call it are that of --address, those of this machine
// where it is for this machine alone, and else those that its certificate is for.
func (c serveConsole) listen(o *console.Options) (net.Listener, *tls.Certificate, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, nil, terminal.Usagef("--listen is %q: give host and port, such as 127.0.0.1:8480", c.Listen)
	}
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	if !local && c.Certificate == "" {
		return nil, nil, terminal.Usagef("--listen %s would let other machines in without TLS: give --certificate and --key, or listen on 127.0.0.1", c.Listen)
	}
	var pair *tls.Certificate
	if c.Certificate != "" {
		read, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("--certificate: %w", err)
		}
		pair = &read
	}
	// Names that are wrong are said before the port is taken, and whether it is free or not.
	if o.Hosts, o.Secure, err = c.hosts(host, port, local, pair); err != nil {
		return nil, nil, err
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil || port != "0" {
		return l, pair, err
	}
	if _, port, err = net.SplitHostPort(l.Addr().String()); err == nil {
		o.Hosts, _, err = c.hosts(host, port, local, pair)
	}
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, pair, nil
}

// hosts returns the names by which browsers may call the console, the first of them to be printed, and whether
// they do over TLS alone.
func (c serveConsole) hosts(host, port string, local bool, pair *tls.Certificate) (all []string, secure bool, err error) {
	if c.Address != "" {
		at, err := url.Parse(c.Address)
		if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || at.Path != "" && at.Path != "/" {
			return nil, false, terminal.Usagef("--address is %q: give a scheme, host and port, such as https://console.example.org", c.Address)
		}
		all, secure = append(all, at.Host), at.Scheme == "https"
	}
	if local {
		return append(all, net.JoinHostPort(host, port), net.JoinHostPort("localhost", port)), secure, nil
	}
	if c.Address != "" {
		return all, secure, nil
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, false, fmt.Errorf("--certificate: %w", err)
	}
	names := slices.DeleteFunc(slices.Clone(leaf.DNSNames), func(name string) bool { return strings.Contains(name, "*") })
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return nil, false, terminal.Usagef("the certificate names no host by which browsers may call the console: give --address, such as https://console.example.org")
	}
	for _, name := range names {
		if port == "443" {
			all = append(all, bare(name))
		}
		all = append(all, net.JoinHostPort(name, port))
	}
	return all, true, nil
}

// bare returns a host as browsers name it without a port.
func bare(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func (c serveConsole) address(host string) string {
	if c.Certificate != "" {
		return "https://" + host + "/"
	}
	return "http://" + host + "/"
}
