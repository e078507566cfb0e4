package lab

// rivals say what other systems do or get where an experiment measures ours, by its name: what is
// known, and where from. (source) was read in the source of the version that rivalSources names,
// (docs) in the makers' own documents. Nobody ran them for this page.
var rivals = map[string]string{
	"clock": `The other rows are rules of others, run by us on the same packets: <b>mirror</b> asks every 100 ms and
averages over 50 answers (source), <b>lightyear</b> weighs round trips by 1/12 and leaves out outliers (source),
<b>unreal</b> is the engine's default as the article shows it, the mean of 250 one-way differences, and
<b>one-shot</b> is what the article puts in its place. None of them says how wrong it may be.`,
	"playout": `The other rows are rules of others, run by us on the same packets, as shipped and as tuned to one hitch
a minute. Mirror: mean and deviation of the delivery interval; lightyear: the larger of 5 ms and 1.7 send intervals, 4
times the jitter and a tick; geckos: three of the server's frames (source, all three). <b>gaffer</b>, <b>ramjee-4</b>,
<b>moon</b>, <b>neteq</b> and <b>kansal-karandikar</b> are from papers and articles. We found no system that reports
how often its display stalls.`,
	"tradeoff": `The other lines are rules of others, run by us on the same packets; those of experiment playout.`,
	"buffer": `<b>article</b> is the article's own code in our words, with its numbers: 350 ms in all, whatever the path
is. Glenn Fiedler's "Snapshot Interpolation", from which it has them, uses 350 ms too.`,
	"extrapolate": `Unity Netcode for Entities extrapolates in a straight line for up to 20 ticks (source), QuakeWorld
did for 100 ms (the article). Mirror and lightyear hold the newest state (source). Errors we found nowhere.`,
	"bounce": `<b>toward-newest</b> is the first of the article's two ways; Half-Life draws from a history of positions,
as we do.`,
	"outage": `Not known: we found no system that says how far its display jumps.`,
	"hang":   `Not known: we found no system that measures it.`,
	"path": `GameNetworkingSockets sends 256 KiB/s, whatever the path carries; its header calls estimating that future
work (source). Mirror, lightyear and Netcode for Entities estimate nothing of the kind (source).`,
	"input": `The other rows are rules of others, run by us on the same packets. lightyear's lead is half the round trip,
4 times the jitter and three ticks, with no report from the server; Netcode for Entities follows the age of
commands that the server reports, with two ticks of slack as shipped and four here (source, both). Overwatch's is
from its makers' talk.`,
	"sendrate": `Commands of earlier ticks ride along in each packet: those of 5 packets in lightyear, 3 in netfox, 1 to 5
in FishNet, up to 4 in Netcode for Entities (source). What a lower rate costs we found nowhere.`,
	"change": `Not known: we found no system that measures it.`,
	"ticks": `At most so many ticks run in one frame: 1 more in Netcode for Entities, 3 in FishNet, 8 in netfox (source).
Ryzom's servers wait for the slowest (source). What players see of that we found nowhere.`,
	"entities": `Ryzom's clients expect the next record after the 80th percentile of the last 25 intervals and a tick, and
draw everything 1 s late (source). FishNet sends far things up to 2 s apart (source); lightyear's book calls rates by
distance not possible.`,
	"codec": `A position of Ryzom's players is 65 bits with its slot and flags, 61 for those of creatures (counted from its
source). On the wire, with rotation and a share of the packet, an update is 11.9 bytes in PurrNet, 12.4 in Mirror, 14.5
in FishNet and 19.3 in Fusion 2: PurrNet's own benchmark of 2026-09-04, 100 objects and players at 60 Hz, divided by
us; precisions differ there.`,
	"budget": `Ryzom's server sends 173 to 185 positions a second through 13.3 kbit/s (counted from its source);
<b>ryzom</b> and <b>ryzom-buckets</b> are its two orders, with our records. Netcode for Entities sends one packet a tick
to each client, by importance and time since the last (source). Mirror has no budget (source).`,
	"smoothing": `<b>classic</b> and <b>per-frame</b> are the article's. lightyear halves what is left every 200 ms
(source). Mirror corrects rigid bodies from 10 cm or 5 degrees on, and at once below 2 m/s (source).`,
	"predict": `<b>none</b>, <b>avatar-only</b> and <b>whole-scene</b> are what games commonly do, run by us. Mirror
predicts rigid bodies alone; lightyear rolls back at most 20 ticks, Netcode for Entities 64 (source). How often
predictions are wrong we found nowhere.`,
	"hits": `<b>lightyear</b>, <b>article</b>, <b>article-rtt</b> and <b>mirror</b> are rules of others, run by us on the
same records. Mirror keeps six captures, 100 ms apart, as boxes (source), and reports an error of about 6 ms in its
demo (its pull request 3534). Fusion 2 and SnapNet say that they judge by the shooter's exact moment (docs). An
agreement we found nowhere.`,
	"fairness": `Overwatch bounds the rewind to 250 ms; Unity advises 250 to 500 ms (docs). The time behind cover
we found nowhere.`,
	"arena": `We found no such row anywhere. PurrNet's benchmark of 2026-09-04 has bytes and CPU of six systems, none of
smoothness, delay or loss.`,
	"hundred": `lightyear's lockstep compares checksums of clients (source). We found no other system that compares
states.`,
	"soak":  `Not known: we found no published run of hours.`,
	"hands": `As of predict.`,
	"invasion": `Ryzom's front ends carry 1,000 clients of up to 255 things each, of which they send 13.3 kbit/s; clients
draw 1 s late (source). Its article shows such a battle, without figures.`,
	"plaza": `The article sends messages of 16 bytes, ten a second for each player that walks, and nothing at rest. At
rest, 100 players of PurrNet get 0.14 kB/s each, of FishNet 0.15, of Mirror 3.3 and of Fusion 2 5.3 (PurrNet's
benchmark of 2026-09-04).`,
	"deadreckon": `Mirror and lightyear have none (source), nor has Netcode for Entities (docs). Ryzom's article describes
one, and why its people did not suit it.`,
	"article": `The article's own figures are screenshots and plots without tables; Ryzom's code keeps the statistics
behind a compile-time switch that is off (source).`,
	"floors": `Ryzom sends 14 bits of the height with each place (source).`,
	"groups": `Ryzom does both: for each viewer on the mainland, by groups in its rings (source).`,
	"lies":   `Not known: we found no system that measures what such lies gain.`,
	"cheats": `FishNet drops commands beyond 15 that wait (source). Ryzom bounds the distance to 1.5 times the running
speed (source). What cheats gain we found nowhere.`,
	"walls": `Not known: we found no system that measures what it leaks.`,
	"weather": `lightyear, Mirror, FishNet and GameNetworkingSockets can simulate loss and delay (source). We found none
that shrinks what fails.`,
}

// rivalSources names the versions that were read.
const rivalSources = `What other systems do was read in their sources and documents in November 2026: lightyear 03c7931
(0.29), Mirror c885a6a, com.unity.netcode 1.13.0, FishNet de19b5d, netfox 1e7281d, GameNetworkingSockets e707b3a,
geckos.io snapshot interpolation a171cef, ryzomcore ab65885 with the settings of d9042ad. Rows named after them are
their rules in our code, on our packets.`
