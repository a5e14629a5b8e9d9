package page

import (
	"bytes"
	"testing"
	"time"
)

// A page, and the JSON that it is drawn from, depend on the release alone: not on where and in which
// language the program runs, nor on when, nor on the order of a map.
func TestAPageIsTheSameEverywhere(t *testing.T) {
	here := time.Local
	t.Cleanup(func() { time.Local = here })
	var text, html []byte
	for _, place := range []struct {
		zone     *time.Location
		language string
	}{
		{time.UTC, "C"}, {time.FixedZone("Asia/Kolkata", 19800), "hi_IN.UTF-8"}, {time.FixedZone("Pacific/Marquesas", -34200), "fr_FR.UTF-8"},
	} {
		for _, name := range []string{"LANG", "LC_ALL", "LANGUAGE"} {
			t.Setenv(name, place.language)
		}
		t.Setenv("TZ", place.zone.String())
		time.Local = place.zone
		for range 3 {
			r := sample(t)
			r.Created = r.Created.In(place.zone)
			var j, h bytes.Buffer
			if err := r.WriteJSON(&j); err != nil {
				t.Fatal(err)
			}
			if err := WriteHTML(&h, r); err != nil {
				t.Fatal(err)
			}
			if text == nil {
				text, html = j.Bytes(), h.Bytes()
			}
			if !bytes.Equal(j.Bytes(), text) || !bytes.Equal(h.Bytes(), html) {
				t.Errorf("in %s and %s the release is written otherwise", place.zone, place.language)
			}
		}
	}
}
