package terminal

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
)

// Progress draws a bar on a terminal and is quiet elsewhere. The function it
// returns is told how far a stage has come; done clears the line.
func Progress(w io.Writer) (report func(stage string, done, total int), finish func()) {
	if f, ok := w.(*os.File); !ok || !IsTerminal(f) {
		return func(string, int, int) {}, func() {}
	}
	var bar *progressbar.ProgressBar
	current := ""
	report = func(stage string, done, total int) {
		if stage != current {
			if bar != nil {
				bar.Clear()
			}
			current = stage
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(stage),
				progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
		}
		bar.Set(done)
	}
	return report, func() {
		if bar != nil {
			bar.Clear()
		}
	}
}

// IsTerminal tells a terminal from a file or a pipe.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
