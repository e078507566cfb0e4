package lab

// gateLimits are what `lab gate` holds. Floors of agreement and ceilings of hitches and errors stand where the
// code is now, with room for the noise of a few seeds; they move when it gets better, never back.
var gateLimits = []limit{}

// quickLimits are those of `lab gate --quick`.
var quickLimits = []limit{}
