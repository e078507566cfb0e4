package schema

// OwnerGroup is the group that only an entity's owner receives, in simulation precision.
const OwnerGroup = MaxGroups

// Members returns the properties that a record of group g has, in their order.
func (k *Kind) Members(g int) []int {
	if g == OwnerGroup {
		return k.Owned
	}
	return k.Groups[g].Props
}

// Width returns how many integers a record of group g has.
func (k *Kind) Width(g int) int {
	if g == OwnerGroup {
		return k.Sims
	}
	return k.Groups[g].N
}

// Offset returns where among the integers of group g the property at an index begins.
func (k *Kind) Offset(g, i int) int {
	if g == OwnerGroup {
		return k.Props[i].At
	}
	return k.Props[i].ObsAt - k.Groups[g].At
}

// Nonzero returns the set of the properties of group g that are not all zero in vals. That is what
// the first record of an entity has to hold.
func Nonzero[T int32 | int64](k *Kind, g int, vals []T) (set uint64) {
	for _, i := range k.Members(g) {
		q := &k.Props[i]
		at := k.Offset(g, i)
		for _, v := range vals[at : at+q.Comps] {
			if v != 0 {
				set |= 1 << i
				break
			}
		}
	}
	return set
}
