module rules

go 1.26

require meanwhile v0.0.0

replace meanwhile => ../meanwhile
