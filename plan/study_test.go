package plan

import (
	"bytes"
	"crypto/ed25519"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// coordinator is a key for tests, known to everybody.
func coordinator() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
}

// study asks the sample three times.
func study() Study {
	p := sample()
	times := p.Times
	p.Times = Times{}
	return Study{
		Version: StudyVersion, Plan: p, Rounds: 3, Takes: TakesOne, Withheld: WithheldRepeats,
		Coordinator: Publisher(coordinator().Public().(ed25519.PublicKey)), Times: times,
	}
}

var someState = StateName([]byte("state"))

// second is the study's second round.
func second(t testing.TB, s SignedStudy) Signed {
	t.Helper()
	times := Times{s.Study.Times.Opens.Add(time.Hour), s.Study.Times.Opens.Add(2 * time.Hour)}
	signed, err := s.Round(2, someState, times, coordinator())
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// A study that has no round yet travels by itself from its publisher to its coordinator,
// and nothing of it may change on the way.
func TestASignedStudyReadsBack(t *testing.T) {
	signed := SignStudy(study(), publisher())
	text := signed.Marshal()
	for _, end := range []string{"", "\n"} {
		if read, err := ParseSignedStudy(append(bytes.Clone(text), end...)); err != nil || !cmp.Equal(signed, read) {
			t.Fatalf("%v\n%s", err, cmp.Diff(signed, read))
		}
	}
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		if _, err := ParseSignedStudy(bad); err == nil {
			t.Fatalf("read with another byte at %d", i)
		}
	}
	for name, other := range map[string][]byte{"a round": second(t, signed).Marshal(), "a plan": Sign(study().Plan, publisher()).Marshal(), "more after it": append(bytes.Clone(text), '}'), "half": text[:len(text)/2], "nothing": nil} {
		if _, err := ParseSignedStudy(other); err == nil {
			t.Errorf("%s is read as a study", name)
		}
	}
	if _, err := ParseSigned(text); err == nil {
		t.Error("a study without a round is read as a plan")
	}
}

func TestARoundIsGolden(t *testing.T) {
	signed := second(t, SignStudy(study(), publisher()))
	want := append(signed.Marshal(), '\n')
	golden(t, "round.json", want)
	read, err := ParseSigned(want)
	if err != nil || !cmp.Equal(signed, read) {
		t.Fatalf("%v\n%s", err, cmp.Diff(signed, read))
	}
	if err := read.Verify(Trust(signed.Publisher)); err != nil {
		t.Error(err)
	}
	u, err := SplitSigned(signed.Marshal())
	if err != nil || u.Hash() != signed.Plan.Hash() || u.Verify(Trust(signed.Publisher)) != nil {
		t.Errorf("%v, %x", err, u.Hash())
	}
	if head, err := ReadHead(want[:MaxHeadBytes]); err != nil || !cmp.Equal(head.Signers(), signed.Signers()) {
		t.Errorf("head: %v", err)
	}
	if s, ok := read.InStudy(); !ok || s.Study.Name() != read.Plan.Round.Study {
		t.Error("the study of a round is another one")
	}
}

// Whoever signs a round that others have signed signs its study.
func TestARoundThatSeveralSign(t *testing.T) {
	first := second(t, SignStudy(study(), publisher()))
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
	both, err := first.Sign(other)
	if err != nil {
		t.Fatal(err)
	}
	trusted := Trust(both.Signers()...)
	trusted.Least = 2
	if err := both.Verify(trusted); err != nil || len(both.Signers()) != 2 || both.Plan.Name() != first.Plan.Name() {
		t.Errorf("%v, %q", err, both.Signers())
	}
	if read, err := ParseSigned(both.Marshal()); err != nil || !cmp.Equal(read, both) {
		t.Error(err)
	}
	if err := first.Verify(trusted); err == nil {
		t.Error("one signature is taken for two")
	}
}

