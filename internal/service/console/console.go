// Package console serves the pages that people look at: an analyst's collections and releases, an operator's
// services, and a room that watches a poll. Used by cmd/internal/server/roles and cmd/internal/server/up.
//
// Pages are drawn here and work without their script. They name nothing of any other host, and a browser is told to
// load nothing from one. Whoever has no operator's session sees what anybody may know.
package console

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	drawn "github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/session"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Asker asks services. Its errors are *wire.Problem where a service has told one.
type Asker interface {
	// Get is the body of the answer to a GET request of a URL.
	Get(ctx context.Context, url string) ([]byte, error)
	// Read has the body of the answer to a GET request of a URL read as it comes.
	Read(ctx context.Context, url string, read func(io.Reader) error) error
	// Do is any request, with the answer's status and body.
	Do(ctx context.Context, method, url, mediaType string, body []byte) (status int, answer []byte, err error)
}

// Provider signs operators in, elsewhere.
type Provider interface {
	// Begin is the address where a browser signs in, and what that browser keeps until it is
	// back, which nobody else may read.
	Begin(ctx context.Context) (url, kept string, err error)
	// Finish is the name of the operator who has signed in, by what the browser has kept and
	// what it came back with.
	Finish(ctx context.Context, kept, state, code string) (name string, err error)
}

// Options are what a console is made of. Analyzer and Public must be set.
type Options struct {
	Analyzer string // its address, without a slash at the end
	Public   Asker  // asks without a credential

	// Operator asks with operators' tokens: pages show then how far collections have come,
	// and whoever has opened a link of Login may act. nil: neither.
	Operator Operator
	// SignIn lets in operators who have signed in elsewhere; nil: a link of Login does alone.
	SignIn Provider
	// Folder, which exists, keeps the sessions of operators, by the hash of what their browsers
	// have, and what operators did; "" keeps both in memory. One console at a time has it.
	Folder string
	// Bands is called once the folder is this console's, and tells when a metric leaves a band. nil:
	// nobody is told.
	Bands func() (Bands, error)
	// Names are the operators whose sessions go on after a restart.
	Names []string
	// Backup writes a copy of the analyzer's database on this machine, and says where; nil: the
	// console cannot.
	Backup func(context.Context) (file string, err error)

	// Close has a plan take no more answers, and tells at once whose hop refuses; finish then
	// waits until all that came has arrived, and has the analyzer close too. nil: the analyzer
	// alone is closed.
	Close func(context.Context, plan.Plan) (finish func(context.Context) error, err error)

	Poll *Poll // a live poll; nil: none

	// Studio serves what pages compute in the browser (webstudio.Handler): a question made of
	// somebody's own values, and the verification of a release. nil: the console has neither.
	Studio func() (http.Handler, error)

	Hosts  []string // names and addresses that browsers may call the console by, with the port; to others it does not answer
	Secure bool     // browsers reach it over TLS alone, which something before it may end
	Log    *slog.Logger
	Now    func() time.Time // nil: time.Now
}

