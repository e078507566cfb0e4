package main

import "m/a"

func main() { println(a.Thing{N: 1}.Do().Used) }
