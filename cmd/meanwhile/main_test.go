package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"meanwhile/examples/arena"
	"meanwhile/internal/verify/browser"
	"meanwhile/netcode/wire"
)

// An experiment ends when it is interrupted, though it waits for nothing.
func TestInterruptedExperiment(t *testing.T) {
	t.Setenv(asProgram, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "lab", "weather", "--seeds", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // so that it has begun, if the machine is not busy
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it went on to its end")
	}
}

func TestSentences(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := taken.Addr().String()
	defer taken.Close()
	caller, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	nobody := "http://" + caller.LocalAddr().String() + "/" // this port is taken, and nobody listens on it
	for _, c := range []struct {
		args string
		code int
		want string // of the one line on stderr
	}{
		{"", 2, `expected one of "demo", "new", "dev", "serve", "doctor", ...`},
		{"frob", 2, "unexpected argument frob"},
		{"demo --frob", 2, "unknown flag --frob"},
		{"demo extra", 2, "unexpected argument extra"},
		{"demo --game chess", 2, `there is no game "chess"; there is arena, invasion, plaza`},
		{"demo --addr here", 2, `"here" is not an address of the form host:port`},
		{"demo --addr " + addr, 1, addr + " is in use by another program"},
		{"demo --kbit 3", 2, "--kbit 3 is outside [8, 33554]"},
		{"serve arena --total 1", 2, "--total 1 is neither 0 nor within [8, 2147483647]"},
		{"demo --bots=-1", 2, "--bots -1 is outside [0, 1024]"},
		{"demo --bots -1", 2, "--bots -1 is outside [0, 1024]"},
		{"lab --list", 2, "the command is \"meanwhile lab list\""},
		{"bench list extra", 2, "bench: name one of: crowd"},
		{"new Pilots", 2, `the name "Pilots" is not 1 to 32 lower-case letters, digits and dashes`},
		{"dev /nowhere", 2, "there is no go.mod in or above /nowhere"},
		{"bench soak --players 0", 2, "bench: --players 0 is outside [1, 1000]"},
		{"bench soak --for 5s", 2, "bench: --for 5s is outside [10s, 12h0m0s]"},
		{"serve", 2, `expected "<game>"`},
		{"serve chess", 2, `there is no game "chess"`},
		{"serve arena --addr " + addr, 1, addr + " is in use"},
		{"serve arena --players 0x", 2, "--players"},
		{"serve arena --addr 127.0.0.1:0 --room A", 2, `room "A"`},
		{"serve arena --acme game.example", 2, "--acme needs --state DIR"},
		{"serve arena --metrics :8080", 2, "--metrics :8080 is the address of the players"},
		{"serve arena --addr 127.0.0.1:0 --tls-cert no.pem --tls-key no.pem", 2, "--tls-cert and --tls-key: stat no.pem"},
		{"demo --flubber", 2, "unknown flag --flubber; see meanwhile demo --help"},
		{"doctor", 2, `expected "<address>"`},
		{"doctor ftp://game.example", 2, `"ftp://game.example" is not an address`},
		{"doctor game.example --timeout 2m", 2, "--timeout 2m0s is outside (0, 1m0s]"},
		{"top", 2, `expected "<address>"`},
		{"top ftp://127.0.0.1", 2, `"ftp://127.0.0.1" is not an address such as 127.0.0.1:9090`},
		{"top --once " + nobody, 1, "no server answers at " + caller.LocalAddr().String() + ": dial tcp"},
		{"load --players 0", 2, "--players 0 is outside [1, 2000]"},
		{"load --for 25h", 2, "--for 25h0m0s is outside (0, 24h0m0s]"},
		{"load ftp://127.0.0.1", 2, "is not an address such as"},
		{"load http://192.0.2.1:8080/", 2, "192.0.2.1 is not this machine"},
		{"load " + nobody, 1, "no server answers at " + nobody},
		{"lab nonsense", 2, `no experiment "nonsense"`},
		{"bench", 2, "bench: name one of: crowd frames hostile judge page record rooms"},
		{"bench frames --span 10ms", 2, "--span 10ms is below 1s"},
		{"bench frames --game chess", 2, `there is no game "chess"; there is arena, invasion, plaza`},
		{"bench hostile --seconds 0", 2, "--seconds 0 is outside [1, 600]"},
		{"bench hostile --attack kindness", 2, `there is no attack "kindness"; there are mutated,`},
		{"bench crowd --n 0", 2, "--n 0 is outside [1, 16384]"},
		{"bench crowd --kbit 1", 2, "--kbit 1 is outside [8, 33554.432]"},
		{"bench crowd --properties 7", 2, "--properties 7: 6 or 25"},
		{"bench crowd --workers 0", 2, "--workers 0 is outside [1, 64]"},
		{"bench crowd --ticks 0", 2, "--ticks 0 is below 1"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), strings.Fields(c.args), &out, &errs)
		if code != c.code || !strings.Contains(errs.String(), c.want) || strings.Count(errs.String(), "\n") != 1 ||
			out.Len() > 0 {
			t.Errorf("meanwhile %s: status %d, %q, %q; want %d, %q", c.args, code, out.String(), errs.String(), c.code,
				c.want)
		}
	}
	for _, args := range []string{"--help", "demo --help", "load -h", "lab list", "bench list", "dev --help", "new --help",
		"--version"} {
		var out, errs bytes.Buffer
		if code := run(context.Background(), strings.Fields(args), &out, &errs); code != 0 || out.Len() == 0 ||
			errs.Len() > 0 {
			t.Errorf("meanwhile %s: status %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
}

// startDemo runs the demonstration until the test ends and returns its address.
func startDemo(t *testing.T, args ...string) string {
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	var errs bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"demo", "--addr", "127.0.0.1:0"}, args...), w, &errs)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		t.Fatalf("status %d: %s", <-done, errs.String())
	}
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("status %d: %s", code, errs.String())
		}
		if lines.Scan() {
			t.Errorf("more than one line was printed: %q", lines.Text())
		}
	})
	return lines.Text()
}

