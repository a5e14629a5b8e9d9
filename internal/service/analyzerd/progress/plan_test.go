package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const base = "https://analyzer.example"

// lister answers for an analyzer of so many plans, by its documented pages.
func lister(plans int, asked *int) func(context.Context, string) ([]byte, error) {
	return func(_ context.Context, at string) ([]byte, error) {
		*asked++
		from := 0
		if _, after, paged := strings.Cut(at, "?after="); paged {
			if _, err := fmt.Sscanf(after, "%064x", &from); err != nil {
				return nil, err
			}
			from++
		}
		page := []Plan{}
		for i := from; i < min(plans, from+Page); i++ {
			page = append(page, Plan{Plan: fmt.Sprintf("%064x", i)})
		}
		return json.Marshal(page)
	}
}

// Every page is read, to the last, once.
func TestPagesAreReadToTheirEnd(t *testing.T) {
	for _, plans := range []int{0, 1, Page - 1, Page, Page + 1, 3*Page + 7} {
		asked := 0
		all, err := Plans(t.Context(), base, lister(plans, &asked))
		if err != nil || len(all) != plans || asked != plans/Page+1 {
			t.Fatalf("of %d plans %d in %d pages: %v", plans, len(all), asked, err)
		}
		for i, p := range all {
			if p.Plan != fmt.Sprintf("%064x", i) {
				t.Fatalf("of %d plans, plan %d is %s", plans, i, p.Plan)
			}
		}
	}
	// An analyzer of an earlier version gives all of them at once.
	asked := 0
	all, err := Plans(t.Context(), base, func(context.Context, string) ([]byte, error) {
		asked++
		page := make([]Plan, 2*Page)
		for i := range page {
			page[i].Plan = fmt.Sprintf("%064x", i)
		}
		return json.Marshal(page)
	})
	if err != nil || len(all) != 2*Page || asked != 1 {
		t.Errorf("of one that knows no pages: %d plans in %d, %v", len(all), asked, err)
	}
}

// A list without an end, or with a name that leads elsewhere, is refused.
func TestHostilePagesAreRefused(t *testing.T) {
	page := func(name func(i int) string) []byte {
		all := make([]Plan, Page)
		for i := range all {
			all[i].Plan = name(i)
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, answer := range map[string][]byte{
		"the same page for ever": page(func(i int) string { return fmt.Sprintf("%064x", i) }),
		"one plan twice":         page(func(int) string { return strings.Repeat("0", 64) }),
		"a name that is a path":  page(func(i int) string { return fmt.Sprintf("../../v1/budgets/%d", i) }),
		"no list":                []byte(`{"plan":"x"}`),
	} {
		asked := 0
		_, err := Plans(t.Context(), base, func(_ context.Context, at string) ([]byte, error) {
			if asked++; strings.Contains(at, "budgets") {
				t.Errorf("%s: it asks for %s", name, at)
			}
			return answer, nil
		})
		if err == nil || asked > 2 {
			t.Errorf("%s: %v after %d pages", name, err, asked)
		}
	}
}
