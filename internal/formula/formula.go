// Package formula keeps spreadsheets from running texts of others that stand in cells of CSV. Used by
// internal/release/sheets, internal/release/results and internal/table/columnar.
package formula

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// begins are the characters with which a cell of text begins that a spreadsheet runs as a formula, or
// that it leaves out before it looks for one.
const begins = "=+-@\t\r\n＝＋－＠"

// number is a cell that a spreadsheet takes for a number, sign and all.
var number = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$`)

// Quote writes a text for a cell of CSV with an apostrophe before it where a spreadsheet would run
// it. Numbers stay as they are. A text that begins with apostrophes before such a character gets
// one more, so that Unquote gives back every text.
func Quote(text string) string {
	if runs(strings.TrimLeft(text, "'")) && !number.MatchString(text) {
		return "'" + text
	}
	return text
}

// Unquote returns the text of which Quote made a cell.
func Unquote(cell string) string {
	if text, quoted := strings.CutPrefix(cell, "'"); quoted && runs(strings.TrimLeft(text, "'")) {
		return text
	}
	return cell
}

// runs reports whether a text begins as a formula does.
func runs(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return text != "" && strings.ContainsRune(begins, first)
}