// Headless players over every transport play with the bots of the demonstration.
func TestDemoAndLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: players over every transport play the demonstration, whose program must be built")
	}
	url := startDemo(t, "--bots", "2")
	for name, want := range map[string]string{
		"": "arena.js", "arena/map.json": string(arena.MapJSON()), "meanwhile.json": `"game":"arena"`,
		"metrics": "meanwhile_rooms 0", "receipts": "[]",
	} {
		response, err := http.Get(url + name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != 200 || !strings.Contains(string(b), want) {
			t.Errorf("%s: %s, %v, %.200s", name, response.Status, err, b)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	for _, over := range []string{"quic", "webtransport", "websocket"} {
		var out, errs bytes.Buffer
		args := []string{"load", url, "-n", "3", "--for", "1s", "--transport", over, "--json", "--room", over}
		if code := run(context.Background(), args, &out, &errs); code != 0 {
			t.Errorf("%s: status %d, %s", over, code, errs.String())
			continue
		}
		var r struct {
			Game, Room   string
			Joined, Lost int
		}
		var rates struct {
			UpHz     struct{ Mean float64 } `json:"up_hz"`
			DownHz   struct{ Mean float64 } `json:"down_hz"`
			UpKbps   struct{ Mean float64 } `json:"up_kbps"`
			DownKbps struct{ Mean float64 } `json:"down_kbps"`
		}
		if err := errors.Join(json.Unmarshal(out.Bytes(), &r), json.Unmarshal(out.Bytes(), &rates)); err != nil ||
			r.Joined != 3 || r.Lost != 0 || r.Game != "arena" || r.Room != over || rates.UpHz.Mean <= 0 ||
			rates.DownHz.Mean <= 0 {
			t.Errorf("%s: %s, %v", over, out.String(), err)
		}
		// How many datagrams a busy machine sends in a second nobody knows (app/load counts them in
		// virtual time), but how large they are.
		up, down := rates.UpKbps.Mean*1000/8/rates.UpHz.Mean, rates.DownKbps.Mean*1000/8/rates.DownHz.Mean
		if up < 42+9 || up > 42+wire.MaxDatagram || down < 42+9 || down > 42+wire.MaxDatagram {
			t.Errorf("%s: datagrams of %.0f bytes up and %.0f down with their headers", over, up, down)
		}
	}
	// Over networks of their own, with limits that nobody can meet.
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"load", url, "-n", "2", "--for", "1s", "--profile", "fiber=1,ocean=1",
		"--transport", "quic=1,websocket=1", "--rooms", "2", "--max-rtt", "1us"}, &out, &errs)
	if code != 1 || !strings.HasPrefix(out.String(), "arena at ") ||
		!strings.Contains(out.String(), ", 2 rooms: 2 of 2 players joined, 0 came back, 0 left for others, 0 were lost\n") ||
		!strings.Contains(out.String(), "\nnot ok: a round trip of ") {
		t.Errorf("status %d, %s%s", code, out.String(), errs.String())
	}
}

