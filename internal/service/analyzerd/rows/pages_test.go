package rows

import (
	"errors"
	"slices"
	"testing"
)

// Pages are in the order of registration, have no plan twice and leave none out.
func TestPagesOfPlans(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			s := opened(t, open(t))
			for i := range 7 {
				register(t, s, i)
			}
			whole, err := s.Plans(t.Context())
			check(t, err)
			names := func(plans []Plan) (all []string) {
				for _, p := range plans {
					all = append(all, p.Name)
				}
				return all
			}
			for _, most := range []int{1, 2, 3, 7, 8} {
				var all []string
				after := ""
				for {
					page, err := s.After(t.Context(), after, most)
					check(t, err)
					all = append(all, names(page)...)
					if len(page) < most {
						break
					}
					after = page[most-1].Name
				}
				if !slices.Equal(all, names(whole)) || len(all) != 7 {
					t.Errorf("in pages of %d: %v", most, all)
				}
			}
			if _, err := s.After(t.Context(), "elsewhere", 3); !errors.Is(err, ErrUnknown) {
				t.Errorf("behind a plan that is not here: %v", err)
			}
		})
	}
}
