package lab

import (
	"fmt"
	"io"
	"os"
	"strings"

	"meanwhile/lab/movement"
	"meanwhile/lab/train"
)

// openMotion reads the recordings that --motion names, separated by commas.
func openMotion(names string) (recs []*movement.Recording, err error) {
	if names == "" {
		return nil, nil
	}
	for _, name := range strings.Split(names, ",") {
		r, err := movement.Open(name)
		if err != nil {
			return nil, usageError{fmt.Errorf("lab: %w", err)}
		}
		recs = append(recs, r)
	}
	return recs, nil
}

// trainTables makes the tables of package schema from recordings.
func trainTables(c command, stdout io.Writer) error {
	if c.motion == "" || c.out == "" {
		return badUsage("train needs --motion FILE,... and --out FILE")
	}
	recs, err := openMotion(c.motion)
	if err != nil {
		return err
	}
	text, err := train.Tables(recs, aboutTables(recs))
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.out, []byte(text), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %d bytes\n", c.out, len(text))
	return err
}

// aboutTables is the head of a file of tables.
func aboutTables(recs []*movement.Recording) string {
	about := "Codes of records, made by meanwhile lab train from"
	for _, r := range recs {
		about += " " + r.Name
	}
	return about + ".\nThe format: netcode/codec/tables.go; the rules: docs/PROTOCOL.md."
}
