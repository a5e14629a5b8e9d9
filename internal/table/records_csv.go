package table

import (
	"errors"
	"io"
	"strconv"
	"strings"
)

func readCSV(path string, choice Choice) (*Records, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeCSV(f, choice)
}

// decodeCSV reads the columns that are chosen. Rows are named by their line.
func decodeCSV(r io.Reader, choice Choice) (*Records, error) {
	in, err := NewCSV(r)
	if err != nil {
		return nil, err
	}
	taken, err := choice.features(in.Names)
	if err != nil {
		return nil, err
	}
	t := &Records{any: choice.Any}
	for i, name := range in.Names {
		if taken[i] {
			t.Columns = append(t.Columns, name)
		}
	}
	var faults Faults
	rows, left, filled := 0, 0, 0
	for {
		record, line, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, ErrFields) {
			faults.AddRagged(line)
			continue
		}
		if err != nil { // nothing can be read after it
			return nil, errors.Join(faults.Err(), err)
		}
		before, label, lacks, fills := len(t.X.Data), "", false, 0
		for i, s := range record {
			name := in.Names[i]
			s = strings.TrimSpace(s)
			switch isLabel := choice.Label != "" && name == choice.Label; {
			case !isLabel && !taken[i]:
				continue
			case s == "" && choice.Missing.skip:
				lacks = true
				continue
			case s == "" && isLabel: // which no number could be
				faults.Add(line, "", "no label")
				continue
			case s == "" && !choice.Missing.fill:
				faults.AddEmpty(line, name)
				continue
			case isLabel:
				label = strings.Clone(s)
				continue
			case s == "":
				s = choice.Missing.value
				fills++
			}
			v, err := strconv.ParseFloat(s, 64)
			if err != nil && !(choice.Any && errors.Is(err, strconv.ErrRange)) { // it would quote the cell
				err = errNotFinite
			} else {
				err = t.grow(v)
			}
			if errors.Is(err, errTooMany) {
				return nil, err
			}
			if err != nil {
				faults.add("line", line, name, err.Error(), featureRemedy)
			}
		}
		if lacks {
			t.X.Data = t.X.Data[:before]
			left++
			continue
		}
		filled += fills
		if choice.Label != "" {
			t.Labels = append(t.Labels, label)
		}
		rows++
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	t.Notes = notes(in.Note, choice.Missing.Note(rows, left, filled))
	return t.finish(rows, len(t.Columns))
}
