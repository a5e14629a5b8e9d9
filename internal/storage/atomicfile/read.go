package atomicfile

import (
	"fmt"
	"io"
	"os"
)

// most bounds a file that is read whole: no state, model or table of ours takes more.
const most = 1 << 30

// Read returns what is in a file of at most a gibibyte. A larger one is none that was asked for, and takes no memory.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder, not a file", path)
	case info.Size() > most:
		return nil, fmt.Errorf("%s is larger than %d bytes: it is not what was asked for", path, most)
	}
	text := make([]byte, 0, info.Size()+1)
	for { // a pipe has no size
		n, err := f.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, err
		case len(text) > most:
			return nil, fmt.Errorf("%s is larger than %d bytes: it is not what was asked for", path, most)
		case len(text) == cap(text):
			text = append(text, 0)[:len(text)]
		}
	}
}
