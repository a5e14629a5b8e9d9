package client_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/protocol/design"
)

// What a device does once a plan: check it, and answer it to a service on the
// same machine, with everything on disk that must be.
func BenchmarkDevice(b *testing.B) {
	p, _ := sample(b, "rr", 1, 64)
	s := newService(b, &p, false)
	signed, o := sign(p), device(b, s)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			c, err := client.Open(signed, o)
			if err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
	b.Run("report", func(b *testing.B) {
		n := 0
		for b.Loop() {
			b.StopTimer()
			s.reset()
			o := o
			o.Store = native.Folder{Path: filepath.Join(b.TempDir(), fmt.Sprint(n))}
			n++
			if err := client.Consent(o.Store, true); err != nil {
				b.Fatal(err)
			}
			c, err := client.Open(signed, o)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if err := c.Report(b.Context(), value(1)); err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
}

// BenchmarkForecast is all that a device computes of a plan before it answers: the promise
// to each observer, the charge and the Gaussian that dominates it.
func BenchmarkForecast(b *testing.B) {
	for _, users := range []int{40_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d/bits=768", users), func(b *testing.B) {
			p, _ := sample(b, "rr", 1, 768)
			p.Crowd.Minimum = users
			p, err := design.Fill(p)
			if err != nil {
				b.Fatal(err)
			}
			p.Budget.Epsilon *= 1.01 // what is calibrated to n may pass its budget at n + 1, by parts of a million
			before := costlimit.Used(b)
			for b.Loop() {
				p.Crowd.Minimum += p.Crowd.Minimum / 400 // the accountant has not been asked of it, nor of what it keeps for it
				if _, _, err := client.Forecast(p, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((costlimit.Used(b)-before).Microseconds())/1e3/float64(b.N), "processor-ms/op")
		})
	}
}
