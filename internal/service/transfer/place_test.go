package transfer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
)

// configuration is a service's that keeps parts.
type configuration struct {
	Mix struct {
		transfer.Place
		Part int `toml:"part_bytes"`
	} `toml:"mix"`
}

func read(t *testing.T, text string) transfer.Place {
	t.Helper()
	var c configuration
	if err := serve.ParseConfig(filepath.Join(t.TempDir(), "service.toml"), []byte("[mix]\npart_bytes = 5\n"+text), &c); err != nil {
		t.Fatal(err)
	}
	return c.Mix.Place
}

// A configuration names a folder, from its own on, or a bucket.
func TestPlaces(t *testing.T) {
	service := blobtest.Start(t)
	for text, kind := range map[string]string{
		"":                                       "none",
		"folder = 'parts'":                       "folder",
		"bucket = '" + service.At("tests") + "'": "bucket",
	} {
		p := read(t, text)
		if err := p.Check("mix"); err != nil {
			t.Error(err)
		}
		if kind == "folder" && !filepath.IsAbs(string(p.Folder)) {
			t.Errorf("%s does not lead from the configuration", p.Folder)
		}
		s, err := p.Open(t.Context())
		if err != nil || (s == nil) != (kind == "none") || p.None() != (kind == "none") {
			t.Errorf("%s: %v, %v", kind, s, err)
			continue
		}
		if s == nil {
			continue
		}
		if err := s.Put(t.Context(), "plan/part", []byte(kind)); err != nil {
			t.Error(err)
		}
		if got, err := s.Get(t.Context(), "plan/part"); err != nil || string(got) != kind {
			t.Errorf("%q, %v", got, err)
		}
		if closed, ok := s.(interface{ Close() }); ok {
			closed.Close()
		}
	}
}

func TestPlacesThatAreWrong(t *testing.T) {
	service := blobtest.Start(t)
	for text, want := range map[string]string{
		"folder = 'parts'\nbucket = 's3://parts'":                              "mix: set either folder or bucket",
		"bucket = '/var/lib/parts'":                                            "mix.bucket: is no URL of a bucket: write s3://BUCKET/PREFIX",
		"bucket = 's3://" + blobtest.KeyID + ":" + blobtest.Secret + "@parts'": "mix.bucket: blob: the URL of the bucket holds a key",
		"folder = '/proc/version/parts'":                                       "mix.folder: ",
	} {
		err := read(t, text).Check("mix")
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), blobtest.Secret) {
			t.Errorf("%v does not begin with %q", err, want)
		}
	}
	nobodys := read(t, "bucket = '"+strings.Replace(service.At("tests"), "s3://parts/", "s3://nobodys/", 1)+"'")
	if err := nobodys.Check("mix"); err != nil { // asks nobody
		t.Error(err)
	}
	if _, err := nobodys.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "s3://nobodys/of/tests/probe: the service answers 404 NoSuchBucket") {
		t.Error(err)
	}
}
