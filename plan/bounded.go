package plan

import (
	"errors"
	"fmt"
	"slices"
)

const (
	// maxElements bounds the elements of a plan's JSON arrays that are not names in
	// one of nameLists. A plan of every instance, hop and attribute that the limits
	// allow has fewer.
	maxElements = MaxInstances*(MaxHops+1) + MaxAttributes
	maxDepth    = 32 // of arrays and objects in one another; a plan has fewer than 10
)

// nameLists are the keys of the lists whose length the limits leave open: names of
// crowds, of values and of classes.
var nameLists = []string{"names", "values", "classes"}

// bounded refuses a text whose decoding would take many times its length: an array
// element of two bytes becomes a structure of more than a hundred. It looks at the
// lengths of arrays alone, without decoding, and at nothing else of the form.
func bounded(text []byte) error {
	type container struct{ array, names bool }
	var stack []container
	elements, key, name := 0, "", false // name: the value read last is a string
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			start := i + 1
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			key, name = "", true
			if i < len(text) && i-start < 16 {
				key = string(text[start:i])
			}
		case '[', '{':
			if len(stack) == maxDepth {
				return fmt.Errorf("plan: objects and lists stand deeper than %d in one another: no plan has so many", maxDepth)
			}
			stack = append(stack, container{c == '[', c == '[' && slices.Contains(nameLists, key)})
			name = false
		case ',', ']', '}':
			if len(stack) == 0 {
				return errors.New("plan: not a plan in its canonical form: text goes on after the brace that closes it")
			}
			if in := stack[len(stack)-1]; in.array && !(in.names && name) {
				elements++
			}
			key = ""
			if c != ',' {
				stack, name = stack[:len(stack)-1], false
			}
		case ':', ' ', '\t', '\r', '\n':
		default:
			name = false
		}
		if elements > maxElements {
			return fmt.Errorf("plan: lists hold more than %d elements that are not names of %v: no plan within the limits has so many", maxElements, nameLists)
		}
	}
	return nil
}
