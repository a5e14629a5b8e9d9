package serve

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/wire"
)

// Operators acknowledge alarms that are there, and nobody else does; an acknowledgement
// ends with its alarm.
func TestOperatorsAcknowledgeAlarms(t *testing.T) {
	_, bearers, token := operator(t)
	alarms := []string{"the disk is full", "the clock was set"}
	show := func(context.Context) *Status { return &Status{Alarms: append([]string{}, alarms...)} }
	s := start(t, Config{Operators: bearers, Status: show})
	ada := []string{"Authorization", "Bearer " + token}
	about := func(id string) io.Reader { return strings.NewReader(`{"alarm":"` + id + `"}`) }
	disk := AlarmID(alarms[0])
	s.wants(wire.Unauthenticated, "POST", "/alarms", about(disk))
	for _, bad := range []string{"", "{", `{"alarm":7}`, `{"alarm":""}`} {
		s.wants(wire.BadRequest, "POST", "/alarms", strings.NewReader(bad), ada...)
	}
	s.wants(wire.BadRequest, "POST", "/alarms", strings.NewReader(strings.Repeat(" ", 1<<20)), ada...)
	s.wants(wire.NotFound, "POST", "/alarms", about("00000000"), ada...)
	status := func(method, path string, body io.Reader) (st Status) {
		t.Helper()
		_, text, p := s.do(method, path, body, ada...)
		if err := json.Unmarshal([]byte(text), &st); p != nil || err != nil {
			t.Fatal(p, err)
		}
		return st
	}
	if st := status("POST", "/alarms", about(disk)); len(st.Alarms) != 1 || st.Alarms[0] != alarms[1] || len(st.Acknowledged) != 1 || st.Acknowledged[0].Text != alarms[0] || st.Acknowledged[0].At.IsZero() {
		t.Errorf("%+v", st)
	}
	s.wants(wire.NotFound, "POST", "/alarms", about(disk), ada...) // it waits no more
	alarms = alarms[1:]
	if st := status("GET", "/status.json", nil); len(st.Alarms) != 1 || len(st.Acknowledged) != 0 {
		t.Errorf("%+v", st)
	}
	alarms = append(alarms, "the disk is full")
	if st := status("GET", "/status.json", nil); len(st.Alarms) != 2 || len(st.Acknowledged) != 0 {
		t.Errorf("an alarm that came back is acknowledged: %+v", st)
	}
	open := start(t, Config{Status: show})
	open.wants(wire.Unauthenticated, "POST", "/alarms", about(disk))
}
