package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// endsSoon is how long before its end a certificate is an alarm, if a third of its life or less is
// left: one that lasts for days is renewed in days.
const endsSoon = 14 * 24 * time.Hour

// scarce is how little free disk is an alarm, in bytes.
const scarce = 1 << 30

// KeysTitle is that of the table of a status whose data are of type []keyfile.Name.
const KeysTitle = "Private keys"

// about adds to a status what every service tells of itself: its version, its certificate's end,
// the free disk, how long requests take, and which keys it has.
func (s *Server) about(st *Status) {
	fact := func(name, value string, data any) { st.Facts = append(st.Facts, Fact{name, value, data}) }
	fact("version", version(), nil)
	if leaf := s.leaf(); leaf != nil {
		end := leaf.NotAfter
		left := end.Sub(st.Now)
		days := int(math.Floor(left.Hours() / 24))
		fact("certificate", fmt.Sprintf("until %s, %s", end.UTC().Format(time.DateOnly), Count(days, "day", "days")), end.UTC())
		if left < endsSoon && left < end.Sub(leaf.NotBefore)/3 {
			st.Alarms = append(st.Alarms, fmt.Sprintf("the certificate ends at %s", end.UTC().Format(time.RFC3339)))
		}
	}
	if s.config.Disk != nil {
		if free, known := atomicfile.Free(s.config.Disk()); known {
			fact("free disk", fmt.Sprintf("%.1f GiB", float64(free)/(1<<30)), map[string]int64{"bytes": free})
			if free < scarce {
				st.Alarms = append(st.Alarms, fmt.Sprintf("the disk is nearly full: less than %d GiB is free", scarce>>30))
			}
		}
	}
	if most, n := s.config.Metrics.slow(s.config.Routes); n > 0 {
		words := "within " + most.String()
		if most == 0 {
			words = "in more than a minute"
		}
		fact("99 of 100 answers", words+" since the start", map[string]float64{"seconds": most.Seconds()})
	}
	if !st.Draining.IsZero() {
		st.Alarms = append(st.Alarms, fmt.Sprintf("the service drains since %s: it takes no new work", st.Draining.Format(time.RFC3339)))
	}
	if g := s.config.gateway; g != nil {
		keys, err := g.keys.get()
		ids := []string{}
		for public := range keys {
			ids = append(ids, keytext.ID(public))
		}
		slices.Sort(ids)
		fact("gateway", fmt.Sprintf("%s, for %s", Count(len(ids), "key", "keys"), Count(len(g.relays), "relay", "relays")), ids)
		if err != nil {
			st.Alarms = append(st.Alarms, "the gateway's keys cannot be read any more: "+err.Error())
		}
	}
	if keys := keyfile.Names(s.config.Keys); len(keys) > 0 {
		table := Table{Title: KeysTitle, Columns: []string{"key", "suite", "for", "since"}, Data: keys}
		for _, k := range keys {
			table.Rows = append(table.Rows, []string{k.ID, k.Suite, k.Purpose, k.Since.Format(time.DateOnly)})
		}
		st.Tables = append(st.Tables, table)
	}
}

// DiskOf returns a Config's Disk for what lies at a path, a folder or a file in one; nothing for an
// empty path.
func DiskOf(at Path) func() string {
	if at == "" {
		return nil
	}
	return func() string {
		if status, err := os.Stat(string(at)); err == nil && status.IsDir() {
			return string(at)
		}
		return filepath.Dir(string(at))
	}
}

// version returns that of the program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	words := info.Main.Version
	if words == "" || words == "(devel)" {
		words = "of no release"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			words += ", " + s.Value[:12]
		}
	}
	return words + ", " + info.GoVersion
}

// leaf returns the certificate that the service shows now; nil if it has none.
func (s *Server) leaf() *x509.Certificate {
	if s.config.TLS == nil || s.config.TLS.GetCertificate == nil {
		return nil
	}
	shown, err := s.config.TLS.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		return nil
	}
	return shown.Leaf
}
