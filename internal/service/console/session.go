package console

import (
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/confetti-dp/confetti/internal/service/session"
)

// linkTime is how long the link can be opened that the program printed for an operator.
const linkTime = 15 * time.Minute

// session returns that of the browser, if it has one.
func (c *Console) session(r *http.Request) (session.Session, bool) {
	cookie, err := r.Cookie(cookieName(c.secure(r)))
	if err != nil {
		return session.Session{}, false
	}
	return c.sessions.Find(cookie.Value)
}

// secure reports whether the browser speaks TLS, to the console or to what stands before it.
func (c *Console) secure(r *http.Request) bool { return c.o.Secure || r.TLS != nil }

// cookieName returns one that only this host can set, where there is TLS.
func cookieName(secure bool) string {
	if secure {
		return "__Host-confetti-console"
	}
	return "confetti-console"
}

// Login returns the path of a link that lets one browser in as the operator of that name, once and
// within a quarter of an hour.
func (c *Console) Login(name string) string {
	return "/login/" + c.sessions.Link(name)
}

// getLogin asks whether to log in: whoever only looks at a link, as programs do that show what
// is behind it, does not use it up.
func (c *Console) getLogin(w http.ResponseWriter, r *http.Request) error {
	return c.render(w, r, http.StatusOK, "login", sheet{Title: "Log in", At: "operator", Trial: c.trial(r.Context())}, r.PathValue("code"))
}

func (c *Console) postLogin(w http.ResponseWriter, r *http.Request) error {
	name, ok := c.sessions.Follow(r.PathValue("code"))
	if !ok {
		return &pageError{http.StatusForbidden, "This link was opened before, or is too old.", "Start the console again for another one: a link opens once."}
	}
	return c.letIn(w, r, name, "by a link")
}

// letIn begins a session of the browser, and leads it to its page.
func (c *Console) letIn(w http.ResponseWriter, r *http.Request, name, how string) error {
	if err := c.deeds.add(name, "logged in "+how); err != nil {
		return err
	}
	cookie, err := c.sessions.Open(name)
	if err != nil {
		c.o.Log.Error("a session cannot be written down", "who", name, "error", err)
		return errNotWritten
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(c.secure(r)), Value: cookie, Path: "/", MaxAge: int(session.Time.Seconds()),
		Secure: c.secure(r), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	to := "/operator"
	if c.o.Poll != nil {
		to = "/room"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

func (c *Console) postLogout(w http.ResponseWriter, r *http.Request, who session.Session) error {
	name := cookieName(c.secure(r))
	if cookie, err := r.Cookie(name); err == nil {
		if err := c.sessions.End(cookie.Value); err != nil {
			c.o.Log.Error("the end of a session cannot be written down", "who", who.Name, "error", err)
			return &pageError{507, "You are logged out, and that could not be written down.", "After a restart this browser would be logged in again: look at the disk of the console's folder."}
		}
	}
	http.SetCookie(w, &http.Cookie{Name: name, Path: "/", MaxAge: -1, Secure: c.secure(r), HttpOnly: true, SameSite: http.SameSiteStrictMode})
	c.done(who.Name, "logged out")
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

var errNoSession = &pageError{http.StatusForbidden, "Only an operator may see this.", "Open the link that the console printed when it started; it logs one browser in, once."}

// acting lets only an operator through, and only from a form of the operator's own session.
func (c *Console) acting(h func(http.ResponseWriter, *http.Request, session.Session) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		who, ok := c.session(r)
		if !ok {
			return errNoSession
		}
		if subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(who.Form)) != 1 {
			return &pageError{http.StatusForbidden, "The form is not of this session.", "Open the page again, and repeat what you did."}
		}
		return h(w, r, who)
	}
}
