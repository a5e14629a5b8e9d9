package console

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
)

// doors are the limits of how fast strangers get something, those of one address and all of them.
type doors struct {
	ofAddress *serve.Rates[netip.Addr]
	inAll     *serve.Rates[struct{}]
}

// addressesKept are how many addresses are told apart, at least.
const addressesKept = 1 << 12

// newDoors lets so many of an address in at once and then one each while, and of all so many at once and
// then so many a second.
func newDoors(ofAddress int, each time.Duration, inAll int, perSecond float64) doors {
	return doors{serve.NewRates[netip.Addr](1/each.Seconds(), ofAddress, addressesKept), serve.NewRates[struct{}](perSecond, inAll, 1)}
}

// enter lets somebody in from this address, as net/http writes it, with its port; or says how long to wait,
// and whether for those of the same address. Who has to wait for these takes nothing from all others.
func (d doors) enter(remote string, now time.Time) (wait time.Duration, ofAddress bool, err error) {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return 0, false, fmt.Errorf("console: a request has the address %q", remote)
	}
	if wait := waits(d.ofAddress.AllowAt(serve.Network(at.Addr()), now)); wait > 0 {
		return wait, true, nil
	}
	return waits(d.inAll.AllowAt(struct{}{}, now)), false, nil
}

// waits returns how long a limit says to wait.
func waits(err error) time.Duration {
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		return max(p.RetryAfter, time.Second)
	}
	return 0
}
