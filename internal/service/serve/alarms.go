package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
)

// AlarmID names an alarm by its text: one that says something else, be it another number,
// is another alarm.
func AlarmID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Acknowledged is an alarm that an operator has seen. It stays in sight and is no reason
// any more to look.
type Acknowledged struct {
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// acknowledgements are of alarms that are there: each ends with its alarm, and all of
// them with the process, so that whoever starts a service looks at everything anew.
type acknowledgements struct {
	mu sync.Mutex
	at map[string]time.Time // by AlarmID
}

// sort takes the alarms that were acknowledged from the others, and forgets the
// acknowledgements of alarms that are gone.
func (a *acknowledgements) sort(st *Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	there := map[string]time.Time{}
	var open []string
	for _, text := range st.Alarms {
		at, known := a.at[AlarmID(text)]
		if !known {
			open = append(open, text)
			continue
		}
		there[AlarmID(text)] = at
		st.Acknowledged = append(st.Acknowledged, Acknowledged{text, at})
	}
	st.Alarms, a.at = open, there
}

func (a *acknowledgements) add(id string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at[id] = now
}

// maxAcknowledge bounds the body of an acknowledgement, in bytes.
const maxAcknowledge = 1 << 10

// postAlarm takes an operator's acknowledgement of an alarm that is there.
func (s *Server) postAlarm(w http.ResponseWriter, r *http.Request) error {
	if s.config.Operators == nil {
		return wire.Problemf(wire.Unauthenticated, "anybody could ask this of a service without operators: set http.operators")
	}
	var asked struct {
		Alarm string `json:"alarm"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAcknowledge))
	if err != nil || json.Unmarshal(body, &asked) != nil || asked.Alarm == "" {
		return wire.Problemf(wire.BadRequest, `a JSON object of at most %d bytes with the alarm's id is wanted: {"alarm": "..."}`, maxAcknowledge)
	}
	for _, text := range s.status(r.Context()).Alarms {
		if AlarmID(text) == asked.Alarm {
			s.acknowledged.add(asked.Alarm, time.Now().UTC().Truncate(time.Second))
			s.config.Log.Info("an alarm was acknowledged", "alarm", text)
			return WriteJSON(w, s.status(r.Context()))
		}
	}
	return wire.Problemf(wire.NotFound, "no alarm with this id waits to be acknowledged")
}
