package trial

import (
	"net"
	"strconv"

	"github.com/confetti-dp/confetti/internal/loopback"
)

// Addresses returns so many URLs of services of this machine, at ports that no other trial is given while this one is up.
func Addresses(n int) ([]string, error) {
	urls := make([]string, n)
	for i := range urls {
		port, err := loopback.Port()
		if err != nil {
			return nil, err
		}
		urls[i] = "https://" + net.JoinHostPort(Host, strconv.Itoa(port))
	}
	return urls, nil
}
