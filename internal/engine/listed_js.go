package engine

// Made notes nothing in a browser: the server has looked.
func Made(any) {}

// Listed notes nothing, either.
func Listed(any) {}
