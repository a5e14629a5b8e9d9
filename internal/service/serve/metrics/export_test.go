package metrics

import "bytes"

// System returns what stands of a process in a folder.
func System(proc string) string {
	var text bytes.Buffer
	system(&text, proc)
	return text.String()
}
