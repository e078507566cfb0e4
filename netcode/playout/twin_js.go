package playout

func (c *Clock) twin() *Clock { return nil }
