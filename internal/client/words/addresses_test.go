package words

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/plan"
)

// Each who sees the address is named once, and with a relay nobody is left out.
func TestWhoSeesTheAddress(t *testing.T) {
	party := func(name, relay string) plan.Party {
		p := plan.Party{Operator: name}
		if relay != "" {
			p.Relay = &plan.Relay{Operator: relay}
		}
		return p
	}
	p := func(issuer plan.Party, entries ...plan.Party) (p plan.Plan) {
		p.Route = plan.Route{Kind: plan.RouteMix, Mix: &plan.Mix{Issuer: &issuer}}
		for _, one := range entries {
			p.Route.Mix.Instances = append(p.Route.Mix.Instances, plan.Instance{Hops: []plan.Party{one, party("Second", "")}})
		}
		return p
	}
	sees := func(relay, from string) string {
		return relay + " sees the network address, cannot read what it carries, and hides the address from " + from + "."
	}
	for name, c := range map[string]struct {
		plan plan.Plan
		want []string
	}{
		"no relay":         {p(party("Registry", ""), party("North", "")), nil},
		"one for all":      {p(party("Registry", "Hideaway"), party("North", "Hideaway"), party("South", "Hideaway")), []string{sees("Hideaway", "North, South and Registry")}},
		"one each":         {p(party("Registry", "Cloak"), party("North", "Hideaway"), party("North", "Hideaway")), []string{sees("Hideaway", "North"), sees("Cloak", "Registry")}},
		"not for all":      {p(party("Registry", ""), party("North", "Hideaway")), []string{sees("Hideaway", "North"), "Without a relay the address is shown to Registry."}},
		"a sum's leader":   {plan.Plan{Route: plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Leader: party("North", "Hideaway"), Helper: party("South", "")}}}, []string{sees("Hideaway", "North")}},
		"hidden and shown": {p(party("North", ""), party("North", "Hideaway")), []string{sees("Hideaway", "North"), "Without a relay the address is shown to North."}},
	} {
		if diff := cmp.Diff(c.want, Addresses(c.plan)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
