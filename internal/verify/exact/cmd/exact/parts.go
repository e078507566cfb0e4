package main

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"time"

	"meanwhile/examples/arena"
	"meanwhile/examples/kick"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"meanwhile/server"
)

// wireSum hashes headers and codes of pseudo-random values.
func wireSum() uint64 {
	h := fnv.New64a()
	r := geom.NewRand(2)
	var b []byte
	for range 20000 {
		head := wire.Header{
			Seq:     wire.Seq(r.Uint64()),
			Stamp:   clock.Stamp(r.Uint64()),
			Elicits: r.Chance(0.5),
			HasAck: r.Chance(
				0.8,
			),
			HasEcho: r.Chance(0.5),
			Echo:    clock.Stamp(r.Uint64()),
			EchoAt:  clock.Stamp(r.Uint64()),
			Server:  r.Chance(0.5),
			Tick:    clock.Tick(r.Uint64()),
			Time:    clock.Stamp(r.Uint64()),
			NextDue: wire.Due(r.IntN(16)),
		}
		head.Ack = wire.Ack{Latest: wire.Seq(r.Uint64()), History: ^uint64(0) << r.IntN(64)}
		var w wire.BitWriter
		w.Reset(b[:0])
		head.Append(&w, wire.Known{Ack: head.Ack.Latest - wire.Seq(r.IntN(80))})
		for k := range 16 {
			w.Uvarint(r.Uint64()>>uint(16+r.IntN(48)), k)
			w.Varint(int64(r.Uint64())>>uint(16+r.IntN(48)), k)
		}
		b = w.Bytes()
		h.Write(b)
	}
	return h.Sum64()
}

// labSum hashes every byte that servers and clients of three games send each other over a bad
// network.
func labSum() uint64 {
	h := fnv.New64a()
	for _, of := range []func() (*game.Rules, error){zap.Game.Rules, arena.Game.Rules, kick.Game.Rules} {
		rules, err := of()
		fail(err)
		s, err := gametest.NewSim(rules, 3, server.Config{})
		fail(err)
		for i := range 6 {
			_, err := s.Join(fmt.Sprint("bot", i), netsim.Ocean, rules.Bot())
			fail(err)
		}
		s.Run(8 * time.Second)
		fail(s.Diverged())
		h.Write(binary.LittleEndian.AppendUint64(nil, s.Hash()))
	}
	return h.Sum64()
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "exact:", err)
		os.Exit(1)
	}
}
