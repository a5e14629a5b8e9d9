package heavy

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/datasets"
)

// listed is what strings people may hold, and how often. The most frequent is the first.
type listed struct {
	alphabet string // "" for any text
	longest  int    // of alphabet characters, or of bytes
	texts    []string
	weights  []float64
}

// Populations names those that are known: words of English text by their frequency, and others made up of such words or
// syllables, held as by Zipf's law.
func Populations() []string {
	return []string{"words", "long-words", "versions", "hosts", "names", "stacks", "models", "queries"}
}

// letters are those of words.
const letters = "abcdefghijklmnopqrstuvwxyz"

// population returns the one of a name. Words come from a folder of data sets.
func population(name, data string) (listed, error) {
	const forMaking = 0x717
	r := seeded.New(7, forMaking)
	switch name {
	case "versions":
		return zipf(letters+"0123456789.-", 16, 30_000, 1.1, func() string { return version(r) }), nil
	case "names":
		return zipf("", 24, 25_000, 1, func() string { return personal(r) }), nil
	case "models":
		return zipf(letters+"0123456789-, ", 16, 20_000, 1.1, func() string { return model(r) }), nil
	case "words", "long-words", "hosts", "stacks", "queries":
	default:
		return listed{}, fmt.Errorf("no population is called %q: choose one of %s", name, strings.Join(Populations(), ", "))
	}
	if data == "" {
		return listed{}, errors.New("words come from the folder of data sets: give --data DIR or CONFETTI_DATA, or ask for versions, names or models")
	}
	all, err := datasets.ReadWordCounts(filepath.Join(data, "heavytail", "en_words_counts.tsv.gz"))
	if err != nil {
		return listed{}, err
	}
	within := func(of string, low, high, most int) (p listed) {
		p.alphabet, p.longest = of, high
		for i, w := range all.Names {
			if len(p.texts) < most && len(w) >= low && len(w) <= high && strings.Trim(w, of) == "" {
				p.texts, p.weights = append(p.texts, w), append(p.weights, float64(all.Holders[i]))
			}
		}
		return p
	}
	common := within(letters, 3, 9, 4000).texts
	pick := func() string { return common[r.IntN(len(common))] }
	switch name {
	case "words":
		return within(letters, 3, 8, 60_000), nil
	case "long-words":
		return within(letters+"0123456789'-", 5, 16, 60_000), nil
	case "queries":
		return zipf(letters+" ", 20, 50_000, 1.05, func() string { return query(r, pick) }), nil
	case "hosts":
		return zipf(letters+"0123456789.-", 24, 60_000, 1.05, func() string { return host(r, pick) }), nil
	}
	return zipf(letters+"0123456789.:!+_", 32, 40_000, 1.1, func() string { return frame(r, pick) }), nil
}

// zipf returns so many different strings that fit, the i-th of weight (i + 2.7)^-s.
func zipf(alphabet string, longest, number int, s float64, make func() string) listed {
	p, seen := listed{alphabet: alphabet, longest: longest}, map[string]bool{}
	for len(p.texts) < number {
		text := make()
		if seen[text] || len(text) > longest {
			continue
		}
		seen[text] = true
		p.weights = append(p.weights, math.Pow(float64(len(p.texts))+2.7, -s))
		p.texts = append(p.texts, text)
	}
	return p
}

// oneOf returns one of some words.
func oneOf(r *rand.Rand, words string) string {
	all := strings.Fields(words)
	return all[r.IntN(len(all))]
}

// version returns one such as 10.0.22621.1413, 118.0.5993.70 or 3.11.4-rc2.
func version(r *rand.Rand) (v string) {
	switch kind := r.Float64(); {
	case kind < 0.5:
		v = fmt.Sprintf("%s.%d.%d", oneOf(r, "1 2 3 4 5 8 9 10 11 12 13 14 17"), r.IntN(13), r.IntN(41))
	case kind < 0.8:
		v = fmt.Sprintf("10.0.%s.%d", oneOf(r, "19041 19042 19044 19045 22000 22621 22631 26100"), 1+r.IntN(4400))
	default:
		v = fmt.Sprintf("%d.0.%d.%d", 80+r.IntN(52), 3000+r.IntN(3901), 20+r.IntN(201))
	}
	if r.Float64() < 0.12 {
		v += fmt.Sprintf("%s%d", oneOf(r, "-b -rc"), 1+r.IntN(9))
	}
	return v
}

