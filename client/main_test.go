package client_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent")) // of a JavaScript engine
}
