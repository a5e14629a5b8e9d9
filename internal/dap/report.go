package dap

import "encoding/binary"

// Extension is a further statement of a report (4.4.3).
type Extension struct {
	Type uint16
	Data []byte
}

// Metadata is what is public of a report (4.4.2).
type Metadata struct {
	ID         ReportID
	Time       uint64 // in units of the task's precision since 1970
	Extensions []Extension
}

// Ciphertext is what is sealed to one party (4.1).
type Ciphertext struct {
	Config  byte // which of the party's keys
	Enc     []byte
	Payload []byte
}

// Report is what a device uploads.
type Report struct {
	Metadata
	Public         []byte // share
	Leader, Helper Ciphertext
}

// InputShare is what an aggregator finds in its ciphertext.
type InputShare struct {
	Extensions []Extension // for this aggregator alone
	Share      []byte
}

func appendExtensions(b []byte, all []Extension) []byte {
	var list []byte
	for _, e := range all {
		list = appendOpaque16(binary.BigEndian.AppendUint16(list, e.Type), e.Data)
	}
	return appendOpaque16(b, list)
}

// extensions reads a list in strictly increasing order of types.
func (r *reader) extensions() (all []Extension) {
	list := reader{rest: r.opaque(2, 0)}
	for list.more() {
		e := Extension{Type: uint16(list.number(2)), Data: list.opaque(2, 0)}
		if len(all) > 0 && e.Type <= all[len(all)-1].Type {
			list.bad = true
		}
		all = append(all, e)
	}
	r.bad = r.bad || list.bad
	return all
}

func (m Metadata) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, m.ID[:]...), m.Time)
	return appendExtensions(b, m.Extensions)
}

func (r *reader) metadata() (m Metadata) {
	r.fixed(m.ID[:])
	m.Time = r.number(8)
	m.Extensions = r.extensions()
	return m
}

func (c Ciphertext) append(b []byte) []byte {
	return appendOpaque32(appendOpaque16(append(b, c.Config), c.Enc), c.Payload)
}

func (r *reader) ciphertext() (c Ciphertext) {
	c.Config = byte(r.number(1))
	c.Enc = r.opaque(2, 1)
	c.Payload = r.opaque(4, 1)
	return c
}

// Append writes a report as it stands in an UploadRequest.
func (p Report) Append(b []byte) []byte {
	b = appendOpaque32(p.Metadata.append(b), p.Public)
	return p.Helper.append(p.Leader.append(b))
}

func (r *reader) report() (p Report) {
	p.Metadata = r.metadata()
	p.Public = r.opaque(4, 0)
	p.Leader, p.Helper = r.ciphertext(), r.ciphertext()
	return p
}

// ParseUpload reads an UploadRequest of at most so many reports, and at least one.
func ParseUpload(b []byte, most int) (all []Report, err error) {
	r := reader{rest: b}
	for r.more() {
		if len(all) == most {
			return nil, errForm("upload request of so few reports as are taken at once")
		}
		all = append(all, r.report())
	}
	if !r.whole() || len(all) == 0 {
		return nil, errForm("upload request")
	}
	return all, nil
}

func (r *reader) reportError() ReportError {
	e := ReportError(r.number(1))
	if e == 0 || e > lastReportError {
		r.bad = true
	}
	return e
}

// Marshal writes a PlaintextInputShare.
func (s InputShare) Marshal() []byte {
	return appendOpaque32(appendExtensions(nil, s.Extensions), s.Share)
}

// ParseInputShare reads what InputShare.Marshal writes.
func ParseInputShare(b []byte) (InputShare, error) {
	r := reader{rest: b}
	s := InputShare{Extensions: r.extensions(), Share: r.opaque(4, 1)}
	if !r.whole() {
		return InputShare{}, errForm("plaintext input share")
	}
	return s, nil
}
