package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
)

// roles are the images: each has one program, and the folder of its state.
var roles = []struct {
	program string
	state   []string
}{
	{"confetti", nil},
	{"confetti-server", []string{"confetti-analyzer", "confetti-issuer", "confetti-log"}},
	{"confetti-shuffler", []string{"confetti-shuffler"}},
	{"confetti-shuffler-postgres", []string{"confetti-shuffler"}},
	{"confetti-aggregator", []string{"confetti-leader", "confetti-helper"}},
	{"confetti-aggregator-postgres", []string{"confetti-leader", "confetti-helper"}},
}

// nobody owns what an image keeps, and runs its program.
const nobody = 65532

// Media types of the image format's specification, version 1.
const (
	ociIndex    = "application/vnd.oci.image.index.v1+json"
	ociManifest = "application/vnd.oci.image.manifest.v1+json"
	ociConfig   = "application/vnd.oci.image.config.v1+json"
	ociLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// images writes one a role, for each processor of Linux, as a layout in a tar: whoever loads it needs no registry.
func (e edition) images(ctx context.Context) error {
	for _, role := range roles {
		blobs := map[string][]byte{}
		keep := func(kind string, text []byte) descriptor {
			name := digest(text)
			blobs[name] = text
			return descriptor{MediaType: kind, Digest: "sha256:" + name, Size: len(text)}
		}
		var manifests []descriptor
		for _, t := range e.targets {
			if t.os != "linux" {
				continue
			}
			d, err := e.image(ctx, t, role.program, role.state, keep)
			if err != nil {
				return err
			}
			d.Platform = &platform{t.arch, t.os}
			d.Annotations = map[string]string{"org.opencontainers.image.ref.name": "v" + e.version}
			manifests = append(manifests, d)
		}
		if len(manifests) == 0 {
			continue
		}
		index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": ociIndex, "manifests": manifests})
		if err != nil {
			return err
		}
		all := []file{{name: "oci-layout", mode: 0o644, text: []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {name: "index.json", mode: 0o644, text: index}}
		for _, name := range sorted(blobs) {
			all = append(all, file{name: "blobs/sha256/" + name, mode: 0o644, text: blobs[name]})
		}
		text, err := tarred(e.at, withFolders(all))
		if err == nil {
			err = os.WriteFile(filepath.Join(e.out, role.program+"_"+e.version+".oci.tar"), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// image keeps the layer, the configuration and the manifest of one platform.
func (e edition) image(ctx context.Context, t target, program string, state []string, keep func(string, []byte) descriptor) (descriptor, error) {
	text, err := e.read(t, program)
	if err != nil {
		return descriptor{}, err
	}
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return descriptor{}, err
	}
	others, err := e.licenses(ctx, t, program)
	if err != nil {
		return descriptor{}, err
	}
	all := []file{
		{name: "etc/passwd", mode: 0o644, text: []byte("confetti:x:65532:65532::/:/sbin/nologin\n")},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: e.trusted},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/bin/" + program, mode: 0o755, text: text},
		{name: "usr/share/doc/" + program + "/LICENSE", mode: 0o644, text: own},
		{name: "usr/share/doc/" + program + "/" + notices, mode: 0o644, text: others},
	}
	volumes := map[string]struct{}{}
	for _, name := range state {
		all = append(all, file{name: "var/lib/" + name + "/", mode: 0o700, owner: nobody})
		volumes["/var/lib/"+name] = struct{}{}
	}
	layer, err := tarred(e.at, withFolders(all))
	if err != nil {
		return descriptor{}, err
	}
	config := map[string]any{
		"architecture": t.arch, "os": t.os, "created": e.at,
		"config": map[string]any{
			"Entrypoint": []string{"/usr/bin/" + program}, "User": "65532:65532", "Volumes": volumes,
			"Labels": map[string]string{"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.version": "v" + e.version},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
		"history": []map[string]any{{"created": e.at, "created_by": "confetti"}},
	}
	if len(volumes) == 0 {
		delete(config["config"].(map[string]any), "Volumes")
	}
	configured, err := json.Marshal(config)
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": ociManifest,
		"config": keep(ociConfig, configured), "layers": []descriptor{keep(ociLayer, packed(layer))},
	})
	if err != nil {
		return descriptor{}, err
	}
	return keep(ociManifest, manifest), nil
}
