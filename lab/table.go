package lab

import "io"

// WriteTable writes rows as the tables that a person reads.
func WriteTable(w io.Writer, rows []Row) error {
	for _, t := range tables(rows) {
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}
