package lsa

import "strings"

// singular is an English word without the s of a plural, by the rules of Harman 1991 ("How
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
