//go:build libconfetti

// Command libconfetti puts a device behind a C interface: client with the system's disk and sockets, as a library and
// no program. Used by C, and by client/kotlin, client/swift and every language that calls C.
//
// include/confetti.h says what each function takes and gives. With the tag libconfetti and a C compiler it is built by
// -buildmode=c-shared or c-archive; docs/embedding.md has the lines.
package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"github.com/confetti-dp/confetti/internal/client/embed"
	_ "github.com/confetti-dp/confetti/question/all"
)

func main() {} // of a library nobody calls it

// text returns what C gave, copied: the caller may free it when the call is over.
func text(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}

// reply returns what f gives in memory that is C's.
func reply(f func() (any, error)) *C.char { return C.CString(string(embed.Reply(f))) }

//export goVersion
func goVersion() *C.char { return reply(about) }

//export goCall
func goCall(seconds C.double) C.uint64_t { return C.uint64_t(begin(float64(seconds))) }

//export goCancel
func goCancel(call C.uint64_t) { cancel(uint64(call)) }

//export goConsent
func goConsent(folder *C.char, agreed C.int) *C.char {
	path := text(folder)
	return reply(func() (any, error) { return consent(path, agreed != 0) })
}

//export goOpen
func goOpen(folder, options *C.char, call C.uint64_t) *C.char {
	path, o := text(folder), text(options)
	return reply(func() (any, error) { return open(during(uint64(call)), path, o) })
}

//export goReport
func goReport(device C.uint64_t, answers *C.char, call C.uint64_t) *C.char {
	a := text(answers)
	return reply(func() (any, error) {
		d, err := devices.get(uint64(device))
		if err != nil {
			return nil, err
		}
		return d.Report(during(uint64(call)), []byte(a))
	})
}

//export goAnswer
func goAnswer(device C.uint64_t, answers *C.char) *C.char {
	a := text(answers)
	return reply(func() (any, error) {
		d, err := devices.get(uint64(device))
		if err != nil {
			return nil, err
		}
		return d.Answer([]byte(a))
	})
}

//export goDeliver
func goDeliver(device C.uint64_t, call C.uint64_t) *C.char {
	return reply(func() (any, error) {
		d, err := devices.get(uint64(device))
		if err != nil {
			return nil, err
		}
		return d.Deliver(during(uint64(call)))
	})
}

//export goClose
func goClose(device C.uint64_t) {
	if d, err := devices.take(uint64(device)); err == nil {
		d.Close()
	}
}

//export goLedger
func goLedger(folder *C.char) *C.char {
	path := text(folder)
	return reply(func() (any, error) { return ledger(path) })
}

//export goMetricsOpen
func goMetricsOpen(folder, options *C.char) *C.char {
	path, o := text(folder), text(options)
	return reply(func() (any, error) { return openMetrics(path, o) })
}

// counting returns what f gives of the metrics of a number.
func counting(n C.uint64_t, f func(*app) (any, error)) *C.char {
	return reply(func() (any, error) {
		a, err := apps.get(uint64(n))
		if err != nil {
			return nil, err
		}
		return f(a)
	})
}

//export goMetricsConsent
func goMetricsConsent(metrics C.uint64_t, agreed C.int) *C.char {
	return counting(metrics, func(a *app) (any, error) { return done{}, a.Consent(agreed != 0) })
}

//export goMetricsNew
func goMetricsNew(metrics C.uint64_t) *C.char { return counting(metrics, (*app).news) }

//export goMetricsRecord
func goMetricsRecord(metrics C.uint64_t, name, value *C.char) *C.char {
	n, v := text(name), text(value)
	return counting(metrics, func(a *app) (any, error) { return a.record(n, v) })
}

//export goMetricsArm
func goMetricsArm(metrics C.uint64_t, name *C.char) *C.char {
	n := text(name)
	return counting(metrics, func(a *app) (any, error) { return a.arm(n) })
}

//export goMetricsStep
func goMetricsStep(metrics C.uint64_t, call C.uint64_t) *C.char {
	return counting(metrics, func(a *app) (any, error) { return a.step(during(uint64(call))) })
}

//export goMetricsShow
func goMetricsShow(metrics C.uint64_t) *C.char { return counting(metrics, (*app).show) }

//export goMetricsClose
func goMetricsClose(metrics C.uint64_t) {
	if a, err := apps.take(uint64(metrics)); err == nil {
		_ = a.stop() // nobody is told
	}
}
