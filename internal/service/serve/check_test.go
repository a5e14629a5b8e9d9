package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a configuration leaves open to others is found before a service starts.
func TestOpenFindsWhatIsLeftOpen(t *testing.T) {
	dir := t.TempDir()
	authority, err := NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, text []byte, mode os.FileMode) Path {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return Path(path)
	}
	h := HTTP{Listen: "127.0.0.1:0", Certificate: file("crt", cert, 0o644), Key: file("key", key, 0o640), OpenPages: true}
	opens := func(want string) {
		t.Helper()
		_, err := h.Open("test", slog.New(slog.DiscardHandler))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	opens("") // a group may read the key: the service's own
	h.OpenPages = false
	opens("http.operators: whoever reaches the service could read /metrics")
	h.OpenPages = true
	h.Key = file("key", key, 0o644)
	opens("http.key: " + string(h.Key) + " is open to everybody")
	h.Key = file("key", key, 0o600)

	folder := filepath.Join(dir, "keys")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Closed(Path(folder)); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Closed(Path(folder)); err == nil || !strings.Contains(err.Error(), "0777") {
		t.Errorf("a folder that everybody can write: %v", err)
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := Writable(Path(filepath.Join(dir, "not", "there"))); err != nil {
		t.Errorf("a folder that can be made: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("it leaves %v", files)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below"), "/proc/confetti"} {
		if err := Writable(Path(path)); err == nil {
			t.Errorf("%s can be written", path)
		}
	}
}

func TestVerifiedDatabase(t *testing.T) {
	for text, fine := range map[string]bool{
		"postgres://u@db.example/c":                     false,
		"postgres://u@db.example/c?sslmode=require":     false,
		"postgres://u@db.example/c?sslmode=verify-ca":   false,
		"postgres://u@db.example/c?sslmode=verify-full": true,
		"postgres://u@localhost,db.example/c":           false,
		"postgres://u@localhost:5432,127.0.0.1:5433/c":  true,
		"postgres://u@[::1]/c":                          true,
		"postgres:///c?host=/var/run/postgresql&user=u": true,
		"postgres:///c?host=db.example":                 false,
		"postgres://u:geheim@db.example/%zz":            false,
		"postgres://u:geheim@geheim/c?sslmode=geheim":   false,
		"postgresql://u@localhost/c":                    true,
		// What libpq takes, and a folder would have been named after.
		"host=localhost user=u password=geheim dbname=c": false,
		"Postgres://u:geheim@localhost/c":                false,
		"POSTGRESQL://u:geheim@localhost/c":              false,
		"postgres:geheim":                                false,
		"postgres:/u:geheim@localhost/c":                 false,
		" postgres://u:geheim@localhost/c":               false,
		"geheim.db":                                      false,
		"":                                               false,
		"postgres://u@db.example/c?sslmode=verify-full&sslrootcert": true,
	} {
		err := verifiedDatabase(text)
		if (err == nil) != fine {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestReadSecretFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("a b:c@d\n", 0o600)
	if got, err := ReadSecretFile(Path(path)); err != nil || got != "a b:c@d" {
		t.Errorf("%q, %v", got, err)
	}
	for text, mode := range map[string]os.FileMode{"": 0o600, "\n": 0o600, "a\nb\n": 0o600, "geheim\n": 0o644} {
		write(text, mode)
		if _, err := ReadSecretFile(Path(path)); err == nil || text != "" && text != "\n" && strings.Contains(err.Error(), strings.TrimSpace(text)) {
			t.Errorf("%q of mode %o: %v", text, mode, err)
		}
	}
}
