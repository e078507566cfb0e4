package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meanwhile/lab/movement"
	"meanwhile/netcode/codec"
)

// Recordings and tables from files: trained, written, read and used. Malformed ones are refused.
func TestCodecFiles(t *testing.T) {
	dir := t.TempDir()
	m := movement.Generate(movement.Shooters, 2, 20e9, 50e6, 60, 5)
	var b strings.Builder
	b.WriteString("t_s,entity,x_m,y_m,z_m,yaw_deg,pitch_deg,alive\n")
	for n := range m.Tracks[0] {
		for i, track := range m.Tracks {
			s := track[n]
			for _, v := range []any{float64(n) / 20, i, s.X, s.Y, s.Z, s.Yaw * 57.29577951308232, 0.0} {
				b.WriteString(Value{"", v}.text() + ",")
			}
			b.WriteString("1\n")
		}
	}
	rec, tables := filepath.Join(dir, "walk.csv"), filepath.Join(dir, "tables.txt")
	if err := os.WriteFile(rec, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if status := Main([]string{"train", "--motion", rec, "--out", tables}, &out, &errs); status != exitOK {
		t.Fatalf("%d: %s", status, &errs)
	}
	text, err := os.ReadFile(tables)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := codec.ParseTables(string(text)); err != nil {
		t.Fatal(err)
	}
	bits := map[string]float64{}
	for name, extra := range map[string][]string{"shipped": nil, "own": {"--tables", tables},
		"trained": {"--train", rec}} {
		c, err := parse(append([]string{"codec", "--quick", "--motion", rec, "--policy", ours}, extra...))
		if err != nil {
			t.Fatal(err)
		}
		r, err := codecExperiment.prepare(c)
		if err != nil {
			t.Fatal(err)
		}
		r.emit = func(row Row) {
			v, _ := row.Metrics.Get("bits_per_record")
			e, _ := row.Metrics.Get("entropy_bits")
			if bits[name] += v; v < e || v > 60 {
				t.Errorf("%s: %s", name, row.JSON())
			}
		}
		if err := runCodec(r); err != nil {
			t.Fatal(err)
		}
	}
	if bits["own"] != bits["trained"] || bits["own"] >= bits["shipped"] {
		t.Errorf("%v", bits)
	}
	for _, args := range [][]string{{"--motion", tables}, {"--motion", filepath.Join(dir, "none")},
		{"--tables", rec}, {"--train", tables}} {
		errs.Reset()
		if status := Main(append([]string{"codec", "--quick"}, args...), &out, &errs); status != exitUsage ||
			strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%v: status %d, %q", args, status, &errs)
		}
	}
}
