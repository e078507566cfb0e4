module m

go 1.26.0
