package counter

// How far one person moves all rows together, squared, in whole numbers.
//
// Inner products of columns of C are sums of products of numbers that are not negative. They fall
// when both days move later, and when the gap grows. Of a report that is dropped, late or counted
// in some rows only, all entries are smaller, and none is negative.

// removal bounds what is moved where all events of a person are exchanged for none: so many
// events on the first days, in one cell.
func (c *Counter) removal() int64 {
	if c.Turns {
		ups, downs := c.turns()
		return ups + downs
	}
	return squared(c.column(c.Events, 1))
}

// Replacement bounds what is moved where they are exchanged for any others, chosen day by day after all
// that was released. Twice the removal holds for whatever reports a malicious aggregator drops, and a
// smaller bound where there is one cell and a report counts in all rows or in none.
func (c *Counter) Replacement() int64 {
	most := 2 * c.removal()
	if k, t := int64(min(c.Events, c.Rounds)), int64(c.Rounds); c.Cells == 1 && !c.Late && k*t*t/2 <= maxProducts {
		most = min(most, c.oneCell())
	}
	return most
}

// maxProducts bounds what a device computes for the smaller bound: half a second.
const maxProducts = 1 << 29

// turns returns the squares of the columns on which the cells of ups and of downs are moved most: every other
// day, from the first.
func (c *Counter) turns() (ups, downs int64) {
	return squared(c.column((c.Events+1)/2, 2)), squared(c.column(c.Events/2, 2))
}

// column adds up the columns of C of so many days from the first, that many days apart. Days beyond
// the period count for nothing.
func (c *Counter) column(events, apart int) []int64 {
	sum := make([]int64, c.Rounds)
	for i := 0; i < events && i*apart < c.Rounds; i++ {
		for row := i * apart; row < c.Rounds; row++ {
			sum[row] += c.factor[row-i*apart]
		}
	}
	return sum
}

func squared(x []int64) (sum int64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}

// oneCell bounds |C(x-y)|^2 over all pairs of so many days each. Both squares are sums over pairs of
// days; each term is at most what it is where the earlier day of its gap stands in its place, or
// later. The product of both takes off what it does at the same places.
func (c *Counter) oneCell() int64 {
	t, k := c.Rounds, min(c.Events, c.Rounds)
	first := make([]int64, k) // G(0, d)
	shifted := make([][]int64, k)
	for d := range first {
		g := c.products(d)
		first[d], shifted[d] = g[0], make([]int64, t)
		for u := range t { // H_d(u)
			if shifted[d][u] = g[0]; u > d {
				shifted[d][u] = g[u-d]
			}
		}
	}
	most := make([]int64, k)
	copy(most, first)
	for gap := range t {
		g := c.products(gap) // G(u, u+gap)
		for d := range most {
			h, m := shifted[d], most[d]
			for u, product := range g {
				m = max(m, h[u]+h[u+gap]-2*product)
			}
			most[d] = m
		}
	}
	sum := int64(k) * most[0]
	for d := 1; d < k; d++ {
		sum += 2 * int64(k-d) * most[d]
	}
	return sum
}

// products returns the inner products of columns so many days apart, by the earlier one.
func (c *Counter) products(gap int) []int64 {
	g := make([]int64, c.Rounds-gap)
	sum := int64(0)
	for i := range g { // the later column has i+1 entries
		sum += c.factor[i] * c.factor[i+gap]
		g[len(g)-1-i] = sum
	}
	return g
}

// OneNumber returns by how much one number of one row is moved at most.
func (c *Counter) OneNumber() int64 {
	sum := int64(0)
	for j := range min(c.Events, c.Rounds) {
		sum += c.factor[j]
	}
	return sum
}
