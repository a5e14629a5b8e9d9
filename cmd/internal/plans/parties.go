package plans

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/plan"
)

// Party is a service that a plan names.
type Party struct {
	Name, URL string
	Role      string // "shuffler", "leader", "helper", "analyzer", "issuer"
	Instance  int
	Hop       int
}

// Parties returns all that have an address: the analyzer first, who may refuse for its
// budget, then hops and the issuer.
func Parties(p plan.Plan) []Party {
	all := []Party{{p.Analyzer.Operator, p.Analyzer.URL, "analyzer", 0, 0}}
	for i, hops := range p.Route.Ways() {
		for h, hop := range hops {
			role := "shuffler"
			if p.Route.Sum != nil {
				role = []string{"leader", "helper"}[h]
			}
			all = append(all, Party{hop.Operator, hop.URL, role, i, h})
		}
	}
	if issuer := p.Route.Issuer(); issuer != nil {
		all = append(all, Party{issuer.Operator, issuer.URL, "issuer", 0, 0})
	}
	run := map[string]int{} // parties, by their operator
	for _, one := range all {
		run[one.Name]++
	}
	for i, one := range all {
		switch {
		case run[one.Name] == 1: // the operator tells which it is
			all[i].Name = fmt.Sprintf("%s (%s)", one.Name, one.Role)
		case one.Role == "shuffler":
			all[i].Name = fmt.Sprintf("%s, instance %d, hop %d", one.Name, one.Instance+1, one.Hop+1)
		default:
			all[i].Name = one.Name + ", " + one.Role
		}
	}
	return all
}

// Addressed refuses a plan that gives no address for a party of one of these roles; of any role where none
// is named.
func Addressed(p plan.Plan, roles ...string) error {
	for _, one := range Parties(p) {
		if one.URL == "" && (len(roles) == 0 || slices.Contains(roles, one.Role)) {
			return terminal.Usagef("the plan gives no url for %s, so that nobody can be asked: it can be simulated alone. Have its publisher name the parties with their addresses (confetti plan new --party, or url in its file), and sign it anew", sanitize.Text(one.Name))
		}
	}
	return nil
}

// Route returns a route of so many instances with so many hops each, which go by their numbers.
func Route(instances, hops int) plan.Route {
	m := &plan.Mix{Instances: make([]plan.Instance, instances)}
	for i := range m.Instances {
		m.Instances[i].Hops = make([]plan.Party, hops)
		for h := range m.Instances[i].Hops {
			m.Instances[i].Hops[h].Operator = fmt.Sprintf("instance %d, hop %d", i+1, h+1)
		}
	}
	return plan.Route{Kind: plan.RouteMix, Mix: m}
}

// Sum returns a route of sums whose noise is added by so and so; its parties go by their roles.
func Sum(noise string) plan.Route {
	return plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{
		Leader: plan.Party{Operator: "leader"}, Helper: plan.Party{Operator: "helper"}, Noise: noise,
	}}
}
