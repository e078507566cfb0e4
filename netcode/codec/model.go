package codec

// A model is what is expected of a component before it is coded: the value to differ from, and which code table to use. Both come from the
// baseline alone, and from what was coded before it in the same record, so both sides compute them. All of it is integers;
// docs/PROTOCOL.md, "Bodies", has the rules.

// Model is the kind of movement that a component makes.
type Model uint8

// The models. What has none is coded as [Prop.AppendDelta] does.
const (
	Level       Model = iota // horizontal component of a place
	Height                   // third component of a place
	LevelDriven              // the same two of a place whose velocity is in the record
	HeightDriven
	Speed    // horizontal component of a velocity
	Climb    // third component of a velocity
	Turning  // angle
	Figure   // float
	OwnPlace // owner's place with its velocity
	OwnSpeed // owner's velocity
	Models   = iota
)

var modelNames = [Models]string{"level", "height", "level-driven", "height-driven", "speed", "climb", "turning", "figure", "own-place", "own-speed"}

func (m Model) String() string { return modelNames[m] }

const noModel = Model(Models)

// Limits of classes, in units of the real world so that tick rates and precisions do not matter. A value's class is how many of them
// it reaches.
var (
	spanLimits    = [...]int64{42, 60, 95, 140, 195, 260, 370, 520, 740, 1050, 1480, 2100}        // milliseconds
	levelLimits   = [...]int64{10, 40, 90, 160, 280, 420, 700, 960, 1040, 1200, 1500, 2000, 2400} // cm/s
	heightLimits  = [...]int64{15, 50, 90, 150, 240, 350, 500, 700, 900}                          // cm/s
	pushLimits    = [...]int64{30, 100, 250, 500, 900, 1500, 2500, 4000, 8000}                    // cm/s a second
	changeLimits  = [...]int64{2, 5, 12, 25, 45, 75, 120, 250, 500}                               // cm/s
	turningLimits = [...]int64{14, 42, 70, 98, 140, 196, 280, 420, 600, 900, 1400}                // degrees a second
	spans         = Spans
	coarseLevel   = [...]uint8{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2} // of three, from the level's class
	speedLevel    = [...]uint8{0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 7} // of eight
)

// Spans is how many classes of time there are; contexts are numbered by them first.
const Spans = len(spanLimits) + 1

// Numbers of contexts.
var contexts = [Models]int{
	Level:        spans * (len(levelLimits) + 2) * 3,
	Height:       spans * (2*len(heightLimits) + 2) * 3,
	LevelDriven:  spans * (len(changeLimits) + 1) * 3,
	HeightDriven: spans * (len(changeLimits) + 1) * 3,
	Speed:        spans * (len(pushLimits) + 2) * 8,
	Climb:        spans * (len(pushLimits) + 2) * 8,
	Turning:      spans * (len(turningLimits) + 2) * 4,
	Figure:       spans * 16,
	OwnPlace:     spans * 24,
	OwnSpeed:     spans * 24,
}

// Contexts returns how many contexts a model has.
func (m Model) Contexts() int { return contexts[m] }

// Octaves by which a step may be finer or coarser than the steps that a model's tables were made for: 1 cm, 1 cm/s, 1/256 turn.
// Finer bits than that are coded as they are.
const (
	finestOctave   = -4
	coarsestOctave = 8
	Octaves        = coarsestOctave - finestOctave + 1
)
