package bucket

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/blob"
)

const scheme = "s3://"

// Is reports whether a place is in a bucket, as its scheme says.
func Is(place string) bool { return strings.HasPrefix(place, scheme) }

var (
	// bucketForm is what services take for the name of a bucket, which is part of a host at some.
	bucketForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]|\.[a-z0-9]){1,61}[a-z0-9]$`)
	regionForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

// Open reads the URL of a bucket, and asks nobody:
//
//	s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION
//
// PREFIX is a name. Without an endpoint it is AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, or
// else that of AWS for the region; without a region AWS_REGION, or else us-east-1. The keys are
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment (with AWS_SESSION_TOKEN if
// they are for a time), or those of the profile AWS_PROFILE in the file
// AWS_SHARED_CREDENTIALS_FILE, which is ~/.aws/credentials without it. No error names them.
func Open(place string) (*Bucket, error) {
	u, err := url.Parse(place)
	if err != nil || u.Scheme+"://" != scheme || u.Host == "" || u.Opaque != "" || u.Fragment != "" { // whose text may hold a password
		return nil, errors.New("blob: the URL of the bucket cannot be read: write s3://BUCKET/PREFIX?endpoint=https://HOST")
	}
	if u.User != nil {
		return nil, errors.New("blob: the URL of the bucket holds a key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, or name a file in AWS_SHARED_CREDENTIALS_FILE")
	}
	if !bucketForm.MatchString(u.Host) || len(u.Host) > 63 || net.ParseIP(u.Host) != nil {
		return nil, fmt.Errorf("blob: %q is no bucket: its name is 3 to 63 small letters, digits, single dots and -, and no address", u.Host)
	}
	b := &Bucket{bucket: u.Host, patience: patience, wait: firstWait}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		if !blob.IsName(prefix) {
			return nil, fmt.Errorf("blob: %s%s: what stands behind the bucket is letters, digits, -, _ and slashes, and no pattern", scheme, b.bucket)
		}
		b.prefix = prefix + "/"
	}
	asked := u.Query()
	for name := range asked {
		if name != "endpoint" && name != "region" {
			return nil, fmt.Errorf("blob: %s: the URL of a bucket has endpoint and region behind its question mark, and nothing else", b.of(""))
		}
	}
	if b.region = cmp.Or(asked.Get("region"), os.Getenv("AWS_REGION"), "us-east-1"); !regionForm.MatchString(b.region) {
		return nil, fmt.Errorf("blob: %s: its region cannot be read: write letters, digits and -, as in us-east-1", b.of(""))
	}
	address := cmp.Or(asked.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3."+b.region+".amazonaws.com")
	endpoint, err := url.Parse(address)
	switch {
	case err != nil || endpoint.User != nil || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "" || endpoint.RawQuery != "" || endpoint.Fragment != "":
		return nil, fmt.Errorf("blob: %s: its endpoint cannot be read: write https://HOST or https://HOST:PORT", b.of(""))
	case endpoint.Scheme != "https" && !(endpoint.Scheme == "http" && local(endpoint.Hostname())):
		return nil, fmt.Errorf("blob: %s: its endpoint is reached in the clear, and could be anybody: write https://", b.of(""))
	}
	if b.keys = findKeys(); !b.keys.fit() {
		return nil, fmt.Errorf("blob: %s: there are no keys for it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE (and AWS_PROFILE)", b.of(""))
	}
	b.root = url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host, Path: "/" + b.bucket + "/"}
	if at := endpoint.Hostname(); (strings.HasSuffix(at, ".amazonaws.com") || strings.HasSuffix(at, ".amazonaws.com.cn")) && !strings.Contains(b.bucket, ".") {
		b.root.Host, b.root.Path = b.bucket+"."+endpoint.Host, "/" // the name stands in the host at AWS, for whose certificates it has no dot
	}
	through := http.DefaultTransport.(*http.Transport).Clone()
	through.DisableCompression = true
	through.MaxIdleConnsPerHost = idle
	through.MaxResponseHeaderBytes = 64 << 10
	through.Protocols = new(http.Protocols)
	through.Protocols.SetHTTP1(true) // bodies of megabytes gain nothing from one connection
	b.http = &http.Client{
		Transport: through,
		// What is meant for one service is not carried on to another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return b, nil
}

// idle is how many connections stay open for the next request.
const idle = 16

// findKeys returns the keys of the environment, or of a profile in a file; none where there are none.
func findKeys() keys {
	if k := (keys{os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")}); k.id != "" && k.secret != "" {
		return k
	}
	home, _ := os.UserHomeDir() // without one, no file is there
	text, err := os.ReadFile(cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials")))
	if err != nil {
		return keys{}
	}
	var k keys
	fields := map[string]*string{"aws_access_key_id": &k.id, "aws_secret_access_key": &k.secret, "aws_session_token": &k.session}
	profile, within := cmp.Or(os.Getenv("AWS_PROFILE"), "default"), ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			within = strings.TrimSpace(strings.Trim(line, "[]"))
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		if field := fields[strings.TrimSpace(name)]; field != nil && within == profile {
			*field = strings.TrimSpace(value)
		}
	}
	return k
}

// local reports whether a host is this machine.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// patience is for a service that answers late, or sends slowly.
const patience = time.Minute

// firstWait is between the first two tries of a request.
const firstWait = 100 * time.Millisecond