// model returns the name of a device, such as sm-a520f, pixel 7 pro or phone14,2.
func model(r *rand.Rand) string {
	switch kind := r.Float64(); {
	case kind < 0.45:
		return fmt.Sprintf("sm-%s%d%s", oneOf(r, "a f g j m n s t x"), 100+r.IntN(900), oneOf(r, "b b f f u n fn w"))
	case kind < 0.6:
		return fmt.Sprintf("%s%d,%d", oneOf(r, "phone phone pad watch"), 8+r.IntN(10), 1+r.IntN(9))
	case kind < 0.8:
		return fmt.Sprintf("%s %d%s", oneOf(r, "pixel note moto edge nova find"), 1+r.IntN(60), []string{"", "", " pro", " lite", "a", " ultra"}[r.IntN(6)])
	}
	return fmt.Sprintf("%s-%s%d", oneOf(r, "cph rmx vog lya ane mar pot ele"), oneOf(r, "l lx al tl"), 1+r.IntN(2999))
}

// query returns words that somebody looks for.
func query(r *rand.Rand, word func() string) string {
	text := word()
	for range 1 + r.IntN(2) {
		text += " " + word()
	}
	if r.Float64() < 0.3 {
		text = oneOf(r, "how what buy free best near cheap") + " " + text
	}
	return text
}

// host returns the name of one, of one word or two.
func host(r *rand.Rand, word func() string) string {
	name := word()
	switch kind := r.Float64(); {
	case kind < 0.35:
	case kind < 0.8:
		name += word()
	case kind < 0.92:
		name += "-" + word()
	default:
		name += fmt.Sprint(1 + r.IntN(365))
	}
	first := ""
	if at := r.IntN(100); at >= 45 {
		first = oneOf(r, strings.Repeat("www. ", 30)+strings.Repeat("m. ", 4)+strings.Repeat("api. cdn. mail. ", 3)+strings.Repeat("news. shop. docs. static. ", 2))
	}
	last := oneOf(r, strings.Repeat("com ", 40)+strings.Repeat("org net ", 8)+strings.Repeat("de ", 6)+strings.Repeat("co.uk ", 5)+strings.Repeat("io fr ru ", 4)+strings.Repeat("com.br edu ", 3)+strings.Repeat("gov info app ", 2))
	return first + name + "." + last
}

// scripts are syllables or characters of names, with how many make one and of how many in a hundred people.
var scripts = []struct {
	of          string
	least, most int
	share       float64
}{
	{"ан ол ма ек ив са ми ра ди на ле кс та ва ни ро", 2, 3, 0.15},
	{"αν γι μα ελ κω στ νι ρα πα λο ος ία", 2, 4, 0.08},
	{"王 李 张 刘 陈 杨 赵 黄 周 吴 徐 孙 胡 朱 高 林 何 郭 马 罗 明 华 伟 芳 娜 敏 静 丽 强 磊 军 洋 勇 艳 杰 娟 涛 超", 2, 3, 0.18},
	{"مح مد عل يا فا طم حس ين نو ري كر يم", 2, 4, 0.08},
	{"रा मे सी ता दे वी का मि ला न", 2, 3, 0.06},
	{"an el jo ma ré sö ñu bi ka li ta va né mü še or is da ro le ni ça ke na", 2, 4, 0.45},
}

// personal returns a name in one of six scripts.
func personal(r *rand.Rand) string {
	at := r.Float64()
	i := slices.IndexFunc(scripts, func(s struct {
		of          string
		least, most int
		share       float64
	}) bool {
		at -= s.share
		return at < 0
	})
	s := scripts[max(0, i)]
	name := ""
	for range s.least + r.IntN(s.most-s.least+1) {
		name += oneOf(r, s.of)
	}
	if i == len(scripts)-1 && r.Float64() < 0.4 {
		name += " " + oneOf(r, s.of) + oneOf(r, s.of)
	}
	return name
}

// frame returns a line of a stack.
func frame(r *rand.Rand, word func() string) string {
	cut := func(w string, n int) string { return w[:min(n, len(w))] }
	return oneOf(r, "com.app.ui. com.app.net. android.view. java.util. libc.so! libapp.so! kernel32! v8:: std::") + cut(word(), 7) +
		[]string{".", "_", ""}[r.IntN(3)] + oneOf(r, "get set on do run parse read init") + cut(word(), 6) + oneOf(r, ": +0x") + fmt.Sprint(1+r.IntN(999))
}
