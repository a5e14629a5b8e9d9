package strictjson

import "testing"

func TestJSONIsOneDocumentOfKnownMembers(t *testing.T) {
	type form struct{ A int }
	for text, good := range map[string]bool{
		`{"A":1}`: true, " {\"A\":1}\n ": true,
		``: false, `{"A":1`: false, `{"A":1}{`: false, `{"A":1}}`: false, `{"A":1}]`: false, `{"A":1} {"A":2}`: false, `{"A":1,"B":2}`: false, `{"A":"1"}`: false,
	} {
		var f form
		err := JSON([]byte(text), &f)
		if (err == nil) != good || good && f.A != 1 {
			t.Errorf("%q: %+v, %v", text, f, err)
		}
	}
}
