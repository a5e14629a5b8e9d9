package console

import (
	"encoding/json"
	"net/http"
	"strings"
)

// newPolicy is that of the page of a new question: it may open no connection and send no form. What is
// put into it stays in the browser as its program sends nothing; a policy alone cannot see to that, as a
// page may load files by any address of the console.
const newPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// moduleFile is the one file that the worker of that page may ask for.
const moduleFile = "/studio/confetti-studio.wasm"

// workerPolicy lets a worker run the module, and fetch nothing else.
func workerPolicy(r *http.Request) string {
	from := r.Host + moduleFile
	if strings.HasPrefix(r.Host, "[") { // which a policy has no form for
		from = "'self'"
	}
	return "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src " + from + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// newQuestion shows the page on which a question is made of somebody's own values. What it computes it
// computes in the browser.
func (c *Console) newQuestion(w http.ResponseWriter, r *http.Request) error {
	var body struct{ Without, Known string }
	if _, err := c.o.Studio(); err != nil {
		c.o.Log.Error("the module of the page of a new question is not at hand", "error", err)
		body.Without = "The program of this page is not at hand here; whoever runs the console finds the reason in its log. confetti collect simulate does the same on the command line."
	}
	known, err := json.Marshal(c.known(r))
	if err != nil {
		return err
	}
	body.Known = string(known)
	w.Header().Set("Content-Security-Policy", newPolicy)
	return c.render(w, r, http.StatusOK, "new", sheet{Title: "Ask a new question", At: "new", Script: "new.js", Trial: c.trial(r.Context())}, body)
}

// studioFile sends a file of what pages compute in the browser.
func (c *Console) studioFile(w http.ResponseWriter, r *http.Request) error {
	files, err := c.o.Studio()
	if err != nil {
		c.o.Log.Error("the module of pages is not at hand", "error", err)
		return &pageError{http.StatusServiceUnavailable, "The program of this page is not at hand here.", "Use the command that the page names."}
	}
	w.Header().Set("Content-Security-Policy", workerPolicy(r))
	r = r.Clone(r.Context())
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/studio")
	files.ServeHTTP(w, r)
	return nil
}
