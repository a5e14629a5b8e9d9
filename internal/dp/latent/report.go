// Package latent encodes a record into few numbers and reports them with its class under local privacy (Learning to
// noise, LTN). Used by internal/question/latent and internal/learn/latent.
//
// The encoder is public, and plans name it by a hash. Each mechanism is one type with both its ends.
package latent

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// Names of mechanisms, as plans have them.
const (
	NameLaplace  = "laplace"
	NameGaussian = "gaussian"
	NameCap      = "cap"
)

// Mechanism tells of a vector.
type Mechanism interface {
	Validate() error
	Randomize(r *rand.Rand, x []float32) []byte
	LogProb(x []float32) func(report []byte) float64
	Size() int
	Event(users int) account.Event
	Local(adj account.Adjacency) account.Guarantee
}

// Readable is a mechanism whose reports are vectors with noise.
type Readable interface {
	Read(report []byte) ([]float32, error)
}

// Report tells of a vector and a class, each at its own epsilon; together they cost the sum, or with a Gaussian vector what
// the profile of both gives.
type Report struct {
	Vector Mechanism
	Class  randomize.KRR // K is 0 where there is no class
}

const classBytes = 2

// Validate says what is wrong with the parameters.
func (m Report) Validate() error {
	if err := m.Vector.Validate(); err != nil || m.Class.K == 0 {
		return err
	}
	if m.Class.K > 1<<(8*classBytes) {
		return fmt.Errorf("latent: %d classes: at most %d", m.Class.K, 1<<(8*classBytes))
	}
	return m.Class.Validate()
}

// Size returns the length of a report, in bytes.
func (m Report) Size() int {
	if m.Class.K == 0 {
		return m.Vector.Size()
	}
	return m.Vector.Size() + classBytes
}

// Randomize returns the report of a vector and a class; of class -1, any.
func (m Report) Randomize(r *rand.Rand, x []float32, class int) []byte {
	report := m.Vector.Randomize(r, x)
	if m.Class.K == 0 {
		return report
	}
	if class < 0 {
		class = r.IntN(m.Class.K)
	}
	return binary.BigEndian.AppendUint16(report, uint16(m.Class.Randomize(r, class)))
}

// Split returns a report's part of the vector, and the class that was told; 0 where there is none.
func (m Report) Split(report []byte) (vector []byte, class int, err error) {
	if len(report) != m.Size() {
		return nil, 0, errReport
	}
	at := m.Vector.Size()
	if m.Class.K > 0 {
		if class = int(binary.BigEndian.Uint16(report[at:])); class >= m.Class.K {
			return nil, 0, errReport
		}
	}
	return report[:at], class, nil
}

// epsilon returns that of the whole report, of pure mechanisms.
func (m Report) epsilon() float64 {
	e := m.Vector.Local(account.Replacement).Epsilon
	if m.Class.K > 0 {
		e = math.Nextafter(e+m.Class.Epsilon, math.Inf(1))
	}
	return e
}

// joint is a mechanism of which a report is accounted together with its class.
type joint interface {
	event(class randomize.KRR) amplify.GaussianReport
	local(class randomize.KRR, adj account.Adjacency) account.Guarantee
}

// Event returns what the accountant is told of the shuffled reports of so many users: of a vector
// beside a class what holds of any randomizer at their sum.
func (m Report) Event(users int) account.Event {
	if j, ok := m.Vector.(joint); ok {
		return j.event(m.Class)
	}
	if m.Class.K == 0 {
		return m.Vector.Event(users)
	}
	return amplify.AnyRandomizer{Users: users, Epsilon: m.epsilon()}
}

// Local returns what a device is promised against everybody else.
func (m Report) Local(adj account.Adjacency) account.Guarantee {
	if j, ok := m.Vector.(joint); ok {
		return j.local(m.Class, adj)
	}
	g := m.Vector.Local(adj)
	if m.Class.K > 0 {
		g.Epsilon, g.Bound = m.epsilon(), account.Upper
		g.Method += fmt.Sprintf(", and %d-ary response of the class", m.Class.K)
	}
	return g
}
