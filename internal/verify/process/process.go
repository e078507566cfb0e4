// Package process runs programs within tests.
package process

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Build builds the package main with an import path, and returns the program.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program.out")
	if out, err := exec.Command("go", "build", "-o", program, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Ports that Port draws from: systems give higher ones to whoever asks for any.
const (
	firstPort = 20000
	ports     = 10000
)

// given are the ports that Port returned: their programs may not listen yet.
var given sync.Map

// Port returns a port of 127.0.0.1 on which nobody listens, TCP and UDP, for programs that cannot
// choose one and print it. As nobody gets it by chance, it stays free until the program listens.
func Port(t testing.TB) string {
	t.Helper()
	for range ports {
		port := strconv.Itoa(firstPort + rand.IntN(ports))
		if _, again := given.LoadOrStore(port, true); again {
			continue
		}
		addr := net.JoinHostPort("127.0.0.1", port)
		tcp, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		udp, err := net.ListenPacket("udp", addr)
		tcp.Close()
		if err == nil {
			udp.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// A Process is a program that runs. Line and Wait are called by the test's goroutine only.
type Process struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines *bufio.Scanner
	wait  func() error

	mu  sync.Mutex
	log bytes.Buffer
}

// Start starts a program. It is killed when the test ends, or after limit, which bounds how long a
// broken test hangs. Its standard error is printed when the test fails.
func Start(t testing.TB, cmd *exec.Cmd, limit time.Duration) *Process {
	t.Helper()
	p := &Process{t: t, cmd: cmd}
	cmd.Stderr = p
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(limit, p.Kill)
	p.lines = bufio.NewScanner(out)
	p.wait = sync.OnceValue(func() error {
		_, _ = io.Copy(io.Discard, out) // or it would wait for us
		err := cmd.Wait()
		timer.Stop()
		return err
	})
	t.Cleanup(func() {
		p.Kill()
		_ = p.wait()
		if t.Failed() {
			t.Logf("%v:\n%s", cmd.Args, p.Log())
		}
	})
	return p
}

// Write keeps the program's standard error.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

// Log returns what the program has written to its standard error.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Line returns the next line of the standard output; false at its end.
func (p *Process) Line() (line string, ok bool) {
	ok = p.lines.Scan()
	return p.lines.Text(), ok
}

// URL returns the next line of the standard output, which must be the address of a page.
func (p *Process) URL() string {
	p.t.Helper()
	line, _ := p.Line()
	if !strings.HasPrefix(line, "http://") && !strings.HasPrefix(line, "https://") || !strings.HasSuffix(line, "/") {
		p.t.Fatalf("no address was printed, but %q", line)
	}
	return line
}

// Kill kills the program (SIGKILL). What it has printed can still be read.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Stop ends the program by a signal, SIGTERM as systemd and Docker do, and returns how it ended.
func (p *Process) Stop(signal os.Signal) error {
	_ = p.cmd.Process.Signal(signal)
	return p.wait()
}

// Wait waits for the end of the program, and returns how it ended.
func (p *Process) Wait() error { return p.wait() }
