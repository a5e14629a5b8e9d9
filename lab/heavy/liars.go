package heavy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/simulate"
)

// lie is what liars agree on: all of them say one vector, the sum of those of the strings that they name, each up or down.
// Where proofs hold, they share the strings out among themselves.
type lie struct {
	says   string
	names  []string
	hides  bool
	chosen bool // rows of their choice, in the place of rows drawn as a device draws them
}

// lying is a crowd some of whom lie: what the honest among them say is drawn once, and read with each strategy of the others.
type lying struct {
	proto   *protocol.Protocol
	q       *strings.Question
	honest  tally.Tally
	people  int
	liars   int
	held    map[string]int // by the honest
	without estimates      // what is found where nobody lies
	seed    uint64
}

const forNames, forLiars = 0xbad, 0xbae // streams of random numbers

// lies measures what liars in the place of some people do, by each strategy. The first row is without any.
func (c Cell) lies(p listed, people []string) ([]Row, error) {
	l, err := c.lying(p, people)
	if err != nil {
		return nil, err
	}
	rows := []Row{row("nobody lies", l.without, l.held)}
	for i, s := range l.strategies(p) {
		r, err := l.read(s, uint64(i))
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// lying draws what the honest say, and has the others wait.
func (c Cell) lying(p listed, people []string) (*lying, error) {
	proto, err := c.protocol(p)
	if err != nil {
		return nil, err
	}
	l := &lying{proto: proto, q: proto.Question.(*strings.Question), people: len(people), liars: int(math.Round(c.Liars * float64(len(people)))), held: map[string]int{}, seed: c.Seed}
	honest := make(distribution.Values, len(people)-l.liars)
	for i := range honest {
		honest[i] = people[i+l.liars]
		l.held[people[i+l.liars]]++
	}
	// The question waits for as many as the plan does, and the honest among them are drawn once.
	few := proto.Plan
	few.Crowd.Minimum = len(honest)
	drawn, err := protocol.New(few)
	if err != nil {
		return nil, err
	}
	crowds, err := distribution.Draw(drawn, honest, func(path ...uint64) *rand.Rand { return seeded.New(c.Seed, path...) }, func(int) {})
	if err != nil {
		return nil, err
	}
	l.honest = crowds[0].Tally
	l.without, err = found(proto, l.honest, len(honest))
	return l, err
}

// strategies returns those of liars.
func (l *lying) strategies(p listed) []lie {
	invented := p.invented(seeded.New(l.seed, forNames), l.held, 4096)
	hidden := p.texts[slices.IndexFunc(p.texts, func(text string) bool { return l.held[text] > 0 && l.held[text] <= 200 && l.without[text] > 0 })]
	all := []lie{{says: "lift one string", names: invented[:1]}, {says: "lift one string", names: invented[:1], chosen: true}}
	least, most, step := 64, len(invented), 4
	if l.q.Summed() { // together they are worth few strings
		least, most, step = 4, 64, 2
	}
	random := p.random(seeded.New(l.seed, forNames, 1), l.held, 1024)
	for _, k := range []int{64, 256, 1024} {
		if !l.q.Summed() {
			all = append(all, lie{says: fmt.Sprintf("invent %d strings of random letters", k), names: random[:k]})
		}
	}
	for k := least; k <= most; k *= step {
		all = append(all, lie{says: fmt.Sprintf("invent %d strings", k), names: invented[:k]}, lie{says: fmt.Sprintf("invent %d strings", k), names: invented[:k], chosen: true})
	}
	all = append(all, lie{says: "hide one string", names: []string{hidden}, hides: true}, lie{says: "hide one string", names: []string{hidden}, hides: true, chosen: true})
	if l.q.Summed() { // there are no rows to choose
		all = slices.DeleteFunc(all, func(s lie) bool { return s.chosen })
	}
	return all
}

// read tells what is found where liars agree on a strategy.
func (l *lying) read(s lie, stream uint64) (Row, error) {
	with := l.proto.NewTally()
	if err := with.Merge(l.honest); err != nil {
		return Row{}, err
	}
	if err := s.tell(l.q, with, l.liars, seeded.New(l.seed, forLiars, stream)); err != nil {
		return Row{}, err
	}
	got, err := found(l.proto, with, l.people)
	if err != nil {
		return Row{}, err
	}
	way := s.says
	if !l.q.Summed() {
		way += map[bool]string{false: ", rows as drawn", true: ", chosen rows"}[s.chosen]
	}
	r := row(way, got, l.held)
	for text := range l.without {
		if _, still := got[text]; !still {
			r.Lost++
		}
	}
	if len(s.names) == 1 && !s.hides {
		r.Lift = got[s.names[0]] / float64(l.liars)
	}
	return r, nil
}

// protocol returns that of the cell's collection.
func (c Cell) protocol(p listed) (*protocol.Protocol, error) {
	asked := plan.Strings{Alphabet: p.alphabet, Longest: p.longest, Seed: measure.PublicSeed(c.Seed)}
	drafted := measure.Draft(plan.Question{Kind: "strings", Strings: &asked}, plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement"}, c.People)
	drafted.Route = measure.RouteOf(c.Noise, 1, measure.Hops)
	if _, err := simulate.NewKeys(&drafted); err != nil {
		return nil, err
	}
	designed, err := design.Fill(drafted)
	if err != nil {
		return nil, err
	}
	return protocol.New(designed)
}

// found reads strings out of a tally.
func found(proto *protocol.Protocol, t tally.Tally, respondents int) (estimates, error) {
	m, err := proto.Learn([]tally.Crowd{{Tally: t, Respondents: respondents, Smallest: respondents}})
	if err != nil {
		return nil, err
	}
	got := estimates{}
	for _, f := range m.(*strings.Model).Found {
		got[f.Text] = f.Count.Mean
	}
	return got, nil
}

// invented returns strings that nobody holds: pieces of such as people hold, so that they are spelt likely.
func (p listed) invented(r *rand.Rand, held map[string]int, number int) (all []string) {
	most := min(2000, len(p.texts))
	seen := map[string]bool{}
	for len(all) < number {
		a, b := []rune(p.texts[r.IntN(most)]), []rune(p.texts[r.IntN(most)])
		text := string(a[:(len(a)+1)/2]) + string(b[len(b)/2:])
		if len(text) <= p.longest && held[text] == 0 && !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return all
}

// random returns strings that nobody holds, of six characters, each one of the first 16: they are spelt as nobody spells.
func (p listed) random(r *rand.Rand, held map[string]int, number int) (all []string) {
	characters := []rune(p.alphabet)
	if p.alphabet == "" {
		characters = []rune(letters)
	}
	seen := map[string]bool{}
	for len(all) < number {
		text := make([]rune, 6)
		for i := range text {
			text[i] = characters[r.IntN(min(16, len(characters)))]
		}
		if !seen[string(text)] && held[string(text)] == 0 {
			seen[string(text)] = true
			all = append(all, string(text))
		}
	}
	return all
}

// tell adds what so many liars say to a tally.
func (l lie) tell(q *strings.Question, t tally.Tally, liars int, r *rand.Rand) error {
	if q.Summed() {
		return l.prove(q, t.(*tally.Sums), liars)
	}
	sum, one := make([]float32, q.Code().Numbers()), make([]float32, q.Code().Numbers())
	for _, text := range l.names {
		symbols, _ := q.Symbols(text)
		q.Code().Write(symbols, one)
		for i, x := range one {
			sum[i] += x
		}
	}
	length := 0.0
	for _, x := range sum {
		length += float64(x) * float64(x)
	}
	for i := range sum {
		if sum[i] = sum[i] / float32(math.Sqrt(length)); l.hides {
			sum[i] = -sum[i]
		}
	}
	spec := q.Rows().Spec()
	ones := make([]float64, spec.Rows) // above a half where the vector's coordinate is above zero
	q.Rows().Ones(sum, ones)
	counts := t.(*tally.Counts)
	say := func(row int) {
		bit := 0
		if ones[row] > 0.5 {
			bit = 1
		}
		counts.N[2*row+bit]++
	}
	order := make([]int, spec.Rows)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(ones[b]-0.5), math.Abs(ones[a]-0.5)) })
	for range liars {
		for k := range spec.Envelopes { // as many as fit
			if l.chosen { // those with the largest coordinates
				say(order[k])
			} else {
				say(r.IntN(spec.Rows))
			}
		}
	}
	return nil
}

// prove adds vectors that pass the proof: each liar says ones of the strings in turn, as many as a string has, and spends none on
// pairs, so that the last goes on where it stopped; who hides a string says all other cells of its bucket that it can.
func (l lie) prove(q *strings.Question, t *tally.Sums, liars int) error {
	c, err := q.Circuit()
	if err != nil {
		return err
	}
	var cells []int // that liars share out, by string
	for _, text := range l.names {
		symbols, _ := q.Symbols(text)
		bucket, word := q.Code().Word(symbols)
		for at, cell := range word {
			cells = append(cells, (bucket*q.Code().Positions()+at)*q.Code().Cells+int(cell))
		}
	}
	if l.hides { // the other cells of the positions, the next ones first
		own := cells
		cells = nil
		for turn := 1; turn < q.Code().Cells; turn++ {
			for _, cell := range own {
				first := cell / q.Code().Cells * q.Code().Cells
				cells = append(cells, first+(cell-first+turn)%q.Code().Cells)
			}
		}
	}
	next := 0
	for range liars {
		if l.hides {
			next = 0
		}
		said := map[int]bool{} // each number is a bit
		for range cells {
			if len(said) == c.Weight {
				break
			}
			if cell := cells[next%len(cells)]; !said[cell] {
				said[cell] = true
				t.N[cell]++
			}
			next++
		}
	}
	return nil
}
