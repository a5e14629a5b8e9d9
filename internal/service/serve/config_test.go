package serve

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type testConfig struct {
	HTTP  HTTP     `toml:"http"`
	Keys  Path     `toml:"keys"`
	Keep  Duration `toml:"keep"`
	Limit struct {
		Folder Path `toml:"folder"`
	} `toml:"limit"`
}

func readConfig(t *testing.T, text string) (testConfig, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "service.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var c testConfig
	err := ReadConfig(path, &c)
	return c, filepath.Dir(path), err
}

func TestReadConfig(t *testing.T) {
	c, dir, err := readConfig(t, "keys = 'keys'\nkeep = '30d'\n[http]\nlisten = ':8443'\nkey = '/etc/key'\n[limit]\nfolder = 'a/b'\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "keys"); string(c.Keys) != want {
		t.Errorf("keys = %s, want %s", c.Keys, want)
	}
	if want := filepath.Join(dir, "a/b"); string(c.Limit.Folder) != want {
		t.Errorf("a path of a section = %s, want %s", c.Limit.Folder, want)
	}
	if c.HTTP.Key != "/etc/key" || c.HTTP.Certificate != "" {
		t.Errorf("key %q, certificate %q: an absolute path and none changed", c.HTTP.Key, c.HTTP.Certificate)
	}
	if time.Duration(c.Keep) != 30*24*time.Hour {
		t.Errorf("30d is %v", time.Duration(c.Keep))
	}
}

func TestReadConfigNamesEveryUnknownSetting(t *testing.T) {
	_, _, err := readConfig(t, "key = 'keys'\n[http]\nlisten = ':8443'\nport = 1\n[http2]\non = true\n")
	for _, want := range []string{"line 1: there is no setting key", "line 4: there is no setting http.port", "http2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

func TestReadConfigRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no TOML":                 "{",
		"another type":            "keys = 3",
		"no duration":             "keep = 'soon'",
		"a negative duration":     "keep = '-1h'",
		"a duration out of range": "keep = '9999999d'",
		"a setting twice":         "keys = 'a'\nkeys = 'b'",
	} {
		if _, _, err := readConfig(t, text); err == nil || !strings.Contains(err.Error(), "service.toml") {
			t.Errorf("%s: the error does not name the file: %v", name, err)
		}
	}
	var c testConfig
	if err := ReadConfig(filepath.Join(t.TempDir(), "none.toml"), &c); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestOpenNamesEveryFault(t *testing.T) {
	_, err := HTTP{Listen: "here", Debug: "0.0.0.0:6060", Certificate: "none.crt", Key: "none.key", Clients: "none.crt", Operators: "none", Requests: -1}.Open("test", slog.New(slog.DiscardHandler))
	for _, want := range []string{"http.listen", "http.debug", "http.certificate", "http.clients", "http.operators", "negative"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}
