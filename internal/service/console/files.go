package console

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/table/columnar"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// releaseTypes are the files of a release by their formats at the analyzer.
var releaseTypes = map[string]string{
	"json": "application/json", "html": "text/html; charset=utf-8", release.CountsFile: "text/csv; charset=utf-8; header=present", countsColumns: "application/vnd.apache.parquet",
	relay.ReceiptsFile: "application/json", release.AuditFile: "application/json",
	"study.json": "application/json", "study.html": "text/html; charset=utf-8", relay.EvidenceFile: "text/plain; charset=utf-8", relay.SignatureFile: "text/plain; charset=utf-8",
}

// A page of a release has its own style and drawings and needs nothing else.
const releasePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// countsColumns is the table of counts as Parquet, which the console makes of the one that is published.
const countsColumns = "counts.parquet"

// offered are the files that a release has, and of a table of counts the same as Parquet.
func offered(formats []string) []string {
	at := slices.Index(formats, release.CountsFile)
	if at < 0 {
		return formats
	}
	return slices.Insert(slices.Clone(formats), at+1, countsColumns)
}

// asParquet is a table in columns.
func asParquet(file string, text []byte) ([]byte, error) {
	if len(text) > maxSheet {
		return nil, fmt.Errorf("the table has more than %d bytes, which are not made into Parquet here: confetti release fetch does", maxSheet)
	}
	var b bytes.Buffer
	err := columnar.Write(&b, file, text)
	return b.Bytes(), err
}

// releaseFile hands on a file of a release.
func (c *Console) releaseFile(w http.ResponseWriter, r *http.Request) error {
	format := r.PathValue("file")
	switch format {
	case verify.StateFile:
		return c.stateFile(w, r)
	case relay.WithdrawalFile:
		return c.withdrawalFile(w, r)
	}
	if releaseTypes[format] == "" {
		return errNoPage
	}
	of := format
	if of == countsColumns {
		of = release.CountsFile
	}
	text, err := c.analyzer.file(r.Context(), r.PathValue("plan"), of)
	if err == nil && of != format {
		text, err = asParquet(of, text)
	}
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", releaseTypes[format])
	shown := strings.HasSuffix(format, "html")
	if shown {
		h.Set("Content-Security-Policy", releasePolicy)
		p, err := c.analyzer.find(r.Context(), r.PathValue("plan"))
		if err != nil {
			return err
		}
		rounds, err := c.analyzer.withdrawn(r.Context(), p)
		if err != nil {
			return err
		}
		// The page cannot say that it is withdrawn: it is handed out, and not shown.
		shown = p.Withdrawal == nil && (format == "html" || len(rounds) == 0)
	}
	if !shown {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(format)}))
	}
	_, err = w.Write(text)
	return err
}

// withdrawalFile hands on the withdrawal of a plan, as its publisher signed it.
func (c *Console) withdrawalFile(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.ParsePlanName(r.PathValue("plan"))
	if err != nil {
		return errNoPage
	}
	text, err := c.analyzer.get(r.Context(), c.o.Analyzer+wire.WithdrawalPath(hash))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(text)
	return err
}

// stateFile hands on the public state that a plan names.
func (c *Console) stateFile(w http.ResponseWriter, r *http.Request) error {
	one, err := c.analyzer.plan(r.Context(), r.PathValue("plan"))
	if err != nil {
		return err
	}
	hash, err := wire.ParsePlanName(one.signed.Plan.State) // the same form: 64 hex digits
	if err != nil {
		return errNoPage
	}
	text, err := c.analyzer.get(r.Context(), c.o.Analyzer+wire.StatePath(hash))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, err = w.Write(text)
	return err
}
