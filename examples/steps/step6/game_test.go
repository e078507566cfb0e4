package step6

import (
	"testing"
	"time"

	"meanwhile/gametest"
	"meanwhile/netsim"
)

func TestTwoMinutesOnBadNetworks(t *testing.T) {
	m := gametest.New(t, &Game, 7) // a seed; a failure prints the command that replays it
	m.Join("ann", netsim.TrainLTE, Bot)
	for range 7 {
		m.Join("bot", netsim.HotelWiFi, Bot)
	}
	m.Run(2 * time.Minute) // virtual time
	m.MustBePlayable(t)
}
