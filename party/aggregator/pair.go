package aggregator

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

const pairFormat = "confetti-pair/v1 "

var base64url = base64.RawURLEncoding.Strict()

// CreatePair writes a pair's secret to a file that is not there yet.
func CreatePair(path string, seed [PairBytes]byte) error {
	return atomicfile.Create(path, []byte(pairFormat+base64url.EncodeToString(seed[:])+"\n"), 0o600)
}

// ReadPair reads what CreatePair wrote. It refuses a file that others may read, except on
// Windows, where the mode does not say.
func ReadPair(path string) (Pair, error) {
	status, err := os.Stat(path)
	if err != nil {
		return Pair{}, fmt.Errorf("aggregator: the secret of two aggregators: %w", err)
	}
	if mode := status.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return Pair{}, fmt.Errorf("aggregator: %s can be read by others (mode %04o): take that away with chmod 600", path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Pair{}, fmt.Errorf("aggregator: the secret of two aggregators: %w", err)
	}
	line, _ := strings.CutSuffix(string(text), "\n")
	encoded, found := strings.CutPrefix(line, pairFormat)
	seed, err := base64url.DecodeString(encoded)
	if !found || err != nil || len(seed) != PairBytes {
		return Pair{}, errors.New("aggregator: " + path + " is not the secret of two aggregators: write one with confetti keys pair, and give it to both")
	}
	return NewPair([PairBytes]byte(seed)), nil
}
