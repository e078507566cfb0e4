//go:build !js

package playout

func (c *Clock) twin() *Clock { return c.Twin }
