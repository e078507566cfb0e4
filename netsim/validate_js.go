package netsim

// In a browser the only networks are those of the page's panel, which are within the bounds: their
// checks would only make its program larger.

// Validate accepts everything.
func (p Profile) Validate() error { return nil }

// Validate accepts everything.
func (c LinkConfig) Validate() error { return nil }
