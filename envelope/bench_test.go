package envelope

import (
	"crypto/hpke"
	"fmt"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// beside alternates ours with bare crypto/hpke, so that both meet the same
// weather, and reports nanoseconds of the processor a layer for each and their ratio.
func beside(b *testing.B, layers int, ours, bare func() error) {
	var spent [2]time.Duration
	for b.Loop() {
		for i, f := range []func() error{ours, bare} {
			start := costlimit.Used(b)
			if err := f(); err != nil {
				b.Fatal(err)
			}
			spent[i] += costlimit.Used(b) - start
		}
	}
	perLayer := float64(b.N * layers)
	b.ReportMetric(float64(spent[0])/perLayer, "ns/layer")
	b.ReportMetric(float64(spent[1])/perLayer, "bare-ns/layer")
	b.ReportMetric(float64(spent[0])/float64(spent[1]), "ratio")
	b.ReportMetric(0, "ns/op") // both together: of no meaning
}

// BenchmarkSeal seals 8 bytes for two hops and the analyzer.
func BenchmarkSeal(b *testing.B) {
	for _, suite := range suites {
		b.Run(string(suite), func(b *testing.B) {
			_, public := newKeys(b, suite, 3)
			layers := Route([32]byte{1}, 0, 2, public...)
			payload := make([]byte, 8)
			s, err := NewSealer(layers, len(payload))
			if err != nil {
				b.Fatal(err)
			}
			info := layers[0].info(suite)
			beside(b, len(layers), func() error {
				_, err := s.Seal(payload)
				return err
			}, func() (err error) {
				sealed := payload
				for i := len(public) - 1; i >= 0 && err == nil; i-- {
					sealed, err = hpke.Seal(public[i].key, kdf, aead, info, sealed)
				}
				return err
			})
		})
	}
}

// BenchmarkOpen takes the entry's layer off an envelope of three.
func BenchmarkOpen(b *testing.B) {
	for _, suite := range suites {
		b.Run(string(suite), func(b *testing.B) {
			private, public := newKeys(b, suite, 3)
			layers := Route([32]byte{1}, 0, 2, public...)
			envelope, err := Seal(layers, make([]byte, 8))
			if err != nil {
				b.Fatal(err)
			}
			o := mustOpener(b, private[0], layers[0].Context, len(envelope))
			// The one-shot hpke.Open takes no additional data, so the bare twin opens its own.
			info := layers[0].info(suite)
			twin, err := hpke.Seal(public[0].key, kdf, aead, info, make([]byte, suite.Size(2, 8)))
			if err != nil {
				b.Fatal(err)
			}
			key := private[0].key()
			beside(b, 1, func() error {
				_, err := o.Open(2, envelope)
				return err
			}, func() error {
				_, err := hpke.Open(key, kdf, aead, info, twin)
				return err
			})
		})
	}
}

// BenchmarkSealAll seals 256 payloads of 8 bytes for two hops and the analyzer: in lanes where the processor has them, by
// tables with GODEBUG=cpu.avx512ifma=off.
func BenchmarkSealAll(b *testing.B) {
	const n = 256
	_, public := newKeys(b, X25519, 3)
	layers := Route([32]byte{1}, 0, 2, public...)
	payloads := make([][]byte, n)
	for i := range payloads {
		payloads[i] = make([]byte, 8)
	}
	s, err := NewSealer(layers, 8)
	if err != nil {
		b.Fatal(err)
	}
	info := layers[0].info(X25519)
	beside(b, n*len(layers), func() error {
		_, err := s.SealAll(payloads, nil)
		return err
	}, func() (err error) {
		for _, p := range payloads {
			for i := len(public) - 1; i >= 0 && err == nil; i-- {
				p, err = hpke.Seal(public[i].key, kdf, aead, info, p)
			}
		}
		return err
	})
}

// BenchmarkOpenAll takes the entry's layer off 256 envelopes of three.
func BenchmarkOpenAll(b *testing.B) {
	for _, suite := range suites {
		b.Run(string(suite), func(b *testing.B) {
			const n = 256
			private, public := newKeys(b, suite, 3)
			layers := Route([32]byte{1}, 0, 2, public...)
			envelopes := make([][]byte, n)
			for i := range envelopes {
				var err error
				if envelopes[i], err = Seal(layers, make([]byte, 8)); err != nil {
					b.Fatal(err)
				}
			}
			o := mustOpener(b, private[0], layers[0].Context, len(envelopes[0]))
			twin, err := hpke.Seal(public[0].key, kdf, aead, layers[0].info(suite), make([]byte, suite.Size(2, 8)))
			if err != nil {
				b.Fatal(err)
			}
			key := private[0].key()
			beside(b, n, func() error {
				for i, inner := range o.OpenAll(2, envelopes) {
					if inner == nil {
						return fmt.Errorf("envelope %d does not open", i)
					}
				}
				return nil
			}, func() error {
				for range n {
					if _, err := hpke.Open(key, kdf, aead, layers[0].info(suite), twin); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// Contributions of as many envelopes as a density of 768 bits has, for two hops and the analyzer.
const contributed = 768

// BenchmarkSealForm seals a contribution beside three bare seals an envelope, each of which would be
// one for the entry too.
func BenchmarkSealForm(b *testing.B) {
	for _, suite := range suites {
		b.Run(string(suite), func(b *testing.B) {
			_, public := newKeys(b, suite, 3)
			layers := Route([32]byte{1}, 0, 2, public...)
			payload := make([]byte, 8)
			s, err := NewSealer(layers[1:], len(payload))
			if err != nil {
				b.Fatal(err)
			}
			f := Form{Plan: [32]byte{1}, Suite: suite, Envelopes: contributed, Size: Size(layers[1:], len(payload))}
			info := layers[0].info(suite)
			beside(b, contributed*len(layers), func() error {
				all := make([][]byte, contributed)
				for i := range all {
					if all[i], err = s.Seal(payload); err != nil {
						return err
					}
				}
				_, err := f.Seal(public[0], 2, all)
				return err
			}, func() (err error) {
				for range contributed {
					sealed := payload
					for i := len(public) - 1; i >= 0 && err == nil; i-- {
						sealed, err = hpke.Seal(public[i].key, kdf, aead, info, sealed)
					}
				}
				return err
			})
		})
	}
}

// BenchmarkOpenForm opens a contribution beside a bare open of each of its envelopes.
func BenchmarkOpenForm(b *testing.B) {
	for _, suite := range suites {
		b.Run(string(suite), func(b *testing.B) {
			private, public := newKeys(b, suite, 1)
			f := Form{Plan: [32]byte{1}, Suite: suite, Envelopes: contributed, Size: suite.Size(2, 8)}
			inner := make([][]byte, contributed)
			for i := range inner {
				inner[i] = make([]byte, f.Size)
			}
			body, err := f.Seal(public[0], 2, inner)
			if err != nil {
				b.Fatal(err)
			}
			info, key := f.info(), private[0].key()
			twin, err := hpke.Seal(public[0].key, kdf, aead, info, inner[0])
			if err != nil {
				b.Fatal(err)
			}
			beside(b, contributed, func() error {
				_, err := f.Open(private[0], 2, body)
				return err
			}, func() (err error) {
				for range contributed {
					if _, err = hpke.Open(key, kdf, aead, info, twin); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}
