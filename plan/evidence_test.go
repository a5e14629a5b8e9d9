package plan

import (
	"bytes"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// The example of c2sp.org/tlog-proof has its form; where it leaves out bytes ours stand.
const proofText = "c2sp.org/tlog-proof@v1\nindex 73894\n" +
	"gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=\n" +
	"B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=\n\n" +
	"example.com/fancylog\n109482\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n\n" +
	"— example.com/fancylog hI2DJwAA\n"

func TestEvidenceHasOneForm(t *testing.T) {
	e, err := ParseEvidence([]byte(proofText))
	if err != nil || e.Index != 73894 || len(e.Proof) != 2 || !strings.HasPrefix(e.Checkpoint, "example.com/fancylog\n109482\n") {
		t.Fatal(e, err)
	}
	if string(e.Marshal()) != proofText {
		t.Errorf("written again: %s", e.Marshal())
	}
	for what, bad := range map[string]string{
		"another version":       strings.Replace(proofText, "@v1", "@v2", 1),
		"extra data":            strings.Replace(proofText, "index", "extra AAAA\nindex", 1),
		"a number of two forms": strings.Replace(proofText, "73894", "073894", 1),
		"a negative index":      strings.Replace(proofText, "73894", "-1", 1),
		"a short hash":          strings.Replace(proofText, "gSKy", "", 1),
		"no checkpoint":         proofText[:strings.Index(proofText, "\n\n")],
		"bits that are unused":  strings.Replace(proofText, "hI2DJwAA", "hI2DJwB=", 1),
		"too long":              proofText + strings.Repeat("— a AAAA\n", 2000),
		"too many hashes":       strings.Replace(proofText, "gSKyXo", strings.Repeat("B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=\n", 65)+"gSKyXo", 1),
	} {
		if _, err := ParseEvidence([]byte(bad)); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
}

func TestPublishersNameALog(t *testing.T) {
	const key = "ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w\n"
	const log = "log PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\n" // of the documentation of x/mod/sumdb/note
	const witness = "witness EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop\n"
	for text, ok := range map[string]bool{
		log + witness + key:                   true,
		key + log:                             true,
		log + witness + "witnesses 1\n" + key: true,
		log + witness + "witnesses 2\n" + key: false,
		witness + log + key:                   false,
		log + log + key:                       false,
		log + witness + witness + key:         false,
		log + strings.Replace(log, "log ", "witness ", 1) + key: false,
		"witnesses 1\n" + key:                              false,
		"log nonsense\n" + key:                             false,
		log + "witness nonsense\n" + key:                   false,
		log + witness + "witnesses 01\n" + key:             false,
		log + witness + "witnesses 1\nwitnesses 1\n" + key: false,
	} {
		p, err := ParsePublishers([]byte(publishersFormat + "\n" + text))
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil {
			continue
		}
		again, err := ParsePublishers(p.Marshal())
		if err != nil || !bytes.Equal(again.Marshal(), p.Marshal()) || again.Log.Key != p.Log.Key || again.Log.Cosigned() != p.Log.Cosigned() {
			t.Errorf("written and read again: %+v, %v", again, err)
		}
	}
}

func FuzzEvidence(f *testing.F) {
	f.Add([]byte(proofText))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e *Evidence
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text), func() { e, err = ParseEvidence(text) })
		if err == nil && !bytes.Equal(e.Marshal(), text) {
			t.Error("two texts of one evidence")
		}
	})
}
