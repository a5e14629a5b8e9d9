package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/envelope"
	counts "github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// lone is one process that does what a fleet does: it mixes a crowd from the parts and the key
// that the fleet's hop had, and counts what comes out, without any worker.
type lone struct {
	*fleet
	process
	server *serve.Server
}

func newLone(f *fleet) *lone {
	dir := f.t.TempDir()
	blobs, err := blob.OpenFolder(filepath.Join(dir, "shards"))
	f.check(err)
	web, err := serve.Client(serve.Path(filepath.Join(f.dir, "roots.pem")))
	f.check(err)
	f.t.Cleanup(web.CloseIdleConnections)
	l := &lone{fleet: f}
	l.process, err = launchAnalyzer(setting{
		ring: f.ring, dir: dir, now: fixed(f.dir), failpoint: func(string) error { return nil }, network: web.Transport, blobs: blobs, bytes: fleetShard, lease: fleetLease,
	})
	f.check(err)
	f.t.Cleanup(l.process.end)
	l.server, err = serve.New(l.config)
	f.check(err)
	return l
}

func (l *lone) ask(method, path, mediaType string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	r.Header.Set("Content-Type", mediaType)
	r.Header.Set("Authorization", "Bearer "+l.ring.operator)
	out := httptest.NewRecorder()
	l.server.ServeHTTP(out, r)
	return out
}

func (l *lone) register(signed plan.Signed) {
	l.t.Helper()
	if out := l.ask(http.MethodPut, wire.PlanPath(signed.Plan.Hash()), wire.PlanType(signed), bytes.NewReader(signed.Marshal())); out.Code >= 300 {
		l.t.Fatalf("the lone analyzer refuses the plan: %s", out.Body)
	}
	var err error
	l.proto, err = protocol.New(signed.Plan)
	l.check(err)
}

// released is the lone release of the collection, or what keeps it from one: that not all of
// the fleet's batches are what it makes of them itself.
func (l *lone) released() []byte {
	err := l.step(context.Background()) // which speaks of earlier plans too, of which a crowd was lost
	if answer := l.ask(http.MethodGet, "/v1/releases/"+l.signed.Plan.Name()+".json", "", nil); answer.Code == http.StatusOK {
		return answer.Body.Bytes()
	}
	return fmt.Append(nil, "there is none: ", err)
}

// compare says what is wrong with what has come of each crowd: who sent something is in it once;
// it was laid out once; what left is what one process makes of that.
func (f *fleet) compare(lost map[int]bool) (violations []string) {
	f.t.Helper()
	violate := func(format string, a ...any) { violations = append(violations, fmt.Sprintf(format, a...)) }
	var batches []rows.Batch
	f.persist(func() (err error) {
		batches, err = f.db.Batches(context.Background(), f.signed.Plan.Name())
		return err
	})
	byCrowd := map[int]rows.Batch{}
	for _, b := range batches {
		byCrowd[b.Crowd] = b
	}
	for c := range fleetCrowds {
		laid, err := filepath.Glob(filepath.Join(f.dir, "laid", fmt.Sprintf("%s_0_0-%d-*", f.signed.Plan.Name(), c)))
		f.check(err)
		if len(laid) != 1 {
			violate("crowd %d was laid out to be mixed %d times", c, len(laid))
		}
		b, counted := byCrowd[c]
		switch {
		case counted && lost[c]:
			violate("crowd %d was lost, and is counted", c)
			continue
		case !counted && !lost[c]:
			violate("crowd %d is not counted", c)
			continue
		case !counted:
			continue
		}
		var kept []byte
		f.persist(func() (err error) { kept, err = f.db.Tally(context.Background(), b); return err })
		t := f.lone.proto.NewTally().(*counts.Counts)
		f.check(t.UnmarshalBinary(kept))
		for cell, n := range t.N {
			want := uint64(0)
			if cell < fleetDevices && fleetCrowd(cell) == c {
				want = 1
			}
			if n != want {
				violate("in crowd %d device %d is counted %d times", c, cell, n)
			}
		}
		if len(laid) > 0 {
			if err := f.lone.take(laid[0], b); err != nil {
				violate("crowd %d: %v", c, err)
			}
		}
	}
	return violations
}

// take mixes a crowd alone, compares it with what left the fleet's hop, and has it counted.
func (l *lone) take(laid string, b rows.Batch) error {
	l.t.Helper()
	ctx := context.Background()
	text, err := os.ReadFile(laid)
	l.check(err)
	var c mixer.Crowd
	l.check(json.Unmarshal(text, &c))
	blobs, err := blob.OpenFolder(filepath.Join(l.dir, "alone"))
	l.check(err)
	hop, err := shuffler.NewHop(l.signed.Plan, 0, 0, l.ring.open[0][0])
	l.check(err)
	for {
		steps, err := c.Steps(ctx, blobs)
		l.check(err)
		if len(steps) == 0 {
			break
		}
		l.check(c.Do(ctx, hop, blobs, steps[0]))
	}
	var mixed bytes.Buffer
	l.check(c.Write(ctx, blobs, &mixed))
	receipts, err := relay.SplitReceipts(b.Receipts)
	l.check(err)
	last := receipts[len(receipts)-1]
	head := envelope.Head{Plan: l.signed.Plan.Hash(), Hop: 1, Crowd: uint32(b.Crowd), Respondents: last.Respondents, Envelopes: last.Out, Size: hop.SizeOut()}
	if uint64(mixed.Len()) != head.Envelopes*uint64(head.Size) {
		return fmt.Errorf("one process lets %d bytes leave, and %d envelopes of %d left", mixed.Len(), head.Envelopes, head.Size)
	}
	part := transfer.PartOf(head, fleetPart)
	sum := transfer.NewSum(part, head.Size)
	if _, err := sum.Write(mixed.Bytes()); err != nil {
		return err
	}
	digest, manifest := sum.Digest(head)
	if digest != last.BatchOut || digest != b.SHA256 {
		return fmt.Errorf("another order left than one process gives")
	}
	leg := wire.Leg{Plan: head.Plan, Hop: head.Hop, Crowd: head.Crowd}
	return transfer.Send(leg, receipts, manifest, transfer.Sender{
		Read: func(n int) ([]byte, error) {
			from := int64(n) * manifest.PartBytes(0)
			return mixed.Bytes()[from : from+manifest.PartBytes(n)], nil
		},
		Put: func(path, mediaType string, body io.Reader, _ int64) ([]byte, error) {
			switch out := l.ask(http.MethodPut, path, mediaType, body); {
			case out.Code == http.StatusAccepted:
				return out.Body.Bytes(), nil
			case out.Code >= 300:
				return nil, fmt.Errorf("the lone analyzer refuses: %s", out.Body)
			}
			return nil, nil
		},
		Broken: func(what string, cause error) error { return fmt.Errorf("the lone analyzer %s: %w", what, cause) },
		Sent:   func() error { return nil },
	})
}
