package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/sanitize"
)

// Status is what a service tells its operator, on its status page and, as the
// same JSON, to `confetti top`. Texts are for people and name no person; where a
// plan keeps numbers private they are not in it. Beside the texts stands Data, the same
// with types for programs: numbers are numbers, plans have their whole names, times
// are RFC 3339, and instances, hops and crowds are counted from 0.
type Status struct {
	Service string    `json:"service"`
	Since   time.Time `json:"since"` // when the service started
	Now     time.Time `json:"now"`
	// Draining is since when the service takes no new work and finishes what it has.
	Draining time.Time `json:"draining,omitzero"`
	Alarms   []string  `json:"alarms,omitempty"` // what the operator should look after
	// Acknowledged are alarms that are still there, and that an operator has seen.
	Acknowledged []Acknowledged `json:"acknowledged,omitempty"`
	Facts        []Fact         `json:"facts,omitempty"`
	Gauges       []Gauge        `json:"gauges,omitempty"`
	Tables       []Table        `json:"tables,omitempty"`
	Links        []Link         `json:"links,omitempty"`
}

// Link is a page of the service that needs no credential, such as a release.
type Link struct {
	Text string `json:"text"`
	Path string `json:"path"`
}

// Fact is one named thing.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Data  any    `json:"data,omitempty"`
}

// Gauge is how full something is, such as a crowd on its way to its minimum.
type Gauge struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // in [0, 1]
	Text  string  `json:"text"`  // the same in words
	Data  any     `json:"data,omitempty"`
}

// Table is rows of one kind.
type Table struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Data    any        `json:"data,omitempty"`
}

// Count returns a number with the noun that goes with it, one or many.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

//go:embed status.html
var statusHTML string

//go:embed status.css
var statusCSS string

var statusTemplate = template.Must(template.New("status").Funcs(template.FuncMap{
	"time":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"plain": sanitize.Text,
	"style": func() template.CSS { return template.CSS(statusCSS) },
}).Parse(statusHTML))

// statusPolicy lets the page have its own style and nothing else.
var statusPolicy = func() string {
	sum := sha256.Sum256([]byte(statusCSS))
	return "default-src 'none'; frame-ancestors 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

func (s *Server) status(ctx context.Context) Status {
	var st Status
	if s.config.Status != nil {
		st = *s.config.Status(ctx)
	}
	st.Service, st.Since, st.Now = s.config.Name, s.started.UTC().Truncate(time.Second), time.Now().UTC().Truncate(time.Second)
	st.Draining = s.drained()
	s.about(&st)
	if s.config.Ready != nil {
		if err := s.config.Ready(ctx); err != nil {
			st.Alarms = append(st.Alarms, "not ready: "+err.Error())
		}
	}
	s.acknowledged.sort(&st)
	return st
}

func (s *Server) statusJSON(w http.ResponseWriter, r *http.Request) error {
	return WriteJSON(w, s.status(r.Context()))
}

// WriteJSON answers with v as it is now: nobody may keep it.
func WriteJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write(append(body, '\n'))
	return err
}

func (s *Server) statusPage(w http.ResponseWriter, r *http.Request) error {
	if strings.HasPrefix(r.Header.Get("Accept"), "application/json") {
		return s.statusJSON(w, r)
	}
	var b bytes.Buffer
	if err := statusTemplate.Execute(&b, s.status(r.Context())); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", statusPolicy)
	w.Header().Set("Cache-Control", "no-store")
	_, err := w.Write(b.Bytes())
	return err
}
