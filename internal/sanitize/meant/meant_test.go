package meant

import "testing"

func TestNearestIsWhatWasMeant(t *testing.T) {
	columns := []string{"id", "class", "drink", "snacks", "spend", "age", "likes_tea", "likes_ten"}
	for word, want := range map[string]string{
		"drinks": "drink", "Drink": "drink", "dirnk": "drink", "snaks": "snacks", "clas": "class", "likes_te": "", "spent": "spend",
		"x": "", "ad": "", "": "", "quantity": "", "ages": "age",
	} {
		if got := nearest(word, columns); got != want {
			t.Errorf("by %q is meant %q, want %q", word, got, want)
		}
	}
	if d := distance("kitten", "sitting"); d != 3 {
		t.Errorf("kitten and sitting are %d apart", d)
	}
	if got := DidYouMean("drinks", columns); got != ` (did you mean "drink"?)` {
		t.Error(got)
	}
}
