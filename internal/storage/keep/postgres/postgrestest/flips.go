package postgrestest

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Flip is a bit that has flipped in a row of a store in a database.
type Flip struct {
	Shelf string
	Table int
	Aside bool // the row was set aside before
	What  string
}

// Flips flips so many bits in each table of each shelf that a store has in a schema, one after the other, and calls
// judge before it flips each back. The order of rows, which says nothing by itself, stays. It returns how many
// flipped, by table, of main and of other shelves; of rows that were set aside under 0.
func Flips(t testing.TB, url string, n int, r *rand.Rand, judge func(Flip)) (flipped map[string]map[int]int) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	type table struct {
		name string
		Flip
	}
	var tables []table
	each := func(query string, scan func(*sql.Rows) error) {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	var names []table
	each(`SELECT relname, shelf, relname ~ '_aside$' FROM pg_class JOIN confetti_shelves ON relname IN ('confetti_s' || number, 'confetti_s' || number || '_aside')
		WHERE relnamespace = current_schema()::regnamespace ORDER BY shelf, relname`, func(rows *sql.Rows) error {
		var one table
		err := rows.Scan(&one.name, &one.Shelf, &one.Aside)
		names = append(names, one)
		return err
	})
	for _, one := range names {
		each("SELECT DISTINCT t FROM "+one.name+" WHERE t > 0 ORDER BY t", func(rows *sql.Rows) error {
			err := rows.Scan(&one.Table)
			tables = append(tables, one)
			return err
		})
	}
	flipped = map[string]map[int]int{}
	for _, one := range tables {
		done := 0
		for tries := 0; done < n && tries < 20*n; tries++ {
			column := []string{"k", "v", "sum", "tag", "t"}[r.IntN(5)]
			var row string
			var size int
			of := map[bool]string{true: "2", false: "coalesce(length(" + column + "), 0)"}[column == "t"]
			if err := db.QueryRow(fmt.Sprintf("SELECT ctid::text, %s FROM %s WHERE t = %d ORDER BY random() LIMIT 1", of, one.name, one.Table)).Scan(&row, &size); err != nil {
				t.Fatal(err)
			}
			if size == 0 {
				continue
			}
			bit := r.IntN(8 * size)
			change := fmt.Sprintf("set_bit(%s, %d, 1 - get_bit(%[1]s, %[2]d))", column, bit)
			if column == "t" {
				change = fmt.Sprintf("t # %d::smallint", 1<<(bit%15))
			}
			flip := func() error {
				return db.QueryRow(fmt.Sprintf("UPDATE %s SET %s = %s WHERE ctid = '%s' RETURNING ctid::text", one.name, column, change, row)).Scan(&row)
			}
			one.What = fmt.Sprintf("bit %d of %s in table %d of shelf %s, set aside before: %t", bit, column, one.Table, one.Shelf, one.Aside)
			if err := flip(); err != nil && strings.Contains(err.Error(), "23505") { // another row has that key, and a disk asks nobody
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			judge(one.Flip)
			if err := flip(); err != nil {
				t.Fatal(err)
			}
			done++
			kind, number := "main", one.Table
			if one.Shelf != kind {
				kind = "others"
			}
			if one.Aside {
				number = 0
			}
			if flipped[kind] == nil {
				flipped[kind] = map[int]int{}
			}
			flipped[kind][number]++
		}
	}
	return flipped
}
