package lsa

import "strings"

// Words say which words of texts count.
type Words struct {
	Common   float64 // the share of public texts above which one does not: it tells little of a topic, in any language
	Pairs    bool    // two that follow each other in several public texts count beside each by itself
	Singular bool    // English words count without the s of a plural
}

// Pairing stands between two words that count as one.
const Pairing = " "

// Of returns the words of a text, and with pairs after them each with the next.
func (c Words) Of(text string) []string {
	words := Split(text)
	if c.Singular {
		for i, w := range words {
			words[i] = singular(w)
		}
	}
	if !c.Pairs {
		return words
	}
	out := words[:len(words):len(words)]
	for i := 1; i < len(words); i++ {
		out = append(out, words[i-1]+Pairing+words[i])
	}
	return out
}

// singular returns an English word without the s of a plural, by the rules of Harman 1991 ("How
// effective is suffixing?"): -ies to -y but after e and a, -es to -e but after a, e and o, and else
// -s falls but after u and s.
func singular(word string) string {
	switch {
	case strings.HasSuffix(word, "ies") && !hasSuffix(word, "eies", "aies"):
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "es") && !hasSuffix(word, "aes", "ees", "oes"):
		return word[:len(word)-1]
	case strings.HasSuffix(word, "s") && !hasSuffix(word, "us", "ss"):
		return word[:len(word)-1]
	}
	return word
}

func hasSuffix(word string, any ...string) bool {
	for _, s := range any {
		if strings.HasSuffix(word, s) {
			return true
		}
	}
	return false
}
