package lab

import "testing"

// Viewers stay within the radius of their group and half of it, and few change their group: lists do
// not flap. Each viewer for itself knows all of its nearest; groups know nearly all.
//
// seeds: R19
func TestMovingGroups(t *testing.T) {
	const radius, seconds = 20, 5
	alone, err := measureGroups(0, seconds)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := measureGroups(radius, seconds)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("alone %v", alone.metrics(seconds))
	t.Logf("groups %v", shared.metrics(seconds))
	if far := int64(radius * 1000 * 3 / 2); shared.far > far*far {
		t.Errorf("a viewer is %d mm² from the centre of its group", shared.far)
	}
	if most := groupsWalkers * seconds * 2 / 5; shared.moves == 0 || shared.moves > most {
		t.Errorf("%d times a viewer changed its group, want at most %d", shared.moves, most)
	}
	if shared.searches*2 > alone.searches {
		t.Errorf("%d searches, %d without groups", shared.searches, alone.searches)
	}
	if alone.of250 != alone.asked*groupsSee || shared.of50*100 < shared.asked*50*97 {
		t.Errorf("of the nearest, %d of %d are known, and in groups %d of the nearest 50", alone.of250,
			alone.asked*groupsSee, shared.of50)
	}
}
