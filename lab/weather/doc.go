// Package weather plays whole matches under faults that a seed draws: networks that break, programs
// that hang, clocks that are set, players who come and go, worlds that begin anew, rules that
// panic. It checks at every tick what must hold, and afterwards that everything is whole again.
// What fails is shrunk to the smallest plan that still fails.
package weather