// Console is the pages. It is safe for concurrent use.
type Console struct {
	o        Options
	analyzer reader
	sessions *session.Sessions
	deeds    deeds
	closing  sync.Map  // names of plans that take no more answers, until the analyzer is closed
	joins    doors     // of the room
	carried  []carried // by phones, of the room's plan
	signIns  doors     // as each asks the provider
	edge     *serve.Edge
	turns    chan struct{} // a place for each page that is drawn
	handler  http.Handler
	held     io.Closer // the lock of the folder; nil: none
	bands    Bands     // nil: nobody is told
}

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// New sets the pages up.
func New(o Options) (*Console, error) {
	if o.Analyzer == "" || o.Public == nil || len(o.Hosts) == 0 {
		return nil, errors.New("console: an analyzer, a way to ask it and the names that browsers call the console by must be given")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Analyzer = strings.TrimSuffix(o.Analyzer, "/")
	c := &Console{o: o, edge: serve.NewEdge(o.limits()), turns: make(chan struct{}, turns), analyzer: reader{base: o.Analyzer, ask: o.Public}, joins: newDoors(joinsOfAddress, addressRests, joinsInAll, joinsASecond), signIns: newDoors(signsOfAddress, signsRest, signsInAll, signsASecond)}
	c.sessions = session.New(linkTime, o.Now)
	c.deeds = deeds{log: o.Log, now: o.Now, most: maxDeeds}
	if o.Folder != "" {
		if err := c.remember(); err != nil {
			return nil, errors.Join(fmt.Errorf("console: %w", err), c.Close())
		}
	}
	if o.Bands != nil {
		var err error
		if c.bands, err = o.Bands(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	mux := http.NewServeMux()
	page := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, c.drawn(h))
	}
	file := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				c.fail(w, r, err)
			}
		})
	}
	page("GET /{$}", c.collections)
	page("GET /plans/{plan}", c.collection)
	page("GET /plans/{plan}/signed.json", c.signedPlan)
	page("GET /releases/{plan}", c.release)
	file("GET /releases/{plan}/{file}", c.releaseFile)
	page("GET /studies/{study}", c.study)
	file("GET /studies/{study}/{file}", c.trendFile)
	if o.Studio != nil {
		page("GET /new", c.newQuestion)
		file("GET /studio/{file}", c.studioFile)
	}
	if o.Operator != nil {
		page("GET /login/{code}", c.getLogin)
		page("POST /login/{code}", c.postLogin)
		if o.SignIn != nil {
			page("GET /login", c.loginPage)
			page("GET /login/oidc", c.beginSignIn)
			page("GET /login/oidc/callback", c.backFromSignIn)
			page("POST /login/oidc", c.finishSignIn)
		}
		page("POST /logout", c.acting(c.postLogout))
		page("GET /operator", c.operator)
		page("POST /operator/alarms", c.acting(c.postAlarm))
		page("POST /operator/close/{plan}", c.acting(c.postClose))
		page("GET /operator/backup", c.askBackup)
		page("GET /operator/drain", c.askDrain)
		page("POST /operator/drain", c.acting(c.postDrain))
		page("POST /operator/backup", c.acting(c.postBackup))
	}
	if o.Poll != nil {
		page("GET /room", c.room)
		page("POST /room/close", c.acting(c.postRoomClose))
		page("GET /answer", c.answerPage)
		page("POST /answer/join", c.postJoin)
		file("GET /answer/device/{file}", c.deviceFile)
		if err := c.carry(file); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	static, err := fs.Sub(staticFiles, "static")
	if err != nil {
		return nil, err
	}
	files := http.FileServerFS(static)
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		if style, ours := map[string]string{"cards.css": drawn.CardsCSS, "page.css": drawn.CSS, "trend.css": trend.CSS}[r.URL.Path]; ours {
			w.Header().Set("Content-Type", "text/css; charset=utf-8")
			_, _ = io.WriteString(w, style)
			return
		}
		files.ServeHTTP(w, r)
	})))
	page("GET /", func(http.ResponseWriter, *http.Request) error { return errNoPage })
	c.handler = c.guarded(mux)
	return c, nil
}

// ServeHTTP answers one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// policy is what pages may load: files of the console, and nothing of anybody else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded tells browsers what pages may do, refuses names that are not the console's (a
// page of somebody else could have its own name lead here), and requests that change
// something and come from another site.
func (c *Console) guarded(next http.Handler) http.Handler {
	crossing := http.NewCrossOriginProtection()
	crossing.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.fail(w, r, &pageError{http.StatusForbidden, "This was asked for by another site.", "Open the console itself, and try again."})
	}))
	next = crossing.Handler(next)
	admitted := c.edge.Admit(c.caller, func(w http.ResponseWriter, r *http.Request) error {
		if !strings.HasPrefix(r.URL.Path, relayPath) { // which has a bound of its own
			r.Body = io.NopCloser(serve.Body(w, r, maxForm))
		}
		next.ServeHTTP(w, r)
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		if !slices.Contains(c.o.Hosts, r.Host) {
			http.Error(w, "The console has another name. Open the address that it printed when it started.", http.StatusMisdirectedRequest)
			return
		}
		if err := admitted(w, r); err != nil {
			busy(w, err)
		}
	})
}

