package codec

// Model is a kind of movement. It says what to expect of a component, and which tables to use. Both
// follow from the baseline and from what was coded before in the same record, so both sides compute
// the same. All of it is integers.
type Model uint8

// The models. A component without one is coded as [schema.Prop.AppendDelta] does.
const (
	PlaceXY       Model = iota // horizontal component of a place
	PlaceZ                     // third component of a place
	PlaceXYDriven              // the same of a place whose velocity is in the record
	PlaceZDriven
	SpeedXY // horizontal component of a velocity
	SpeedZ  // third component of a velocity
	Angle
	Scalar   // any number
	OwnPlace // the owner's place, with its velocity
	OwnSpeed // the owner's velocity
	Models   = iota
)

// modelNames are what tables call the models. They are part of the format.
var modelNames = [Models]string{
	"level", "height", "level-driven", "height-driven", "speed", "climb", "turning", "figure", "own-place", "own-speed",
}

func (m Model) String() string { return modelNames[m] }

const noModel = Model(Models)

// ofThird is the model of a property's third component.
func (m Model) ofThird() Model {
	switch m {
	case PlaceXY, PlaceXYDriven, SpeedXY:
		return m + 1
	}
	return m
}

// driven reports whether the record's velocity says where a place is expected.
func (m Model) driven() bool { return m == PlaceXYDriven || m == OwnPlace }

// A value's class is how many of some limits it reaches. Limits are in units of the real world, so
// that neither tick rates nor precisions matter.
var (
	spanLimits   = [...]int64{42, 60, 95, 140, 195, 260, 370, 520, 740, 1050, 1480, 2100}        // milliseconds
	paceLimits   = [...]int64{10, 40, 90, 160, 280, 420, 700, 960, 1040, 1200, 1500, 2000, 2400} // cm/s
	climbLimits  = [...]int64{15, 50, 90, 150, 240, 350, 500, 700, 900}                          // cm/s
	pushLimits   = [...]int64{30, 100, 250, 500, 900, 1500, 2500, 4000, 8000}                    // cm/s a second
	changeLimits = [...]int64{2, 5, 12, 25, 45, 75, 120, 250, 500}                               // cm/s
	turnLimits   = [...]int64{14, 42, 70, 98, 140, 196, 280, 420, 600, 900, 1400}                // degrees a second

	coarsePace = [...]uint8{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2} // of a pace, of three
	speedPace  = [...]uint8{0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 7} // of a pace, of eight
)

// Spans is how many classes of time there are. Contexts are numbered by them first.
const Spans = len(spanLimits) + 1

// contextCount is how many contexts each model has.
var contextCount = [Models]int{
	PlaceXY:       Spans * (len(paceLimits) + 2) * 3,
	PlaceZ:        Spans * (2*len(climbLimits) + 2) * 3,
	PlaceXYDriven: Spans * (len(changeLimits) + 1) * 3,
	PlaceZDriven:  Spans * (len(changeLimits) + 1) * 3,
	SpeedXY:       Spans * (len(pushLimits) + 2) * 8,
	SpeedZ:        Spans * (len(pushLimits) + 2) * 8,
	Angle:         Spans * (len(turnLimits) + 2) * 4,
	Scalar:        Spans * 16,
	OwnPlace:      Spans * 24,
	OwnSpeed:      Spans * 24,
}

// Contexts returns how many contexts a model has.
func (m Model) Contexts() int { return contextCount[m] }

// Octaves is how many precisions tables know, each twice as coarse as the one before. The tables
// were made for steps of 1 cm, 1 cm/s and 1/256 turn, which is octave 0. Bits below the finest
// octave are written as they are.
const (
	finestOctave   = -4
	coarsestOctave = 8
	Octaves        = coarsestOctave - finestOctave + 1
)
