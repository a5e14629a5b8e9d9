package fitted

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/table"
)

// Columns of another party help where they tell the class, and are matched by number. The twin, matched with the next
// record's, helps nothing; neither does a record that was told of not at all.
func TestOtherColumnsHelpWhereTheyAreOfTheSameRecord(t *testing.T) {
	const n = 1000
	r := rand.New(rand.NewPCG(1, 2))
	own := &table.Records{X: blas32.General{Rows: n, Cols: 1, Stride: 1}, Columns: []string{"age"}}
	told := blas32.General{Rows: n, Cols: 1, Stride: 1, Data: make([]float32, n)}
	at, next := make([]int, n), make([]int, n)
	for i := range n {
		y := r.IntN(2)
		own.X.Data, own.Labels = append(own.X.Data, r.Float32()), append(own.Labels, []string{"no", "yes"}[y])
		at[i] = n - 1 - i
		next[i] = (at[i] + 1) % n
		told.Data[at[i]] = float32(y) + float32(r.NormFloat64())/4
	}
	for _, twin := range []bool{false, true} {
		j := Joined{Own: own, Told: told, Names: []string{"code1"}, At: at}
		if twin {
			j.At = next
		}
		m, alone, err := j.Model(1, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		if helps := m.Tested.Value > 0.9; helps == twin || alone.Value > 0.65 || m.Tested.Records != n/5 || len(m.Features.Columns) != 2 {
			t.Errorf("twin %v: %+v, and alone %+v", twin, m.Tested, alone)
		}
	}
	none := make([]int, n)
	for i := range none {
		none[i] = -1
	}
	if _, _, err := (Joined{Own: own, Told: told, Names: []string{"code1"}, At: none}).Model(1, nil); err == nil || !strings.Contains(err.Error(), "0 records") {
		t.Error(err)
	}
}