// maxForm bounds what a browser may send, in bytes.
const maxForm = 64 << 10

// pageError is a page that says what is wrong, and what to do.
type pageError struct {
	status int
	title  string
	remedy string
}

func (e *pageError) Error() string { return e.title }

var errNoPage = &pageError{http.StatusNotFound, "There is no such page.", "Look for it among the collections."}

// fail answers with a page that says why not.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	told, ok := errors.AsType[*pageError](err)
	if !ok {
		problem, is := errors.AsType[*wire.Problem](err)
		switch {
		case is && problem.Code == wire.NotFound || is && problem.Code == wire.UnknownPlan:
			told = errNoPage
		case is:
			told = &pageError{http.StatusBadGateway, "The analyzer says: " + sanitize.Text(problem.Detail), problem.Remedy}
		case errors.Is(err, context.Canceled):
			return
		case errors.Is(err, errSilent):
			c.o.Log.Error("the analyzer does not answer", "analyzer", c.o.Analyzer, "page", r.Pattern, "error", err)
			told = &pageError{http.StatusBadGateway, "The analyzer at " + c.o.Analyzer + " does not answer.", "This console shows what it publishes, and keeps nothing itself. See whether the analyzer runs and can be reached from the console’s machine, and load the page again; the console’s log has the reason."}
		default:
			c.o.Log.Error("a page failed", "page", r.Pattern, "error", err) // and no address: that of a link holds its code
			told = &pageError{http.StatusBadGateway, "The services behind this page do not answer.", "Try again; if it lasts, whoever runs the console finds the reason in its log."}
		}
	}
	if strings.HasPrefix(r.Header.Get("Accept"), "application/json") {
		http.Error(w, told.title, told.status)
		return
	}
	if err := c.render(w, r, told.status, "error", sheet{Title: told.title}, told.remedy); err != nil {
		http.Error(w, told.title, told.status)
	}
}

// sheet is what every page has.
type sheet struct {
	Title  string
	At     string // the part of the console that it belongs to
	Script string // a file of its own; "": none
	Every  int    // seconds after which it is drawn anew; 0: never
	Trial  bool   // one operator has every key
	Wide   bool   // it is for a screen that many look at

	Trends  bool // it draws how metrics went
	Release bool // it is that of a release, in whose style it is drawn, and which says itself that it is a trial's
}

// shown is what a template is given.
type shown struct {
	sheet
	Rooms, Operators, Studio bool // there are such pages
	Guest                    bool // a room's page is for respondents, who have no menu
	Operator                 string
	CSRF                     string
	Body                     any
}

// templates has one for each page, with the parts that they share.
var templates = sync.OnceValue(func() map[string]*template.Template {
	all := map[string]*template.Template{}
	base := template.Must(template.New("base").Funcs(funcs).ParseFS(templateFiles, "templates/base.html", "templates/parts.html"))
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic("console: " + err.Error())
	}
	for _, name := range names {
		short := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		if short != "base" && short != "parts" {
			all[short] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, name))
		}
	}
	return all
})

func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name string, p sheet, body any) error {
	s := shown{sheet: p, Rooms: c.o.Poll != nil, Operators: c.o.Operator != nil, Studio: c.o.Studio != nil, Body: body}
	if one, ok := c.session(r); ok {
		s.Operator, s.CSRF = one.Name, one.Form
	}
	s.Guest = s.Rooms && s.Operator == ""
	var b bytes.Buffer // the template writes in small pieces, and half a page is worse than none
	if err := templates()[name].ExecuteTemplate(&b, "base", s); err != nil {
		return fmt.Errorf("console: page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, err := io.WriteString(w, sanitize.Page(b.String()))
	return err
}
