package architecture

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Measures of the picture, in pixels.
const (
	rowHeight = 74
	boxHeight = 24
	letter    = 6.7 // the width of a letter at 11 px
	gap       = 16  // between boxes
	bend      = 10  // what an arrow takes that passes a row
	margin    = 24
	sweeps    = 24 // passes over the rows that put what belongs together above each other
)

// A party is drawn in its own colour with all that it alone is made of.
type party struct{ says, root, fill string }

var parties = []party{
	{"a device", "client", "#cfe8d5"},
	{"a mixing party", "cmd/confetti-shuffler", "#f6d9c6"},
	{"the analyzer", "internal/service/analyzerd", "#cfdcf3"},
}

const mixing = 1 // the place of the mixing party

const (
	readFill   = "#f4e7b0" // a device and the analyzer carry it, a mixing party does not
	sharedFill = "#f0d3e0" // a mixing party and one other carry it
	commonFill = "#e6e3ea" // all three carry it
	otherFill  = "#ffffff" // none of them does
)

// node is a room, or a place (no name) where an arrow passes a row.
type node struct {
	name string
	row  int
	x    float64 // its middle
	down []*node // what it imports, a row below it
	up   []*node
}

func (n *node) width() float64 {
	if n.name == "" {
		return bend
	}
	return letter*float64(len(n.name)) + 14
}

// Draw returns an SVG picture of the rooms that the roots reach: each row imports from lower
// rows only, and an arrow that follows from others is left out. It refuses rooms that import
// each other.
func Draw(found Imports, roots ...string) ([]byte, error) {
	carried := Imports{}
	for _, r := range roots {
		carried[r] = found[r]
		for to := range found.Reach(r) {
			carried[to] = found[to]
		}
	}
	whole := byRoom(carried)
	for name := range whole {
		if whole.Reach(name)[name] {
			return nil, fmt.Errorf("architecture: the room %s imports itself through others: draw its parts apart", name)
		}
	}
	rows := lay(whole, slices.Sorted(maps.Keys(whole)))
	width := place(rows)
	return render(found, rows, width), nil
}

// lay puts each room a row above the highest that it imports, and a bend into
// every row that an arrow passes.
func lay(found Imports, names []string) [][]*node {
	height := map[string]int{}
	var rise func(string) int
	rise = func(name string) int {
		if _, known := height[name]; !known {
			h := 0
			for _, to := range direct(found, name) {
				h = max(h, rise(to)+1)
			}
			height[name] = h
		}
		return height[name]
	}
	var rows [][]*node
	nodes := map[string]*node{}
	add := func(n *node) *node {
		for len(rows) <= n.row {
			rows = append(rows, nil)
		}
		rows[n.row] = append(rows[n.row], n)
		return n
	}
	for _, name := range names {
		nodes[name] = add(&node{name: name, row: rise(name)})
	}
	for _, name := range names {
		for _, to := range direct(found, name) {
			from := nodes[name]
			for from.row > nodes[to].row+1 {
				passed := add(&node{row: from.row - 1, up: []*node{from}})
				from.down = append(from.down, passed)
				from = passed
			}
			from.down, nodes[to].up = append(from.down, nodes[to]), append(nodes[to].up, from)
		}
	}
	return rows
}

// direct returns what a room imports of ours, but for what its other imports reach.
func direct(found Imports, name string) []string {
	var all, kept []string
	for _, to := range found[name] {
		if _, ours := found[to]; ours && !slices.Contains(all, to) {
			all = append(all, to)
		}
	}
	for _, to := range all {
		if !slices.ContainsFunc(all, func(by string) bool { return found.Reach(by)[to] }) {
			kept = append(kept, to)
		}
	}
	slices.Sort(kept)
	return kept
}

