// Command p has a function, a method and a type that nothing reaches.
package main

import (
	"fmt"
	"sort"
)

type dog struct{}

func (dog) String() string { return bark() } // fmt asks for it
func (dog) Wag()           { dead() }

type cat struct{}

func (cat) String() string { return "" }

type list []int

func (l list) Len() int           { return len(l) }
func (l list) Less(i, j int) bool { return l[i] < l[j] }
func (l list) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

type pair[T any] struct{ a T }

func (p pair[T]) get() T { return p.a }
func (p pair[T]) put(T)  {}

func bark() string { return "" }
func dead()        {}
func value() int   { return 1 }

var kept = value

func main() {
	fmt.Println(dog{}, kept(), pair[int]{}.get())
	sort.Sort(list{2, 1})
}
