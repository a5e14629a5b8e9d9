package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/token"
)

func TestTokenMessagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q TokenRequest
		for i := range rapid.IntRange(1, 5).Draw(t, "asks") {
			q.Asks = append(q.Asks, TokenAsk{rapid.Uint16().Draw(t, "instance"), byte(i), rapid.SliceOfN(rapid.Byte(), token.RequestSize, token.RequestSize).Draw(t, "blinded")})
		}
		got, err := ParseTokenRequest(q.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(q, got); d != "" {
			t.Fatal(d)
		}
		var a TokenResponse
		for _, ask := range q.Asks {
			a.Answers = append(a.Answers, ask.Blinded)
		}
		back, err := ParseTokenResponse(a.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, back); d != "" {
			t.Fatal(d)
		}
	})
	var most TokenRequest
	for i := range MaxTokenAsks {
		most.Asks = append(most.Asks, TokenAsk{uint16(i / 16), uint8(i % 16), make([]byte, token.RequestSize)})
	}
	if data := most.Marshal(); len(data) > MaxTokenBody {
		t.Errorf("the largest request has %d bytes and the limit is %d", len(data), MaxTokenBody)
	} else if _, err := ParseTokenRequest(data); err != nil {
		t.Error(err)
	}
}

func TestTokenAuthorization(t *testing.T) {
	good := TokenAuthorization(counting(1, token.Size))
	if b, ok := ParseTokenAuthorization(good); !ok || !bytes.Equal(b, counting(1, token.Size)) {
		t.Error("a token does not come back")
	}
	for _, bad := range []string{"", "Bearer x", "PrivateToken", good + " ", good[:len(good)-1], strings.Replace(good, `"`, "'", 1), strings.Replace(good, "PrivateToken", "privatetoken", 1), TokenAuthorization(counting(1, token.Size-1))} {
		if _, ok := ParseTokenAuthorization(bad); ok {
			t.Errorf("%.30q was read as a token", bad)
		}
	}
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
