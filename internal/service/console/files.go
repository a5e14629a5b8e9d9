package console

import (
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/table/columnar"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// releaseTypes are the files of a release by their formats at the analyzer.
var releaseTypes = map[string]string{
	"json": "application/json", "html": "text/html; charset=utf-8", sheets.CountsFile: "text/csv; charset=utf-8; header=present", countsColumns: "application/vnd.apache.parquet",
	relay.ReceiptsFile: "application/json", release.AuditFile: "application/json",
	"study.json": "application/json", "study.html": "text/html; charset=utf-8", relay.EvidenceFile: "text/plain; charset=utf-8", relay.SignatureFile: "text/plain; charset=utf-8",
}

// A page of a release has its own style and drawings and needs nothing else.
const releasePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// countsColumns is the table of counts as Parquet, which the console makes of the one that is published.
const countsColumns = "counts.parquet"

// offered returns the files that a release has, and of a table of counts the same as Parquet.
func offered(formats []string) []string {
	at := slices.Index(formats, sheets.CountsFile)
	if at < 0 {
		return formats
	}
	return slices.Insert(slices.Clone(formats), at+1, countsColumns)
}

// handing is an answer that is handed on as it comes; head writes its headers before the first byte.
type handing struct {
	http.ResponseWriter
	head  func(http.Header)
	begun bool
}

func (h *handing) Write(b []byte) (int, error) {
	if !h.begun {
		h.begun = true
		h.head(h.Header())
	}
	return h.ResponseWriter.Write(b)
}

// handOn answers by what is at an address of the analyzer, made into something else by change, while it
// comes: none of it is kept. An answer that breaks off is broken off here.
func (c *Console) handOn(w http.ResponseWriter, r *http.Request, at string, head func(http.Header), change func(io.Writer, io.Reader) error) error {
	if serve.EnterLong(r) != nil {
		w.Header().Set("Retry-After", "1")
		return errBusy
	}
	out := &handing{ResponseWriter: w, head: head}
	err := c.analyzer.read(r.Context(), at, func(from io.Reader) error { return change(out, from) })
	switch {
	case err != nil && out.begun:
		panic(http.ErrAbortHandler) // or half of it would be taken for the whole
	case err == nil && !out.begun: // it is empty
		head(w.Header())
	}
	return err
}

// as hands on what comes as it is.
func as(w io.Writer, from io.Reader) error {
	_, err := io.Copy(w, from)
	return err
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
	of, change := format, as
	if of == countsColumns {
		of = sheets.CountsFile
		change = func(w io.Writer, from io.Reader) error { return columnar.Write(w, of, from) }
	}
	at, err := c.analyzer.path(r.PathValue("plan"), of)
	if err != nil {
		return err
	}
	shown := strings.HasSuffix(format, "html")
	if shown {
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
	return c.handOn(w, r, at, func(h http.Header) {
		h.Set("Content-Type", releaseTypes[format])
		if strings.HasSuffix(format, "html") {
			h.Set("Content-Security-Policy", releasePolicy)
		}
		if !shown {
			h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(format)}))
		}
	}, change)
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
	return c.handOn(w, r, c.o.Analyzer+wire.StatePath(hash), func(h http.Header) { h.Set("Content-Type", "application/octet-stream") }, as)
}
