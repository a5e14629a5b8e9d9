package curator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// Ledger is what one user of a machine has published of tables. It lies apart from tables and from
// releases, and belongs to the people: a copy of a file, or an older one, holds the same people. It
// stops mistakes and not its owner, who may delete it.
type Ledger struct {
	folder string
	lock   *os.File
	kept   book
}

// book is the file of a ledger.
type book struct {
	Version int             `json:"version"`
	People  map[string]*Cap `json:"people"`
	Entries []Entry         `json:"entries"`
}

// Cap is what all releases of the same people keep together. It is fixed before the first.
type Cap struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Neighbours are those of all releases; empty: replacement. A number of rows that was published once is private no
	// more, and one epsilon does not add to another of other neighbours.
	Neighbours account.Adjacency `json:"adjacency,omitempty"`
}

// neighbours returns those of a cap.
func (c Cap) neighbours() account.Adjacency { return cmp.Or(c.Neighbours, account.Replacement) }

// Entry is one release that was charged.
type Entry struct {
	People string           `json:"people"`
	AsOf   string           `json:"as_of"`
	Asked  string           `json:"asked"` // SHA-256 of what was asked of them
	Title  string           `json:"title"`
	Table  string           `json:"table"` // SHA-256 of the file, which leaves this ledger nowhere
	Spent  account.Spending `json:"spent"`
	At     time.Time        `json:"at"`
	// Kept says that the release was written whole. One that was charged and not kept was never
	// shown; its charge stands.
	Kept bool `json:"kept"`
}

// What all releases of the same people keep, where nobody says.
const (
	firstEpsilon = 3
	firstDelta   = 1e-5
)

const (
	ledgerVersion = 1
	ledgerFile    = "ledger.json"
)

// sealed is the form on disk: the book's text with its digest, so that a flipped bit is no charge less.
type sealed struct {
	SHA256 string          `json:"sha256"`
	Book   json.RawMessage `json:"book"`
}

// OpenLedger opens the ledger in a folder, or a new one, and keeps other processes out until Close.
func OpenLedger(folder string) (*Ledger, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := atomicfile.Lock(folder)
	if err != nil {
		return nil, fmt.Errorf("the ledger of tables: %w: wait until it has ended", err)
	}
	l := &Ledger{folder: folder, lock: lock, kept: book{Version: ledgerVersion, People: map[string]*Cap{}}}
	text, err := atomicfile.Read(filepath.Join(folder, ledgerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = l.kept.read(text)
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("the ledger in %s cannot be read, and without it nobody knows what was published: %w: put it back from a backup", folder, err)
	}
	return l, nil
}

// Close lets other processes in.
func (l *Ledger) Close() error { return l.lock.Close() }

func (b *book) read(text []byte) error {
	var form sealed
	if err := strictjson.JSON(text, &form); err != nil {
		return err
	}
	sum := sha256.Sum256(form.Book)
	if hex.EncodeToString(sum[:]) != form.SHA256 {
		return errors.New("its digest is not that of its text: the file is damaged")
	}
	*b = book{}
	if err := strictjson.JSON(form.Book, b); err != nil {
		return err
	}
	if b.Version != ledgerVersion {
		return fmt.Errorf("it is of version %d, and this program reads %d", b.Version, ledgerVersion)
	}
	for _, e := range b.Entries {
		if b.People[e.People] == nil {
			return errors.New("it has a charge of people without a cap")
		}
	}
	return nil
}

// write puts the book on disk, whole.
func (l *Ledger) write(b book) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if text, err = json.Marshal(sealed{hex.EncodeToString(sum[:]), text}); err != nil {
		return err
	}
	if err := atomicfile.Replace(filepath.Join(l.folder, ledgerFile), text, 0o600); err != nil {
		return err
	}
	l.kept = b
	return nil
}

