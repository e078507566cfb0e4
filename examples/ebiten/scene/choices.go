package scene

import (
	"meanwhile/app/play"
	"meanwhile/netsim"
)

// A Choice is a line of the panel that a key changes.
type Choice struct{ Key, Name, Value string }

// Choices are what a player can try, as it is now.
func Choices(network string, t play.Techniques) []Choice {
	title, onOff := "as it is", map[bool]string{false: "on", true: "off"}
	for _, p := range netsim.Presets() {
		if p.Name == network {
			title = p.Title
		}
	}
	return []Choice{
		{"N", "Your network", title},
		{"P", "Prediction", onOff[t.NoPrediction]},
		{"I", "Interpolation", onOff[t.NoInterpolation]},
		{"R", "Rewind", onOff[t.NoRewind]},
	}
}

// NextNetwork returns the network after one; after the last comes "", the player's own.
func NextNetwork(network string) string {
	all := netsim.Presets()
	if network == "" {
		return all[0].Name
	}
	for i, p := range all[:len(all)-1] {
		if p.Name == network {
			return all[i+1].Name
		}
	}
	return ""
}
