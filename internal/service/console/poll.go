package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/account"
	drawn "github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/session"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Poll is a live poll: a screen that everybody in a room looks at, and a page on each phone
// that is a device. It is for trials, in which one operator has every key: what phones seal is
// carried by the room's own machine to the services that the plan names.
type Poll struct {
	Signed  plan.Signed
	Address string       // what phones open, such as https://192.168.0.7:8480/answer
	Carry   *http.Client // reaches the plan's services
	Device  http.Handler // files of the device in a browser; nil: phones cannot answer
	Without string       // why, where they cannot
	Bearers []string     // credentials for the issuer, one a phone

	// Phones are those that have joined, by the hashes of their cookies, in the order of their credentials. Hand writes
	// them down before one more gets its own, so that it is the same phone after a restart.
	Phones [][sha256.Size]byte
	Hand   func(phones [][sha256.Size]byte) error

	mu sync.Mutex
}

// What of a room's places may be taken: whoever deletes the cookie is another phone to it, so
// that one that does so again and again must not get them all.
const (
	joinsOfAddress = 60 // at once: a class is behind one address, and none of it waits
	addressRests   = time.Second
	joinsInAll     = 120 // at once
	joinsASecond   = 2
)

// errCrowded returns that there is no place yet.
func errCrowded(wait time.Duration, ofAddress bool) error {
	if ofAddress {
		return &crowdedError{fmt.Sprintf("From one address %d phones may join at once, and then one each %v.", joinsOfAddress, addressRests), wait}
	}
	return &crowdedError{"Many phones join at this moment.", wait}
}

// crowdedError says that a place cannot be had yet.
type crowdedError struct {
	title string
	after time.Duration
}

func (e *crowdedError) Error() string { return e.title }

// join hands a phone its credential: the one it had, or the next, if enter lets it in.
func (r *Poll) join(cookie string, enter func() error) (bearer, keep string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := slices.Index(r.Phones, sha256.Sum256([]byte(cookie))); n >= 0 {
		return r.Bearers[n], cookie, nil
	}
	if len(r.Phones) >= len(r.Bearers) {
		return "", "", &pageError{http.StatusConflict, "All places in this poll are taken.", fmt.Sprintf("It has %d. Whoever runs it can start one with more: --devices.", len(r.Bearers))}
	}
	if err := enter(); err != nil {
		return "", "", err
	}
	keep = session.Secret()
	with := append(slices.Clip(r.Phones), sha256.Sum256([]byte(keep)))
	if r.Hand != nil {
		if err := r.Hand(with); err != nil {
			return "", "", err
		}
	}
	r.Phones = with
	return r.Bearers[len(with)-1], keep, nil
}

// knows reports whether a cookie is of a phone that has joined.
func (r *Poll) knows(cookie string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.Phones, sha256.Sum256([]byte(cookie)))
}

func (r *Poll) joined() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.Phones)
}

// roomView is the screen of the room.
type roomView struct {
	Title      string
	Code       template.HTML
	Address    string
	Plan       string
	Status     analyzerd.Status
	Standing   analyzerd.Status // as people are told
	Closing    string
	Joined     int
	Progress   *progress
	Reason     string
	Withdrawal *analyzerd.Withdrawal
	Answer     string
	Chart      template.HTML
	Of         int
	Without    string
	Scan       string // how answers come to be counted
	Result     string // how sure somebody can become of an answer by the result
	Counts     string // what is done once nobody can answer any more
}

func (c *Console) roomView(ctx context.Context) (roomView, error) {
	room := c.o.Poll
	p := room.Signed.Plan
	v := roomView{Title: p.Title, Address: room.Address, Plan: p.Name(), Joined: room.joined(), Without: room.Without}
	v.Scan, v.Counts = passing(p.Route)
	now, err := c.analyzer.find(ctx, v.Plan)
	if err != nil {
		return v, err
	}
	if one, err := c.analyzer.plan(ctx, v.Plan); err == nil {
		v.Result, _ = price(one.promise.Statements)
	}
	v.Status, v.Reason, v.Withdrawal, v.Closing = now.Status, now.Reason, now.Withdrawal, closing(now, c.o.Now())
	if _, is := c.closing.Load(v.Plan); is && v.Status == analyzerd.Open {
		now.Status, v.Status, v.Closing = analyzerd.Closed, analyzerd.Closed, ""
	}
	v.Standing = now.Standing()
	switch v.Status {
	case analyzerd.Open:
		v.Progress = c.progress(ctx, p)
	case analyzerd.Released:
		one, err := c.analyzer.plan(ctx, v.Plan)
		if err != nil {
			return v, err
		}
		out, err := c.analyzer.release(ctx, one)
		if err != nil {
			return v, err
		}
		if v.Answer = out.answer(); len(out.tables) > 0 {
			v.Of = out.tables[0][0].Respondents
		}
		if v.Chart, err = drawn.Chart(out.Release); err != nil {
			return v, err
		}
	}
	return v, nil
}

// room shows the screen.
func (c *Console) room(w http.ResponseWriter, r *http.Request) error {
	v, err := c.roomView(r.Context())
	if err != nil {
		return err
	}
	code, err := picture(c.o.Poll.Address)
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	v.Code = svg(code)
	return c.render(w, r, http.StatusOK, "room", sheet{Title: v.Title, At: "room", Script: "room.js", Every: 3, Trial: oneOperator(c.o.Poll.Signed.Plan), Wide: true}, v)
}