// The demonstration in a browser: it plays itself over WebTransport, and knows the truth.
func TestDemoInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the demonstration plays in a browser")
	}
	url := startDemo(t)
	p := browser.New(t)                     // after the site, so that it is closed before it
	p.Open(url + "?transport=webtransport") // or WebSocket could win on a busy machine
	p.WaitFor("g.me && g.transport === 'webtransport' && g.world.player.length === 8")
	var moved bool
	p.Eval(`new Promise(done => {
		const { x, y } = g.me.pos
		setInterval(() => Math.hypot(g.me.pos.x - x, g.me.pos.y - y) > 1 && done(true), 50)
	})`, &moved)
	if !moved {
		t.Error("the demonstration does not play itself")
	}
	var truth []float64
	p.Eval(`new Promise((done, failed) => {
		const socket = new WebSocket("/truth?room=" + g.options.room)
		socket.binaryType = "arraybuffer"
		socket.onerror = failed
		socket.onmessage = e => { done([...new Float32Array(e.data)]); socket.close() }
	})`, &truth)
	if len(truth) != 2+4*8 || truth[0] < 1 || truth[1] != 8 {
		t.Errorf("the truth is %v", truth)
	}
	const truthSwitch = `document.querySelector(".meanwhile-panel").shadowRoot.querySelector("[data-setting=truth]")`
	p.WaitFor(truthSwitch)
	p.Eval(truthSwitch+".click()", nil)
	p.WaitFor("g.world.player.length === 8")
	p.Screenshot("demo")
	var stats map[string]any
	p.Eval(`Object.fromEntries(Object.entries(g.stats).map(([k, v]) =>
		[k, Number.isFinite(v) ? Math.round(100 * v) / 100 : String(v)]))`, &stats)
	t.Log(stats)
}

// The program is a tool of go vet when go vet runs it, and only then.
func TestVettool(t *testing.T) {
	for args, want := range map[string]bool{
		"-V=full": true, "-flags": true, "-json /tmp/b001/vet.cfg": true, "": false, "vet ./...": false, "--help": false,
		"demo --bots 3": false,
	} {
		if got := vettool(strings.Fields(args)); got != want {
			t.Errorf("meanwhile %s: a tool of go vet: %v, want %v", args, got, want)
		}
	}
}

// TestBenchJudge checks that a judgement among 250 and a thousand candidates is measured both ways,
// that shots hit, and that none allocates.
func TestBenchJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: seconds of a crowd of a thousand")
	}
	var out, errs bytes.Buffer
	if code := run(context.Background(), strings.Fields("bench judge --json --quick"), &out, &errs); code != 0 {
		t.Fatalf("status %d, %q", code, errs.String())
	}
	rows := 0
	for line := range strings.Lines(out.String()) {
		var row struct {
			Experiment string
			Params     struct {
				Candidates int
				Way        string
			}
			Metrics map[string]float64
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows++
		if m := row.Metrics; row.Experiment != "judge" || row.Params.Candidates%250 != 0 || row.Params.Way == "" ||
			m["shots"] < 200 || m["hits"] < 100 || m["mean_us"] <= 0 || m["p50_us"] > m["p99_us"] || m["allocs"] > 0.5 {
			t.Errorf("%+v", row)
		}
	}
	if rows != 4 {
		t.Errorf("%d rows, want 4", rows)
	}
}

// TestBenchCrowd checks that each row of the benchmark is one JSON object with what it promises.
//
// seeds: R28 R33
func TestBenchCrowd(t *testing.T) {
	var out, errs bytes.Buffer
	args := "bench crowd --json --quick --n 40 --kbit 16 --viewers 2 --ticks 4 --workers 2 --hot --seed 3"
	if code := run(context.Background(), strings.Fields(args), &out, &errs); code != 0 || errs.Len() > 0 {
		t.Fatalf("status %d, %q", code, errs.String())
	}
	var row struct {
		Experiment, Policy string
		Seed               int
		Params             map[string]any
		Metrics            map[string]float64
	}
	if err := json.Unmarshal(out.Bytes(), &row); err != nil {
		t.Fatal(err)
	}
	if row.Experiment != "crowd" || row.Policy != "meanwhile" || row.Seed != 3 || row.Params["variant"] != "hot" ||
		row.Params["n"] != 40.0 || row.Params["kbit"] != 16.0 || row.Params["properties"] != 6.0 ||
		row.Params["workers"] != 2.0 {
		t.Errorf("%+v", row)
	}
	for _, name := range strings.Fields("cpu_ms_per_tick p99_ms bytes_per_client_s memory_per_client_kb records_per_s " +
		"held_30m_cm drawn_30m_cm held_all_cm known_share slots_max floor_ms_per_tick moving_bits_per_s bits_per_moving") {
		if row.Metrics[name] <= 0 {
			t.Errorf("%s is %v", name, row.Metrics[name])
		}
	}
	sum := 0.0
	for _, use := range strings.Fields("overhead header feedback message first moving other gone") {
		sum += row.Metrics[use+"_bits_per_s"]
	}
	if all := row.Metrics["bytes_per_client_s"] * 8; sum < all*0.999 || sum > all*1.001 || all > 16_000 {
		t.Errorf("uses add up to %.0f bits of %.0f", sum, all)
	}
}
