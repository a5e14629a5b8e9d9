package console

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/confetti-dp/confetti/internal/service/session"
	"github.com/confetti-dp/confetti/internal/wire"
)

// postAlarm says of an alarm that it was looked at.
func (c *Console) postAlarm(w http.ResponseWriter, r *http.Request, who session.Session) error {
	at, id := r.PostFormValue("url"), r.PostFormValue("alarm")
	if !c.o.Operator.Opens(at) {
		return errNoPage // nothing can be done there
	}
	body, err := json.Marshal(map[string]string{"alarm": id})
	if err == nil {
		err = c.deeds.add(who.Name, fmt.Sprintf("begins to acknowledge alarm %s of %s", id, at))
	}
	if err == nil {
		_, _, err = c.o.Operator.Do(r.Context(), http.MethodPost, at+"/alarms", "application/json", body)
	}
	if err != nil {
		return err
	}
	c.done(who.Name, fmt.Sprintf("acknowledged alarm %s of %s", id, at))
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}

// postClose closes a collection, if the box beside the button was ticked.
func (c *Console) postClose(w http.ResponseWriter, r *http.Request, who session.Session) error {
	hash, err := wire.ParsePlanName(r.PathValue("plan"))
	if err != nil {
		return errNoPage
	}
	if r.PostFormValue("sure") != "yes" {
		return notSure
	}
	if err := c.closePlan(r.Context(), who, hash); err != nil {
		return err
	}
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}

// confirmation is a page that asks whether something is to be done; its form has it done.
type confirmation struct {
	Asked, About string
	To, Button   string
	Fields       map[string]string
}

func (c *Console) confirm(w http.ResponseWriter, r *http.Request, what confirmation) error {
	if _, ok := c.session(r); !ok {
		return errNoSession
	}
	return c.render(w, r, http.StatusOK, "confirm", sheet{Title: what.Asked, At: "operator", Trial: c.trial(r.Context())}, what)
}

// notSure refuses a form that did not come from a confirmation.
var notSure = &pageError{http.StatusBadRequest, "It was not confirmed, and nothing was done.", "Go back to the services, and confirm what you mean."}

// askBackup asks whether to write a backup.
func (c *Console) askBackup(w http.ResponseWriter, r *http.Request) error {
	if c.o.Backup == nil {
		return errNoPage
	}
	return c.confirm(w, r, confirmation{
		Asked: "Write a backup?", Button: "Write it", To: "/operator/backup",
		About: "A consistent copy of all plans, batches, releases and budgets, on the disk of this machine, while the analyzer runs. Private keys are not in it. Restored later, it has forgotten what was spent since.",
	})
}

// postBackup writes a copy of the analyzer's database.
func (c *Console) postBackup(w http.ResponseWriter, r *http.Request, who session.Session) error {
	if c.o.Backup == nil {
		return errNoPage
	}
	if r.PostFormValue("sure") != "yes" {
		return notSure
	}
	if err := c.deeds.add(who.Name, "begins to back the analyzer up"); err != nil {
		return err
	}
	file, err := c.o.Backup(r.Context())
	if err != nil {
		c.done(who.Name, "tried to back the analyzer up and could not")
		return err
	}
	c.done(who.Name, "backed the analyzer up to "+file)
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}

// askDrain asks whether a service is to drain, or to take work again.
func (c *Console) askDrain(w http.ResponseWriter, r *http.Request) error {
	at := r.FormValue("url")
	if _, ok := c.session(r); !ok || !c.o.Operator.Opens(at) {
		return errNoPage
	}
	what := confirmation{
		Asked: "Drain this service?", Button: "Drain it", To: "/operator/drain", Fields: map[string]string{"url": at, "drain": "true"},
		About: at + " takes no new work then: no contributions, batches, plans or requests for tokens. Whoever sends it some is told to come back, and loses nothing. What is there it finishes. It works again when you let it, or when it is started anew.",
	}
	if r.FormValue("drain") == "false" {
		what.Asked, what.Button, what.Fields["drain"] = "Let this service take work again?", "Let it", "false"
		what.About = at + " takes contributions, batches, plans and requests for tokens again."
	}
	return c.confirm(w, r, what)
}

// postDrain has a service take no new work and finish what it has, or take work again.
func (c *Console) postDrain(w http.ResponseWriter, r *http.Request, who session.Session) error {
	at, drain := r.PostFormValue("url"), r.PostFormValue("drain")
	if !c.o.Operator.Opens(at) {
		return errNoPage
	}
	if r.PostFormValue("sure") != "yes" || drain != "true" && drain != "false" {
		return notSure
	}
	did := map[string]string{"true": "drain: " + at, "false": "take work again: " + at}[drain]
	if err := c.deeds.add(who.Name, "begins to have a service "+did); err != nil {
		return err
	}
	if _, _, err := c.o.Operator.Do(r.Context(), http.MethodPost, at+"/drain", "application/json", []byte(`{"drain": `+drain+`}`)); err != nil {
		c.done(who.Name, "could not have a service "+did)
		return err
	}
	c.done(who.Name, "had a service "+did)
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}