// postRoomClose closes the poll.
func (c *Console) postRoomClose(w http.ResponseWriter, r *http.Request, who session.Session) error {
	if err := c.closePlan(r.Context(), who, c.o.Poll.Signed.Plan.Hash()); err != nil {
		return err
	}
	http.Redirect(w, r, "/room", http.StatusSeeOther)
	return nil
}

// closeTime bounds how long what came may take to arrive.
const closeTime = 10 * time.Minute

// closePlan closes a collection: its entries at once, and the analyzer once all that came has
// arrived, for which nobody waits here.
func (c *Console) closePlan(ctx context.Context, who session.Session, hash [32]byte) error {
	name := fmt.Sprintf("%x", hash)
	finish := func(ctx context.Context) error {
		_, _, err := c.o.Operator.Do(ctx, http.MethodPost, c.o.Analyzer+wire.ClosePath(hash), "", nil)
		return err
	}
	if c.o.Close == nil {
		if err := c.deeds.add(who.Name, "begins to close plan "+name); err != nil {
			return err
		}
		return c.ended(who, name, finish(ctx))
	}
	one, err := c.analyzer.plan(ctx, name)
	if err != nil {
		return err
	}
	if _, already := c.closing.LoadOrStore(name, true); already {
		return nil
	}
	if err := c.deeds.add(who.Name, "begins to close plan "+name); err != nil {
		c.closing.Delete(name)
		return err
	}
	if finish, err = c.o.Close(ctx, one.signed.Plan); err != nil {
		c.closing.Delete(name)
		c.o.Log.Error("an entry of a collection was not closed", "plan", name, "error", err)
		c.ended(who, name, err)
		return &pageError{http.StatusBadGateway, "The collection goes on: not every entry is closed.", "What said no: " + sanitize.Text(err.Error()) + ". Where it is another organisation’s, its operator closes it there (confetti plan close); then try again here."}
	}
	go func() {
		defer c.closing.Delete(name)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if err := c.ended(who, name, finish(ctx)); err != nil {
			c.o.Log.Error("a collection was not closed at the analyzer", "plan", name, "error", err)
		}
	}()
	return nil
}

// ended writes down that somebody closed a plan, or could not.
func (c *Console) ended(who session.Session, name string, err error) error {
	if err == nil {
		c.done(who.Name, "closed plan "+name)
	} else {
		c.done(who.Name, "tried to close plan "+name+" and could not")
	}
	return err
}

const phoneCookie = "confetti-phone"

// answerPolicy lets the page of a phone run the device, which is WebAssembly in a worker.
const answerPolicy = "default-src 'none'; style-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// answerPage shows the page of a phone.
func (c *Console) answerPage(w http.ResponseWriter, r *http.Request) error {
	p := c.o.Poll.Signed.Plan
	one, err := c.analyzer.plan(r.Context(), p.Name())
	if err != nil {
		return err
	}
	offers := results.Offered(p.Question)
	simple := len(offers) == 1 && len(offers[0].Answers) > 0 && p.Crowds() == 1
	w.Header().Set("Content-Security-Policy", answerPolicy)
	body := struct {
		Title, Asked, Field string
		Answers             []string
		Cards               []account.Statement
		Without, Plan       string
		Minimum             int
		Leaves, Scan        string
		Result, Together    string // how sure somebody can become of an answer
		Closes              time.Time
	}{Title: p.Title, Asked: one.protocol.Words().Asked, Cards: one.promise.Statements, Plan: p.Name(), Minimum: p.Crowd.Minimum, Closes: p.Times.Closes}
	body.Leaves = leaving(p.Route, body.Cards)
	body.Scan, _ = passing(p.Route)
	body.Result, body.Together = price(body.Cards)
	switch {
	case c.o.Poll.Device == nil:
		body.Without = c.o.Poll.Without
	case !simple:
		body.Without = "A phone answers questions of one choice among names here, and this is another."
	default:
		body.Field, body.Answers = offers[0].Name, offers[0].Answers
	}
	return c.render(w, r, http.StatusOK, "answer", sheet{Title: p.Title, Script: "answer.js", Trial: oneOperator(p)}, body)
}

// postJoin gives a phone what its device needs: the plan, and a credential for one token a hop.
func (c *Console) postJoin(w http.ResponseWriter, r *http.Request) error {
	room := c.o.Poll
	had := ""
	if cookie, err := r.Cookie(phoneCookie); err == nil {
		had = cookie.Value
	}
	bearer, keep, err := room.join(had, func() error {
		if wait, ofAddress, err := c.joins.enter(r.RemoteAddr, c.o.Now()); wait > 0 || err != nil {
			return cmp.Or(err, errCrowded(wait, ofAddress))
		}
		return nil
	})
	if crowded, ok := errors.AsType[*crowdedError](err); ok {
		seconds := int(math.Ceil(crowded.after.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		return &pageError{http.StatusTooManyRequests, crowded.title, fmt.Sprintf("There are places left: try again in %d seconds.", seconds)}
	}
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{Name: phoneCookie, Value: keep, Path: "/answer", MaxAge: 24 * 3600, Secure: c.secure(r), HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(struct {
		Plan       string   `json:"plan"` // the signed text
		Publishers []string `json:"publishers"`
		Bearer     string   `json:"bearer"`
	}{string(room.Signed.Marshal()), room.Signed.Signers(), bearer})
}
