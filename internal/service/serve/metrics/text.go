package metrics

import (
	"bytes"
	"strconv"
	"strings"
)

// The format escapes quotes in values of labels, and leaves them in help.
var (
	inLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	inHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// head writes what stands before the lines of an instrument.
func head(to *bytes.Buffer, name, help, kind string) {
	to.WriteString("# HELP " + name + " " + inHelp.Replace(help) + "\n# TYPE " + name + " " + kind + "\n")
}

// line writes a number.
func line(to *bytes.Buffer, name, labels string, value float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	to.WriteString(name + labels + " " + number(value) + "\n")
}

// single writes an instrument of one number.
func single(to *bytes.Buffer, name, help, kind string, value float64) {
	head(to, name, help, kind)
	line(to, name, "", value)
}

// and joins labels.
func and(labels, more string) string {
	if labels == "" {
		return more
	}
	return labels + "," + more
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
