package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
)

// job is what the test reads of a Kubernetes Job.
type job struct {
	APIVersion string
	Kind       string
	Spec       struct {
		CompletionMode           string
		Completions, Parallelism int
		Template                 struct {
			Spec struct {
				RestartPolicy   string
				SecurityContext struct{ RunAsUser int }
				Containers      []struct{ Args []string }
			}
		}
	}
}

// The pods of deploy/count-job.yaml, each with its index, count the table that one worker
// counts of the whole batch.
func TestCountJob(t *testing.T) {
	documents, err := documents([]byte(deployedText(t, "count-job.yaml")))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	text, err := json.Marshal(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		t.Fatal(err)
	}
	pod := j.Spec.Template.Spec
	if j.APIVersion != "batch/v1" || j.Kind != "Job" || j.Spec.CompletionMode != "Indexed" || pod.RestartPolicy != "Never" || len(pod.Containers) != 1 || j.Spec.Parallelism > j.Spec.Completions {
		t.Fatalf("no indexed job: %+v", j)
	}
	if !strings.Contains(deployedText(t, "Dockerfile"), fmt.Sprintf("USER %d:", pod.SecurityContext.RunAsUser)) {
		t.Error("the pods are not the analyzer's user, who alone may read the parts")
	}
	dir := t.TempDir()
	at := func(elements ...string) string { return filepath.Join(append([]string{dir}, elements...)...) }
	confetti := func(args ...string) {
		t.Helper()
		var said bytes.Buffer
		if code := run(args, terminal.Streams{Out: io.Discard, Err: &said}); code != 0 {
			t.Fatalf("%q: exit %d: %s", args, code, &said)
		}
	}
	confetti("sample", at("people.csv"), "--rows", "300")
	confetti("collect", "simulate", "--csv", at("people.csv"), "--column", "drink", "--epsilon", "4", "--delta", "1e-6", "--encoding", "krr", "--full", "--work", at("work"), "--part-bytes", "1500")
	if err := os.Rename(at("work", "plan.json"), at("work", "keys", "plan.json")); err != nil {
		t.Fatal(err)
	}
	const parts = "/parts/PLAN/BATCH/DIGEST"
	for index := range j.Spec.Completions {
		var args []string
		for _, a := range pod.Containers[0].Args {
			a = strings.NewReplacer("$(JOB_COMPLETION_INDEX)", fmt.Sprint(index), parts+"/tables", at("tables"), parts, at("work", "batches", "0_0"), "/private", at("work", "keys")).Replace(a)
			args = append(args, a)
		}
		if all := strings.Join(args, " "); !strings.Contains(all, fmt.Sprintf("--worker=%d/%d", index, j.Spec.Completions)) {
			t.Errorf("pod %d of %d does not count its share: %s", index, j.Spec.Completions, all)
		}
		confetti(args...)
	}
	plan, key := at("work", "keys", "plan.json"), at("work", "keys", "analyzer.key")
	confetti("count", "--plan", plan, "--merge", at("tables"), "--out", at("whole"))
	confetti("count", "--plan", plan, "--key", key, "--parts", at("work", "batches", "0_0"), "--out", at("one"))
	whole, err := os.ReadFile(at("whole"))
	if err != nil {
		t.Fatal(err)
	}
	if one, err := os.ReadFile(at("one")); err != nil || !bytes.Equal(one, whole) {
		t.Errorf("the pods' tables add up to something else: %v", err)
	}
}

// Parts that lie in a bucket are counted as those in a folder are, table for table.
func TestCountFromABucket(t *testing.T) {
	service := blobtest.Start(t)
	dir := t.TempDir()
	at := func(elements ...string) string { return filepath.Join(append([]string{dir}, elements...)...) }
	confetti := func(wants int, args ...string) string {
		t.Helper()
		var said bytes.Buffer
		if code := run(args, terminal.Streams{Out: io.Discard, Err: &said}); code != wants {
			t.Fatalf("%q: exit %d: %s", args, code, &said)
		}
		for _, secret := range []string{blobtest.KeyID, blobtest.Secret} {
			if strings.Contains(said.String(), secret) {
				t.Errorf("%q shows a key", args)
			}
		}
		return said.String()
	}
	confetti(0, "sample", at("people.csv"), "--rows", "300")
	confetti(0, "collect", "simulate", "--csv", at("people.csv"), "--column", "drink", "--epsilon", "4", "--delta", "1e-6", "--encoding", "krr", "--full", "--work", at("work"), "--part-bytes", "1500")
	plan, key, folder := at("work", "plan.json"), at("work", "keys", "analyzer.key"), at("work", "batches", "0_0")
	bucket := service.Open(t, "plan/batch")
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		name, broken := filepath.Rel(folder, path)
		return errors.Join(err, broken, bucket.Put(t.Context(), filepath.ToSlash(name), body))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := bucket.Delete(t.Context(), "tables"); err != nil { // the simulation's own
		t.Fatal(err)
	}
	for worker := range 3 {
		confetti(0, "count", "--plan", plan, "--key", key, "--parts", service.At("plan/batch"), "--worker", fmt.Sprintf("%d/3", worker), "--out", service.At(fmt.Sprintf("plan/batch/tables/%d", worker)))
		confetti(0, "count", "--plan", plan, "--key", key, "--parts", folder, "--worker", fmt.Sprintf("%d/3", worker), "--out", at(fmt.Sprint(worker)))
		want, err := os.ReadFile(at(fmt.Sprint(worker)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := bucket.Get(t.Context(), fmt.Sprintf("tables/%d", worker)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("worker %d counts something else from a bucket: %v", worker, err)
		}
	}
	confetti(0, "count", "--plan", plan, "--merge", service.At("plan/batch/tables"), "--out", at("whole"))
	confetti(0, "count", "--plan", plan, "--key", key, "--parts", folder, "--out", at("one"))
	whole, err := os.ReadFile(at("whole"))
	if err != nil {
		t.Fatal(err)
	}
	if one, err := os.ReadFile(at("one")); err != nil || !bytes.Equal(one, whole) {
		t.Errorf("the tables in the bucket add up to something else: %v", err)
	}
	for _, c := range []struct {
		code       int
		parts, out string
		says       string
	}{
		{1, service.At("plan/nothing"), at("no"), "there is nothing at s3://parts/of/plan/nothing"},
		{1, "s3://parts/*/*", at("no"), "and no pattern"},
		{2, folder, "s3://parts", "give s3://BUCKET/NAME"},
		{1, strings.Replace(service.At("plan/batch"), "s3://parts/", "s3://nobodys/", 1), at("no"), "404 NoSuchBucket"},
	} {
		if said := confetti(c.code, "count", "--plan", plan, "--key", key, "--parts", c.parts, "--out", c.out); !strings.Contains(said, c.says) {
			t.Errorf("%s, %s: %s", c.parts, c.out, said)
		}
	}
	if _, err := os.Stat(at("no")); err == nil {
		t.Error("a table was written of what cannot be read")
	}
	service.Kill()
	confetti(1, "count", "--plan", plan, "--key", key, "--parts", service.At("plan/batch"), "--out", at("no"))
}
