package lab

// alwaysLimits hold for every run, however short.
func alwaysLimits() []limit {
	return []limit{
		most("clock", "", "backward_steps", 0),
		most("clock", "", "bound_violations", 0),
		most("clock", "", "estimated_violations", 0),

		// Bits of generated movement may not slip: all of a record but the share of its packet.
		most("codec", "", "bits_per_record", 4.2).with(moving("generated-walkers", "1cm", 1)),
		most("codec", "", "bits_per_record", 6.6).with(moving("generated-walkers", "1cm", 3)),
		most("codec", "", "bits_per_record", 8.9).with(moving("generated-walkers", "1cm", 6)),
		most("codec", "", "bits_per_record", 14.6).with(moving("generated-shooters", "1cm 8bit", 1)),
		most("codec", "", "bits_per_record", 22.6).with(moving("generated-shooters", "1cm 8bit", 3)),
		most("codec", "", "bits_per_record", 28.7).with(moving("generated-shooters", "1cm 8bit", 6)),
		most("codec", "", "bits_per_record", 23.5).with(moving("generated-cars", "1cm 1cm/s 3x9bit", 1)),
		most("codec", "", "bits_per_record", 35.5).with(moving("generated-cars", "1cm 1cm/s 3x9bit", 3)),
		most("codec", "", "bits_per_record", 44.9).with(moving("generated-cars", "1cm 1cm/s 3x9bit", 6)),

		// A state that a client applies is the server's state of that tick; a prediction that
		// nothing outside influenced is what the server computes; the last state arrives, and then
		// nothing flows; no second exceeds the budget of 64 kbit/s.
		most("arena", "", "divergences", 0),
		most("arena", "", "clean_mispredictions", 0),
		least("arena", "", "converged", 1),
		most("arena", "", "state_bytes_at_rest", 0),
		most("arena", "", "max_window_bits", 64_000),

		// What a client claims to have seen gains it little on a path that shows how old that may be, and
		// who withholds and delays gains little beyond what it sees itself, or a player on a slow path has.
		most("lies", "lan", "gain_ms", 30).with(told("older")),
		most("lies", "lan", "gain_ms", 20).with(told("older-shot")),
		most("lies", "lan", "gain_ms", 20).with(told("older-rest")),
		most("lies", "lan", "gain_ms", 0).with(told("no-time")),
		most("lies", "lan", "gain_ms", 30).with(told("older-ramp")),
		most("lies", "lan", "gain_ms", 22).with(told("jitter")),
		most("lies", "lan", "newer_ms", 30).with(told("newer-shot")),
		most("lies", "lan", "gain_ms", 35).with(told("packets")),
		most("lies", "lan", "gain_ms", 20).with(told("packets-shot")),
		most("lies", "lan", "gain_ms", 40).with(told("early")),
		most("lies", "lan", "gain_ms", 70).with(told("lag-relabelled")),
		most("lies", "lan", "beyond_ms", 80).with(told("acks-withheld")),
		most("lies", "fiber", "gain_ms", 60).with(told("older")),
		most("lies", "fiber", "gain_ms", 40).with(told("older-shot")),
		most("lies", "fiber", "gain_ms", 40).with(told("jitter")),
		most("lies", "fiber", "gain_ms", 60).with(told("packets")),
		most("lies", "fiber", "beyond_ms", 80).with(told("acks-withheld")),
		most("lies", "", "beyond_ms", 20).with(told("acks-late")),
		most("lies", "", "beyond_ms", 20).with(told("lag")),
		most("lies", "lan", "beyond_ms", 30).with(told("lag-switched")),
		most("lies", "fiber", "beyond_ms", 90).with(told("lag-switched")),
		most("lies", "lan", "clamped", 0.001).with(told("honest")),
		most("lies", "fiber", "clamped", 0.001).with(told("honest")),

		// No way to send commands moves further than time allows, and what the rules hide is in no
		// packet.
		most("cheats", "", "gained_ticks_per_min", 9), // of 3600
		most("cheats", "", "jump_cm", 0.1).with(Values{{"commands", "timed"}}),
		most("cheats", "", "jump_cm", 390).with(Values{{"commands", "queued"}}),
		most("cheats", "lan", "rewritten_per_min", 0),
		most("cheats", "", "untouchable_ms", 0),
		most("walls", "", "hidden_states", 0),
		most("walls", "", "hidden_names", 0),

		// A bouncing ball keeps its peaks, and whoever stops is drawn where it stopped.
		least("bounce", "", "lowest_peak_cm", 76),
		most("buffer", "", "stop_error_cm", 0.1),

		// What a player's own hands do shows at once, on every path, and is right by itself.
		most("predict", "", "clean_mispredictions", 0),
		most("predict", "", "spawn_latency_ms", 34), // a tick and a frame
		most("predict", "", "own_latency_ms", 17),
		most("predict", "loopback", "starved_share", 0), // the server runs the commands that were predicted
		most("predict", "", "inside_share", 0.02),

		// What was on the screen is what is judged: exactly, wherever the command arrives in time.
		most("hits", "lan", "wrong_hits", 0),
		most("hits", "lan", "wrong_misses", 0),
		most("hits", "fiber", "wrong_hits", 0),
		most("hits", "fiber", "wrong_misses", 0),
		most("hits", "ocean", "view_error_p99_cm", 0.1),
		most("hits", "ocean", "eye_error_p99_cm", 0.1),

		// A crowd through 13 kbit/s: no second exceeds it, and errors of what clients hold and draw.
		most("budget", "", "max_window_bits", 13_000).with(inCrowd("uniform", 13_000)),
		least("budget", "", "records_per_s", 200).with(inCrowd("uniform", 13_000)),
		most("budget", "", "held_30m_cm", 110).with(inCrowd("uniform", 13_000)),
		most("budget", "", "held_all_cm", 400).with(inCrowd("uniform", 13_000)),
		most("budget", "", "drawn_30m_cm", 40).with(inCrowd("uniform", 13_000)),
		least("budget", "", "known_share", 0.98).with(inCrowd("uniform", 13_000)),
		most("budget", "", "max_window_bits", 13_000).with(inCrowd("hot", 13_000)),
		most("budget", "", "held_30m_cm", 600).with(inCrowd("hot", 13_000)),
		least("budget", "", "known_share", 0.6).with(inCrowd("hot", 13_000)),

		// A hang costs no more than itself. On a cell, what starves then starves without a hang
		// too. A lone tick that starves up to half a second later makes the longest time longer.
		most("hang", "fiber", "starved_per_min", 8),
		most("hang", "fiber", "deaf_ms", 500),
		most("hang", "fiber", "normal_after_ms", 1500),
		most("hang", "lte-a", "starved_per_min", 600),

		most("hundred", "ocean", "divergences", 0),
		// Thousands of creatures through 13 kbit/s: no second above it, and near ones are where
		// they are, also as the game draws them.
		most("invasion", "", "max_window_bits", 13_000).with(at13),
		most("invasion", "", "held_10m_cm", 50).with(at13),
		most("invasion", "", "drawn_30m_cm", 25).with(at13),
		most("invasion", "", "jolts_per_min", 10).with(at13),

		least("hundred", "ocean", "states_compared", 100_000),
		least("hundred", "ocean", "same_bytes", 1),
		most("hundred", "ocean", "max_window_bits", 64_000),
	}
}

