package netsim

// A Preset is a network that panels offer to players by name.
type Preset struct {
	Name                string  // of a Profile
	Title               string  // for a button
	Delay, Jitter, Loss float64 // about what it does one way: milliseconds, and per cent
}

// Presets returns the networks that panels offer.
func Presets() []Preset {
	return []Preset{
		{"wifi", "Hotel Wi-Fi", 15, 15, 0.5},
		{"burst", "Loss in bursts", 25, 5, 2.5},
		{"ocean", "Across an ocean", 75, 30, 5},
		{"lte-c", "LTE on a train", 20, 150, 0},
		{"evdo", "3G", 40, 150, 0},
		{"modem", "Modem, 13 kbit/s", 120, 0, 0},
	}
}
