package serve

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// Publishers are those whose plans a service takes. A file of them is read again when
// it changes: a key is revoked without a restart. It is safe for concurrent use.
type Publishers struct {
	fixed plan.Publishers
	file  *watched[plan.Publishers] // nil: those are all
}

// Trust is publishers of these public keys, any of whom is enough.
func Trust(keys ...string) *Publishers { return &Publishers{fixed: plan.Trust(keys...)} }

// ReadPublishers reads a file as of plan.ReadPublishers.
func ReadPublishers(path string) (*Publishers, error) {
	w, err := watch(func() (plan.Publishers, error) { return plan.ReadPublishers(path) }, path)
	if err != nil {
		return nil, err
	}
	return &Publishers{file: w}, nil
}

// OpenPublishers reads what a service's configuration names: a list of public keys, or
// a file. The error names the setting.
func OpenPublishers(keys []string, file Path) (*Publishers, error) {
	switch {
	case len(keys) > 0 && file != "":
		return nil, Fault("publishers", errors.New("the file of publishers_file says everything: set publishers or publishers_file, not both"))
	case file != "":
		p, err := ReadPublishers(string(file))
		return p, Fault("publishers_file", errors.Join(err, Closed(file)))
	case len(keys) == 0:
		return nil, Fault("publishers", errors.New("name at least one public key, or as publishers_file a file of them"))
	}
	var errs []error
	for i, k := range keys {
		_, err := relay.ParseVerifyKey(k)
		errs = append(errs, Fault(fmt.Sprintf("publishers[%d]", i), err))
	}
	return Trust(keys...), errors.Join(errs...)
}

// Now returns the publishers as the file has them.
func (p *Publishers) Now() plan.Publishers {
	if p.file == nil {
		return p.fixed
	}
	now, _ := p.file.get()
	return now
}

// Err returns why the file cannot be read any more; what was read last still counts.
func (p *Publishers) Err() error {
	if p.file == nil {
		return nil
	}
	_, err := p.file.get()
	return err
}
