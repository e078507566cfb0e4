module meanwhile

go 1.26