// Each calls yield for each of the people's names, in their order, with the cap, the parts of it that
// are taken up, and the entries.
func (l *Ledger) Each(yield func(people string, c Cap, taken account.Shares, entries []Entry) error) error {
	var names []string
	for name := range l.kept.People {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := *l.kept.People[name]
		f, err := account.NewFilter(c.Epsilon, c.Delta)
		if err != nil {
			return err
		}
		entries := l.of(name)
		if err := yield(name, c, f.Shares(spent(entries)...), entries); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) of(people string) (entries []Entry) {
	for _, e := range l.kept.Entries {
		if e.People == people {
			entries = append(entries, e)
		}
	}
	return entries
}

func spent(entries []Entry) (all []account.Spending) {
	for _, e := range entries {
		all = append(all, e.Spent)
	}
	return all
}

// asked names what a plan asks: all of it but the noise, which another version of the program may
// find a little smaller.
func asked(p plan.Plan) string {
	t := *p.Route.Table
	t.Law, t.Decay, t.Sigma = "", 0, 0
	if asks := p.Question.Histogram; asks != nil {
		h := *asks
		h.Attributes = slices.Clone(h.Attributes)
		for i := range h.Attributes {
			h.Attributes[i].Least = 0 // which follows from the noise
		}
		p.Question.Histogram = &h
	}
	p.Route.Table, p.Version = &t, 0
	return p.Name()
}

// Charged is a release that the ledger admits.
type Charged struct {
	// Folder is where the release is kept.
	Folder string
	// Again says that it was drawn before, and is there. Nothing is charged for it.
	Again bool
	// Changed says that the file was another one then.
	Changed bool
	Ledger  release.Ledger

	at int
}

// Charge admits a release of a table, whose text has a digest, and writes its charge down before
// anything is drawn. The same question of the same people, as of the same state, is answered by what
// was kept, whatever the file says now: another draw would be another charge, and noise that follows
// from the file would tell what changed in it. A cap is fixed with the first release; one that is
// named later must be the same; what is 0 stays as it is.
func (l *Ledger) Charge(p *protocol.Protocol, digest [32]byte, limit Cap, now time.Time) (Charged, error) {
	t, table := p.Plan.Route.Table, hex.EncodeToString(digest[:])
	for i, e := range l.kept.Entries {
		if e.Kept && e.People == t.People && e.Asked == asked(p.Plan) {
			return Charged{Folder: l.at(i), Again: true, Changed: e.Table != table, at: i}, nil
		}
		if e.Table == table && e.People != t.People {
			return Charged{}, fmt.Errorf("the ledger has this very file under other people, %q: one table has one name of its people, or their budget is spent twice; give that name", sanitize.Text(e.People))
		}
	}
	b := l.kept
	b.Entries, b.People = slices.Clone(b.Entries), cloned(b.People)
	c, neighbours := b.People[t.People], account.Adjacency(p.Plan.Budget.Adjacency)
	if neighbours == account.Label {
		neighbours = account.Replacement // of the label, which is charged as a row is
	}
	if c == nil {
		c = &Cap{Epsilon: cmp.Or(limit.Epsilon, firstEpsilon), Delta: cmp.Or(limit.Delta, firstDelta), Neighbours: neighbours}
		if neighbours == account.Replacement {
			c.Neighbours = "" // as ledgers have it that know of no other
		}
		b.People[t.People] = c
	} else if c.neighbours() != neighbours {
		return Charged{}, fmt.Errorf("all releases of %s are of neighbours by %s since their first, and cannot be of others: their number of rows is public from one release of replacement on, and private in none before; give --adjacency %s", sanitize.Text(t.People), c.neighbours(), c.neighbours())
	} else if cmp.Or(limit.Epsilon, c.Epsilon) != c.Epsilon || cmp.Or(limit.Delta, c.Delta) != c.Delta {
		return Charged{}, fmt.Errorf("the cap of %s is epsilon %g at delta %g since their first release, and cannot be another one: leave it out", sanitize.Text(t.People), c.Epsilon, c.Delta)
	}
	f, err := account.NewFilter(c.Epsilon, c.Delta)
	if err != nil {
		return Charged{}, err
	}
	promise, err := p.Promise()
	if err != nil {
		return Charged{}, err
	}
	charge, err := p.Charge(promise, neighbours)
	if err != nil {
		return Charged{}, err
	}
	cost, err := p.Spending(charge, neighbours)
	if err != nil {
		return Charged{}, err
	}
	before := l.of(t.People)
	if !f.Admits(append(spent(before), cost)...) {
		return Charged{}, fmt.Errorf("the budget of %s does not admit this release: with the %d before it, it would take more than epsilon %g at delta %g; ask with a smaller epsilon, or show what was kept (confetti release ledger)", sanitize.Text(t.People), len(before), c.Epsilon, c.Delta)
	}
	b.Entries = append(b.Entries, Entry{People: t.People, AsOf: t.AsOf, Asked: asked(p.Plan), Title: p.Plan.Title, Table: table, Spent: cost, At: now.UTC()})
	if err := l.write(b); err != nil {
		return Charged{}, fmt.Errorf("the charge could not be written down, so that nothing was drawn: %w", err)
	}
	at := len(b.Entries) - 1
	return Charged{Folder: l.at(at), at: at, Ledger: release.Ledger{Releases: len(before) + 1, Epsilon: c.Epsilon, Delta: c.Delta}}, nil
}

// Keep writes down that the release of a charge is in its folder, whole. Only then is it shown.
func (l *Ledger) Keep(c Charged) error {
	b := l.kept
	b.Entries = slices.Clone(b.Entries)
	b.Entries[c.at].Kept = true
	return l.write(b)
}

func (l *Ledger) at(entry int) string {
	return filepath.Join(l.folder, "kept", fmt.Sprintf("%06d", entry+1))
}

func cloned(people map[string]*Cap) map[string]*Cap {
	out := make(map[string]*Cap, len(people)+1)
	for name, c := range people {
		one := *c
		out[name] = &one
	}
	return out
}
