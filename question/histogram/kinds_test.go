package histogram

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/confetti-dp/confetti/plan"
)

// asked has an example of each kind of attribute, with a field of a table that answers it.
var asked = map[string]struct {
	attribute plan.Attribute
	field     any
}{
	"categories": {plan.Attribute{Values: []string{"tea", "beer"}, Others: true}, "beer"},
	"set":        {plan.Attribute{Size: 4, Most: 2}, []any{1.0, 3.0}},
	"buckets":    {plan.Attribute{Low: 0, High: 8, Cells: 4}, 7.5},
	"grid":       {plan.Attribute{X: &plan.Axis{Low: 0, High: 1, Cells: 2}, Y: &plan.Axis{Low: 0, High: 1, Cells: 3}}, []any{0.5, 0.75}},
}

// Whatever a plan may name as a kind of attribute is valid, has as many cells for those who bound plans as for
// devices, each of a name of its own, and is answered by a row of a table.
func TestEveryKindOfAttribute(t *testing.T) {
	for name := range asked {
		found := false
		for _, kind := range plan.AttributeKinds {
			found = found || kind == name
		}
		if !found {
			t.Errorf("plans may not name %s", name)
		}
	}
	for _, kind := range plan.AttributeKinds {
		one, has := asked[kind]
		if !has {
			t.Errorf("%s has no example here", kind)
			continue
		}
		a := one.attribute
		a.Name, a.Kind = "a", kind
		var ps plan.Problems
		if validateAttribute(a, false, &ps, "a"); len(ps) > 0 {
			t.Errorf("%s: %v", kind, ps)
		}
		made, err := newAttribute(a)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if n := made.cells.Size(); n != a.Domain() || n < 2 {
			t.Errorf("%s: devices know %d cells, and plans %d", kind, n, a.Domain())
		}
		names := map[string]bool{}
		for cell := range made.cells.Size() {
			names[made.cells.Name(cell)] = true
		}
		if len(names) != made.cells.Size() {
			t.Errorf("%s: %d names of %d cells", kind, len(names), made.cells.Size())
		}
		value, err := answer(a, one.field)
		if err != nil {
			t.Errorf("%s: a field of a table: %v", kind, err)
			continue
		}
		held, err := made.encode(value)
		if err != nil || len(held) == 0 || len(held) > a.Items() || int(held[len(held)-1]) >= made.cells.Size() {
			t.Errorf("%s: %v is in the cells %v, %v", kind, one.field, held, err)
		}
	}
}

// Every kind has golden cells, which another language has computed too.
func TestEveryKindHasVectors(t *testing.T) {
	text, err := os.ReadFile("../../internal/dp/encode/testdata/vectors/v1/cells.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Cases []struct{ Kind string } }
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, c := range v.Cases {
		n[c.Kind]++
	}
	for _, kind := range plan.AttributeKinds {
		if n[kind] < 3 {
			t.Errorf("%s has %d golden values", kind, n[kind])
		}
	}
}