// What a coordinator may not change, nobody takes.
func TestARoundIsItsStudysButForStateNumberAndTimes(t *testing.T) {
	good := second(t, SignStudy(study(), publisher()))
	trusted := Trust(good.Publisher)
	again := func(s *Signed) { // the coordinator signs what it likes
		s.Coordinated = sign(rounding, s.Plan.Canonical(), coordinator()).Signature
	}
	for name, c := range map[string]struct {
		spoil func(*Signed)
		want  string
	}{
		"another question":        {func(s *Signed) { s.Plan.Title += "?"; again(s) }, "more than number, state and times"},
		"a larger budget":         {func(s *Signed) { s.Plan.Budget.Epsilon *= 2; again(s) }, "more than number, state and times"},
		"a smaller crowd":         {func(s *Signed) { s.Plan.Crowd.Minimum--; again(s) }, "more than number, state and times"},
		"other hops":              {func(s *Signed) { s.Plan.Analyzer.Key += "A"; again(s) }, "more than number, state and times"},
		"one round more":          {func(s *Signed) { s.Plan.Round = &Round{s.Plan.Round.Study, 4}; again(s) }, "round 4"},
		"round 0":                 {func(s *Signed) { s.Plan.Round = &Round{s.Plan.Round.Study, 0}; again(s) }, "round 0"},
		"of another study":        {func(s *Signed) { s.Plan.Round = &Round{someState, 2}; again(s) }, "more than number, state and times"},
		"after the study":         {func(s *Signed) { s.Plan.Times.Closes = s.Study.Times.Closes.Add(time.Second); again(s) }, "within the times"},
		"without an end":          {func(s *Signed) { s.Plan.Times.Closes = time.Time{}; again(s) }, "within the times"},
		"another state, unsigned": {func(s *Signed) { s.Plan.State = StateName(nil) }, "does not belong to the round"},
		"without its study":       {func(s *Signed) { s.Study = nil }, "without the study"},
		"signed as a plan":        {func(s *Signed) { *s = Sign(s.Plan, publisher()) }, "without the study"},
		"a changed study": {func(s *Signed) {
			changed := *s.Study
			changed.Rounds = 9
			s.Study = &changed
		}, "does not belong to the study"},
		"another coordinator": {func(s *Signed) { s.Coordinated = sign(rounding, s.Plan.Canonical(), publisher()).Signature }, "does not belong to the round"},
		"a plan with a study": {func(s *Signed) { s.Plan.Round = nil }, "no round"},
	} {
		s := good
		c.spoil(&s)
		if err := s.Verify(trusted); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not mention %q", name, err, c.want)
		}
		if s.Plan.Round == nil || s.Study == nil && s.Coordinated != nil {
			continue // has no form
		}
		if read, err := ParseSigned(s.Marshal()); err == nil && read.Verify(trusted) == nil {
			t.Errorf("%s: was read", name)
		}
	}
	// A publisher's key vouches for the whole study.
	until := Publishers{Keys: []PublisherKey{{Key: good.Publisher, Ends: good.Study.Times.Closes.Add(-time.Second)}}}
	if err := good.Verify(until); err == nil {
		t.Error("a key that ends before the study vouches for a round that closes before")
	}
	if _, err := SignStudy(study(), publisher()).Round(1, "", good.Plan.Times, publisher()); err == nil {
		t.Error("somebody else than the coordinator signs rounds")
	}
}

func TestAStateIsCheckedAsItComes(t *testing.T) {
	state := bytes.Repeat([]byte("state"), 1000)
	for want, from := range map[string]io.Reader{
		"":                   bytes.NewReader(state),
		"another state":      strings.NewReader("another"),
		"4999 bytes":         bytes.NewReader(state[:4999]),
		"more than 67108864": io.MultiReader(bytes.NewReader(state), endless{}),
		"unexpected EOF":     io.MultiReader(bytes.NewReader(state), iotest.ErrReader(io.ErrUnexpectedEOF)),
	} {
		var to bytes.Buffer
		err := CopyState(&to, from, StateName(state))
		if want == "" && (err != nil || !bytes.Equal(to.Bytes(), state)) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestStudiesThatAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(*Study){
		"version is":    func(s *Study) { s.Version = 9 },
		"rounds must":   func(s *Study) { s.Rounds = 0 },
		"takes must":    func(s *Study) { s.Takes = "some" },
		"withheld must": func(s *Study) { s.Withheld = "" },
		"merged needs":  func(s *Study) { s.Merged, s.Takes = true, TakesAll },
		"coordinator":   func(s *Study) { s.Coordinator = "x" },
		"has a round":   func(s *Study) { s.Plan.State = someState },
		"times.opens":   func(s *Study) { s.Times.Closes = s.Times.Opens },
		"title":         func(s *Study) { s.Plan.Title = "" },
	} {
		s := study()
		spoil(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention %q", err, want)
		}
	}
	if err := study().Validate(); err != nil {
		t.Error(err)
	}
}

func TestParseSignedRefusesEveryOtherFormOfARound(t *testing.T) {
	good := string(second(t, SignStudy(study(), publisher())).Marshal())
	for name, text := range map[string]string{
		"a blank":               strings.Replace(good, `"round":{"number"`, `"round": {"number"`, 1),
		"another name":          strings.Replace(good, `"plan":"`, `"plan":"0`, 1),
		"no round":              good[:strings.LastIndex(good, roundBegins)] + "}",
		"two rounds":            strings.TrimSuffix(good, "}") + good[strings.LastIndex(good, roundBegins):],
		"another order of keys": strings.Replace(good, `"rounds":3,"takes":"one"`, `"takes":"one","rounds":3`, 1),
	} {
		if _, err := ParseSigned([]byte(text)); err == nil || text == good {
			t.Errorf("%s: was read", name)
		}
	}
}
