package client_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/storage/durable/durabletest"
)

func TestMain(m *testing.M) {
	durabletest.InMemory()
	goleak.VerifyTestMain(m)
}
