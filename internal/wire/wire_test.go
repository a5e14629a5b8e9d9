package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// counting returns n bytes that count up from first: easy to tell apart in a dump.
func counting(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

func refuse(w http.ResponseWriter, err error) {
	p, _ := errors.AsType[*Problem](err)
	text, _ := json.Marshal(p)
	w.Header().Set("Content-Type", ProblemType)
	w.WriteHeader(p.Status)
	w.Write(text)
}

func TestPathsAreReadAsTheyAreWritten(t *testing.T) {
	plan, id := [32]byte(counting(0xa0, 32)), [32]byte(counting(1, 32))
	var seen []string
	mux := http.NewServeMux()
	mux.HandleFunc(ContributionPattern, func(w http.ResponseWriter, r *http.Request) {
		p, e1 := PathPlan(r)
		i, e2 := PathInstance(r)
		d, e3 := PathID(r)
		if err := errors.Join(e1, e2, e3); err != nil {
			refuse(w, err)
		} else if p != plan || i != 65535 || d != id {
			t.Error("the parts of a contribution's path do not come back")
		}
		seen = append(seen, "contribution")
	})
	mux.HandleFunc(BatchPattern, func(w http.ResponseWriter, r *http.Request) {
		leg, err := PathLeg(r)
		if err != nil {
			refuse(w, err)
		} else if leg != (Leg{Plan: plan, Instance: 1, Hop: 255, Crowd: 1<<32 - 1}) {
			t.Error("the parts of a batch's path do not come back")
		}
		seen = append(seen, "batch")
	})
	for _, pattern := range []string{PlanPattern, StatusPattern, TokensPattern, RegisterPattern, ClosePattern} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if p, err := PathPlan(r); err != nil || p != plan {
				t.Errorf("%s: %v", r.Pattern, err)
			}
			seen = append(seen, r.Pattern)
		})
	}
	get := func(method, path string) *Problem {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code < 400 {
			return nil
		}
		return ReadProblem(w.Code, w.Header().Get("Content-Type"), "", w.Body)
	}
	for _, path := range []string{"PUT " + ContributionPath(plan, 65535, id), "PUT " + BatchPath(plan, 1, 255, 1<<32-1),
		"GET " + PlanPath(plan), "PUT " + PlanPath(plan), "GET " + StatusPath(plan), "POST " + TokensPath(plan), "POST " + ClosePath(plan)} {
		method, path, _ := strings.Cut(path, " ")
		if p := get(method, path); p != nil {
			t.Errorf("%s: %v", path, p)
		}
	}
	if len(seen) != 7 {
		t.Errorf("reached %v", seen)
	}
	good := ContributionPath(plan, 65535, id)
	for name, bad := range map[string]string{
		"upper case":     strings.Replace(good, "a0a1", "A0a1", 1),
		"leading zero":   strings.Replace(good, "/65535/", "/065535/", 1),
		"plus sign":      strings.Replace(good, "/65535/", "/+1/", 1),
		"too large":      strings.Replace(good, "/65535/", "/65536/", 1),
		"negative":       strings.Replace(good, "/65535/", "/-1/", 1),
		"a short id":     good[:len(good)-2],
		"a long id":      good + "00",
		"not hexdecimal": good[:len(good)-1] + "g",
	} {
		if p := get("PUT", bad); p == nil || p.Code != BadRequest {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func TestContributionAndCoverHaveDifferentNames(t *testing.T) {
	if body := []byte("body"); ContributionID(body) == CoverID(body) {
		t.Error("cover would be counted")
	}
}
