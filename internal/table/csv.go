package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// CSV reads a table of text, row by row: RFC 4180 in UTF-8 with a line of column names,
// possibly gzipped, possibly with a byte order mark. Columns are set apart by commas,
// semicolons or tabs, whichever the line of names has most of. In a table of one
// column an empty line is a row.
type CSV struct {
	Names []string // of the columns, all different
	Note  string   // how it was read, where that is not plain text and commas; else empty
	in    *csv.Reader
	zip   bool
}

// ErrFields is a row with more or fewer cells than there are columns. Reading can go on.
var ErrFields = csv.ErrFieldCount

// NewCSV reads the line of column names.
func NewCSV(r io.Reader) (*CSV, error) {
	b, zipped, err := unpacked(r)
	if err != nil {
		return nil, err
	}
	comma, several := separator(b)
	var from io.Reader = &shortRows{from: b}
	if !several {
		from = &blankLines{from: bufio.NewReaderSize(from, 1<<16), atStart: true}
	}
	c := &CSV{in: csv.NewReader(from), zip: zipped}
	c.in.Comma, c.in.ReuseRecord = comma, true
	if err := c.readNames(); err != nil {
		return nil, err
	}
	name := map[rune]string{';': "semicolons", '\t': "tabs"}[comma]
	switch {
	case zipped && name != "":
		c.Note = "gzipped text with " + name + " between columns"
	case zipped:
		c.Note = "gzipped text"
	case name != "":
		c.Note = "text with " + name + " between columns"
	}
	return c, nil
}

// Read returns the next row and the line it begins in; its memory is used again for the
// next. After the last it returns io.EOF. An error names the line and never what is
// there; it is ErrFields where reading can go on.
func (c *CSV) Read() (cells []string, line int, err error) {
	cells, err = c.in.Read()
	if errors.Is(err, csv.ErrFieldCount) {
		line, _ = c.in.FieldPos(0)
		return nil, line, ErrFields
	}
	if err != nil {
		return nil, 0, c.plain(err)
	}
	line, _ = c.in.FieldPos(0)
	return cells, line, nil
}

// Text returns the text of a file that may be gzipped, without a byte order mark. UTF-16 is
// refused.
func Text(r io.Reader) (io.Reader, error) {
	text, _, err := unpacked(r)
	return text, err
}

// unpacked returns the text of a file that may be gzipped, without a byte order mark, which
// would be taken for a part of the first field, quotes and all.
func unpacked(r io.Reader) (text *bufio.Reader, zipped bool, err error) {
	text = bufio.NewReaderSize(r, 1<<16)
	if magic, _ := text.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(text)
		if err != nil {
			return nil, true, errDamagedZip
		}
		text, zipped = bufio.NewReaderSize(z, 1<<16), true
	}
	mark, _ := text.Peek(3)
	switch {
	case string(mark) == "\ufeff":
		text.Discard(3) // they are there
	case len(mark) > 1 && (mark[0] == 0xff && mark[1] == 0xfe || mark[0] == 0xfe && mark[1] == 0xff):
		return nil, zipped, errors.New("is UTF-16 text: save it as UTF-8")
	}
	return text, zipped, nil
}

// separators are what columns may be set apart by.
const separators = ",;\t"

// separator returns the one that the first line with anything in it has most of outside of
// quotes, the comma of equals; several is false where it has none.
func separator(b *bufio.Reader) (comma rune, several bool) {
	start, _ := b.Peek(b.Size())
	start = bytes.TrimLeft(start, "\r\n")
	var count [len(separators)]int
	quoted := false
	for _, c := range start {
		if c == '"' {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if c == '\n' {
			break
		}
		if i := strings.IndexByte(separators, c); i >= 0 {
			count[i]++
		}
	}
	most := slices.Max(count[:])
	return rune(separators[slices.Index(count[:], most)]), most > 0
}

// maxRow bounds a row of a table, in bytes: what has longer ones is none, and would fill the memory.
const maxRow = 1 << 24

var errLongRow = fmt.Errorf("a row is longer than %d bytes: it is no table of text, or a quote is left open", maxRow)

// shortRows fails where a row is longer than maxRow. Ends of lines within quotes end no row.
type shortRows struct {
	from   io.Reader
	since  int // bytes after the end of the last row
	quoted bool
}

func (l *shortRows) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	for rest := p[:n]; ; {
		at := bytes.IndexAny(rest, "\"\n")
		if at < 0 {
			l.since += len(rest)
			break
		}
		l.since += at + 1
		if rest[at] == '"' {
			l.quoted = !l.quoted
		} else if !l.quoted {
			l.since = 0
		}
		if l.since > maxRow {
			break
		}
		rest = rest[at+1:]
	}
	if l.since > maxRow {
		return 0, errLongRow
	}
	return n, err
}

// blankLines writes empty lines, but for those before the first that is not, as a quoted
// empty field: package csv leaves them out, and with them rows of a table of one column.
type blankLines struct {
	from                     *bufio.Reader
	atStart, started, quoted bool
	left                     []byte
}

func (l *blankLines) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(l.left) > 0 {
			p[n], l.left = l.left[0], l.left[1:]
			n++
			continue
		}
		c, err := l.from.ReadByte()
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		end := c == '\n'
		if c == '\r' {
			next, _ := l.from.Peek(1)
			end = len(next) == 1 && next[0] == '\n'
		}
		if end && l.atStart && l.started && !l.quoted {
			l.left = append(l.left[:0], '"', '"')
		}
		l.left = append(l.left, c)
		l.started = l.started || !end
		if c == '"' {
			l.quoted = !l.quoted
		}
		l.atStart = c == '\n'
	}
	return n, nil
}

func (c *CSV) readNames() error {
	first, err := c.in.Read()
	if err == io.EOF {
		return errors.New("no line of column names: it is empty")
	}
	if err != nil {
		return fmt.Errorf("no line of column names: %w", c.plain(err))
	}
	numbers := 0
	for _, name := range first {
		name = strings.TrimSpace(name)
		if _, err := strconv.ParseFloat(name, 64); err == nil {
			numbers++
		}
		if slices.Contains(c.Names, name) {
			return errors.New("two columns have one name: columns must be told apart")
		}
		c.Names = append(c.Names, strings.Clone(name))
	}
	if numbers == len(c.Names) {
		return errors.New("the first line holds numbers: it must name the columns")
	}
	return nil
}

// plain keeps the place and kind of an error; the rest may quote the file.
func (c *CSV) plain(err error) error {
	if c.zip && err != io.EOF && !errors.Is(err, errLongRow) && !errors.As(err, new(*csv.ParseError)) {
		return errDamagedZip
	}
	return PlainError(err)
}

var errDamagedZip = errors.New("is gzipped, and damaged")

func PlainError(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("line %d: %w", parse.Line, parse.Err)
	}
	return err
}