var (
	inTime       = Values{{"late_stamp_ms", 0.0}}
	late         = Values{{"late_stamp_ms", 8.0}}
	interpolated = Values{{"extrapolate_ms", 0.0}}
	at20Hz       = append(Values{{"rate_hz", 20}}, interpolated...)
	at60Hz       = append(Values{{"rate_hz", 60}}, interpolated...)
	at10Hz       = append(Values{{"rate_hz", 10}}, interpolated...)
	extrapolated = Values{{"rate_hz", 20}, {"extrapolate_ms", 100.0}}
	at13         = Values{{"budget_bps", 13_000}}
	of40         = Values{{"updates_per_tick", 40}}
)

// told names rows of lies, with all checks.
func told(lie string) Values { return Values{{"lie", lie}, {"without", "nothing"}} }

// inCrowd names rows of budget.
func inCrowd(variant string, budget int) Values {
	return Values{{"crowd", variant}, {"budget_bps", budget}}
}

// moving names rows of codec.
func moving(movement, precision string, age int) Values {
	return Values{{"movement", movement}, {"precision", precision}, {"ack_age_ticks", age}}
}

// gateLimits are what `lab gate` checks. Time has its targets. Agreement and hitches in the arena
// are limited to about what the code reaches now, with room for other seeds; the limits follow
// improvements, never the other way.
var gateLimits = append(alwaysLimits(),
	most("budget", "", "max_window_bits", 32_000).with(inCrowd("uniform", 32_000)),
	most("budget", "", "max_window_bits", 32_000).with(inCrowd("hot", 32_000)),
	most("budget", "", "max_window_bits", 64_000).with(inCrowd("uniform", 64_000)),
	most("budget", "", "max_window_bits", 64_000).with(inCrowd("hot", 64_000)),
	most("clock", "fiber", "p99_ms", 0.5).with(inTime),
	most("clock", "wifi", "p99_ms", 0.5).with(inTime),
	most("clock", "burst", "p99_ms", 0.5).with(inTime),
	most("clock", "lte-a", "p99_ms", 0.5).with(inTime),
	most("clock", "lte-b", "p99_ms", 0.5).with(inTime),
	most("clock", "lte-c", "p99_ms", 0.5).with(inTime),
	most("clock", "evdo", "p99_ms", 1.1).with(append(Values{{"drift_ppm", 0}}, inTime...)),
	most("clock", "evdo", "p99_ms", 1.1).with(append(Values{{"drift_ppm", 50}}, inTime...)),
	most("clock", "evdo", "p99_ms", 2).with(append(Values{{"drift_ppm", -200}}, inTime...)),
	most("clock", "", "p99_ms", 2).with(late),

	most("playout", "mean", "ratio", 2.05).with(at20Hz),
	most("playout", "mean", "ratio", 2.2).with(at60Hz),
	most("playout", "mean", "ratio", 1.9).with(at10Hz),
	most("playout", "mean", "hitches_per_min", 1).with(interpolated),
	most("playout", "mean", "hitches_per_min", 1.1).with(extrapolated),
	most("playout", "mean", "worst_hitches_per_min", 2),
	most("playout", "mean", "warp", 0.026),
	most("playout", "fiber", "mean_delay_ms", 60).with(at20Hz),
	most("playout", "mean", "mean_delay_ms", 120).with(extrapolated),

	// The generated cells stop more often than the recorded ones on which the target, 105 ms at 5.6
	// a minute, was set: docs/results/input.md.
	most("input", "mean", "mean_lead_ms", 117),
	most("input", "mean", "starved_per_min", 7.6),
	most("input", "mean", "speed_deviation", 0.005),
	most("input", "fiber", "mean_lead_ms", 34),

	most("entities", "mean", "mean_delay_ms", 430).with(of40),
	most("entities", "mean", "hitches_per_entity_min", 1.2).with(of40),
	most("entities", "fiber", "broken_share", 0.01).with(of40),
	least("entities", "mean", "records_per_s", 770).with(of40),

	most("path", "narrows", "settle_s", 3),
	most("path", "modem", "settle_s", 2),
	most("path", "", "relapses", 0),
	least("path", "narrows", "utilisation", 0.85),
	least("path", "modem", "utilisation", 0.8),

	most("outage", "", "leap_max_cm", 25).with(Values{{"gap_ms", 1000}}),
	most("outage", "", "leap_max_cm", 25).with(Values{{"gap_ms", 400}}),

	most("predict", "wifi", "ball_step_max_cm", 25),
	most("predict", "ocean", "ball_step_max_cm", 35),
	most("predict", "ocean", "corrections_p99_cm", 30),

	least("hits", "lan", "agreement", 0.9999),
	least("hits", "fiber", "agreement", 0.999),
	least("hits", "ocean", "agreement", 0.998),
	least("hits", "fiber", "same_verdict", 0.9999),
	least("hits", "ocean", "same_verdict", 0.999),
	least("hits", "ocean-13k", "same_verdict", 0.98),

	least("arena", "lan", "agreement", 0.996),
	least("arena", "fiber", "agreement", 0.996),
	least("arena", "wifi", "agreement", 0.988),
	least("arena", "burst", "agreement", 0.99),
	least("arena", "ocean", "agreement", 0.986),
	least("arena", "lte-a", "agreement", 0.97),
	least("arena", "lte-b", "agreement", 0.97),
	least("arena", "lte-c", "agreement", 0.965),
	least("arena", "evdo", "agreement", 0.965),
	least("arena", "modem", "agreement", 0.75), // 13 kbit/s each way: what the path carries is found out, and kept to
	most("arena", "modem", "starved_share", 0.3),
	most("arena", "modem", "up_kbps", 13),
	most("arena", "ocean", "up_kbps", 56),
	most("arena", "lan", "hitches_per_min", 0.2),
	most("arena", "fiber", "hitches_per_min", 1),
	most("arena", "wifi", "hitches_per_min", 1),
	most("arena", "burst", "hitches_per_min", 2.8),
	most("arena", "ocean", "hitches_per_min", 3.2),
	most("arena", "lte-a", "hitches_per_min", 2),
	most("arena", "lte-b", "hitches_per_min", 2),
	most("arena", "lte-c", "hitches_per_min", 4.5), // with 13 ms less delay than at 3
	most("arena", "evdo", "hitches_per_min", 2.7),
	most("arena", "lte-c", "jolts_per_min", 4),
	most("arena", "evdo", "jolts_per_min", 3),
	most("arena", "evdo", "outage_share", 0.02),
	most("arena", "evdo", "view_age_ms", 420),
	// What rests far away is on a grid of 4 cm.
	most("arena", "lan", "view_error_p95_cm", 3),
	most("arena", "fiber", "view_error_p95_cm", 3),
	most("arena", "wifi", "view_error_p95_cm", 3),
	most("arena", "burst", "view_error_p95_cm", 3),
	most("arena", "ocean", "view_error_p95_cm", 3),
)