// place orders each row by the middle of what its nodes are joined to, above and
// below in turn, and says how wide the picture is.
func place(rows [][]*node) (width float64) {
	for _, row := range rows {
		w := 0.0
		for _, n := range row {
			w += n.width() + gap
		}
		width = max(width, w)
	}
	for _, row := range rows {
		spread(row, width)
	}
	for sweep := range sweeps {
		for i := range rows {
			row, joined := rows[i], func(n *node) []*node { return n.down }
			if sweep%2 == 1 {
				row, joined = rows[len(rows)-1-i], func(n *node) []*node { return n.up }
			}
			middle := map[*node]float64{}
			for _, n := range row {
				middle[n] = n.x
				if all := joined(n); len(all) > 0 {
					middle[n] = 0
					for _, o := range all {
						middle[n] += o.x / float64(len(all))
					}
				}
			}
			slices.SortStableFunc(row, func(a, b *node) int { return cmp.Compare(middle[a], middle[b]) })
			spread(row, width)
		}
	}
	return width + 2*margin
}

// spread sets a row's nodes side by side over the whole width.
func spread(row []*node, width float64) {
	used := 0.0
	for _, n := range row {
		used += n.width()
	}
	space := (width - used) / float64(len(row)+1)
	x := margin + space
	for _, n := range row {
		n.x = x + n.width()/2
		x += n.width() + space
	}
}

func render(found Imports, rows [][]*node, width float64) []byte {
	y := func(n *node) float64 { return float64(margin + 34 + (len(rows)-1-n.row)*rowHeight) }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace, monospace" font-size="11" role="img">
<title>The rooms of Confetti: an arrow goes from a room to what it imports</title>
<rect width="100%%" height="100%%" fill="#fffdf8"/>
<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 8 4 0 8z" fill="#8a8594"/></marker></defs>
`, width, 2*margin+34+(len(rows)-1)*rowHeight+boxHeight/2)
	legend(&b)
	for _, row := range rows {
		for _, n := range row {
			for _, to := range n.down {
				start, end, head := y(n)+boxHeight/2, y(to)-boxHeight/2, ` marker-end="url(#to)"`
				if n.name == "" {
					start = y(n)
				}
				if to.name == "" {
					end, head = y(to), ""
				}
				half := (start + end) / 2
				fmt.Fprintf(&b, `<path d="M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f" fill="none" stroke="#b4afbd"%s/>`+"\n", n.x, start, n.x, half, to.x, half, to.x, end, head)
			}
		}
	}
	fill := fills(found)
	for _, row := range rows {
		for _, n := range row {
			if n.name != "" {
				box(&b, n.x-n.width()/2, y(n)-boxHeight/2, n.width(), fill(n.name), n.name)
			}
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func box(b *bytes.Buffer, x, y, width float64, fill, says string) {
	fmt.Fprintf(b, `<rect x="%.0f" y="%.0f" width="%.0f" height="%d" rx="5" fill="%s" stroke="#6d6879"/><text x="%.0f" y="%.0f" text-anchor="middle" fill="#26222e">%s</text>`+"\n",
		x, y, width, boxHeight, fill, x+width/2, y+boxHeight/2+4, says)
}

func legend(b *bytes.Buffer) {
	x := float64(margin)
	entry := func(says, fill string) {
		w := (&node{name: says}).width()
		box(b, x, margin/2, w, fill, says)
		x += w + gap
	}
	for _, p := range parties {
		entry("only "+p.says, p.fill)
	}
	entry("device and analyzer, no mixing party", readFill)
	entry("mixing party and one other", sharedFill)
	entry("all three", commonFill)
	entry("none of them", otherFill)
}

// fills returns the colour of each room: by the parties whose programs carry any of it.
func fills(found Imports) func(name string) string {
	carries := make([]map[string]bool, len(parties))
	for i, p := range parties {
		carries[i] = map[string]bool{roomOf(p.root): true}
		for to := range found.Reach(p.root) {
			carries[i][roomOf(to)] = true
		}
	}
	return func(name string) string {
		fill, count := otherFill, 0
		for i, p := range parties {
			if carries[i][name] {
				fill = p.fill
				count++
			}
		}
		switch {
		case count == 3:
			return commonFill
		case count == 2 && carries[mixing][name]:
			return sharedFill
		case count == 2:
			return readFill
		}
		return fill
	}
}
