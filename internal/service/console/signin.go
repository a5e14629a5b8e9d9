package console

import (
	"net/http"
	"time"
)

// beganTime is how long a browser may take to come back from the provider.
const beganTime = 10 * time.Minute

// beganName returns the cookie of a sign-in that has begun.
func beganName(secure bool) string {
	if secure {
		return "__Host-confetti-sign-in"
	}
	return "confetti-sign-in"
}

// loginPage says how to log in.
func (c *Console) loginPage(w http.ResponseWriter, r *http.Request) error {
	return c.render(w, r, http.StatusOK, "signin", sheet{Title: "Log in", At: "operator", Trial: c.trial(r.Context())}, returned{})
}

// returned is what a browser came back with.
type returned struct{ State, Code string }

// beginSignIn leads a browser to the provider. It changes nothing here but the browser's own cookie.
func (c *Console) beginSignIn(w http.ResponseWriter, r *http.Request) error {
	if err := c.maySignIn(r); err != nil {
		return err
	}
	to, kept, err := c.o.SignIn.Begin(r.Context())
	if err != nil {
		return c.unsigned(err)
	}
	c.began(w, r, kept, int(beganTime.Seconds()))
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// began sets the cookie of a sign-in, or with a negative age takes it back.
func (c *Console) began(w http.ResponseWriter, r *http.Request, kept string, age int) {
	http.SetCookie(w, &http.Cookie{Name: beganName(c.secure(r)), Value: kept, Path: "/", MaxAge: age, Secure: c.secure(r), HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// backFromSignIn asks whoever comes back to go on. The request comes from another site: it does
// nothing, and has none of our cookies.
func (c *Console) backFromSignIn(w http.ResponseWriter, r *http.Request) error {
	came := returned{State: r.FormValue("state"), Code: r.FormValue("code")}
	if came.State == "" || came.Code == "" {
		return &pageError{http.StatusForbidden, "The provider has not signed you in.", "Log in again; if it lasts, ask whoever runs the provider."}
	}
	return c.render(w, r, http.StatusOK, "signin", sheet{Title: "Log in", At: "operator", Trial: c.trial(r.Context())}, came)
}

// finishSignIn lets the operator in who has signed in.
func (c *Console) finishSignIn(w http.ResponseWriter, r *http.Request) error {
	cookie, err := r.Cookie(beganName(c.secure(r)))
	if err != nil {
		return &pageError{http.StatusForbidden, "This browser has not begun to sign in, or too long ago.", "Log in again, in one browser, within ten minutes."}
	}
	if err := c.maySignIn(r); err != nil {
		return err
	}
	c.began(w, r, "", -1) // it serves once, whatever comes of it
	name, err := c.o.SignIn.Finish(r.Context(), cookie.Value, r.PostFormValue("state"), r.PostFormValue("code"))
	if err != nil {
		return c.unsigned(err)
	}
	return c.letIn(w, r, name, "at the provider")
}

// How often strangers make the console ask the provider: one who begins again and again keeps nobody out
// who comes from another address.
const (
	signsOfAddress = 20 // at once; beginning and coming back are one each
	signsRest      = time.Second
	signsInAll     = 200 // at once
	signsASecond   = 20
)

// maySignIn keeps to them.
func (c *Console) maySignIn(r *http.Request) error {
	wait, _, err := c.signIns.enter(r.RemoteAddr, c.o.Now())
	if wait > 0 {
		return &pageError{http.StatusTooManyRequests, "Many sign in at this moment.", "Try again in some seconds."}
	}
	return err
}

// unsigned returns why somebody was not let in. The reason is in the log, and not for strangers.
func (c *Console) unsigned(err error) error {
	c.o.Log.Warn("a sign-in failed", "error", err)
	return &pageError{http.StatusForbidden, "You are not logged in.", "The provider did not name an operator of this console. Whoever runs the console finds the reason in its log."}
}