// quickLimits are what `lab gate --quick` checks. Its matches last seconds, so the limits are
// wider.
var quickLimits = append(alwaysLimits(),
	most("entities", "mean", "mean_delay_ms", 450),
	most("entities", "mean", "hitches_per_entity_min", 1.5),
	most("entities", "fiber", "broken_share", 0.01),

	most("clock", "fiber", "p99_ms", 0.7).with(inTime),
	most("clock", "wifi", "p99_ms", 0.7).with(inTime),
	most("clock", "", "p99_ms", 4),

	most("playout", "mean", "ratio", 2.25).with(at20Hz),
	most("playout", "mean", "hitches_per_min", 1.5),
	most("playout", "mean", "worst_hitches_per_min", 3),

	most("input", "mean", "mean_lead_ms", 125),
	most("input", "mean", "starved_per_min", 12),
	most("input", "mean", "speed_deviation", 0.005),

	least("hits", "lan", "agreement", 0.999),
	least("hits", "fiber", "agreement", 0.998),
	least("hits", "ocean", "agreement", 0.99),
	least("hits", "ocean", "same_verdict", 0.998),

	least("arena", "lan", "agreement", 0.985),
	least("arena", "fiber", "agreement", 0.985),
	least("arena", "wifi", "agreement", 0.96),
	least("arena", "ocean", "agreement", 0.95),
	most("arena", "lan", "hitches_per_min", 1),
	most("arena", "fiber", "hitches_per_min", 4),
	most("arena", "ocean", "hitches_per_min", 6),
)
