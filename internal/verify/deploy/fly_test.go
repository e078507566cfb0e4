package deploy_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"meanwhile/internal/verify/process"
	"meanwhile/netcode/clock"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
)

// The image with the words of fly.toml listens for UDP on the name that Fly gives the address in
// /etc/hosts, on the port that the outside uses, and tells pages that port. Ports of TCP agree, too.
func TestFly(t *testing.T) {
	r := built(t)
	text := block(t, "fly.toml")
	find := func(pattern string) string {
		t.Helper()
		m := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("fly.toml has no %s", pattern)
		}
		return m[1]
	}
	args := strings.Fields(find(`^  app = "(.*)"$`))
	udp := find(`protocol = "udp"\n  internal_port = (\d+)$`)
	if !slices.Contains(r.entry, "--addr=:"+find(`protocol = "tcp"\n  internal_port = (\d+)$`)) ||
		!slices.Contains(args, "--udp=fly-global-services:"+udp) || !strings.Contains(text, "    port = "+udp+"\n") ||
		!slices.Contains(r.entry, "--state="+find(`destination = "(.*)"$`)) {
		t.Errorf("ports or folders of fly.toml and of the image differ: %v %v", r.entry, args)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can change the root of a process")
	}
	hosts := filepath.Join(r.root(), "etc/hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 fly-global-services\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(hosts)
	addr, free := "127.0.0.1:"+process.Port(t), process.Port(t)
	for i, a := range args {
		args[i] = strings.Replace(a, ":"+udp, ":"+free, 1)
	}
	args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "--acme=") }) // there is no authority
	cmd := exec.Command(r.entry[0], append(append(slices.Clone(r.entry[1:]), args...), "--addr="+addr)...)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: r.root(),
		Credential: &syscall.Credential{Uid: r.user[0], Gid: r.user[1]}}
	p := start(t, cmd)
	p.URL()
	pins, url := offered(t, addr)
	if !strings.Contains(url, ":"+free+"/") {
		t.Errorf("pages are sent to %s, want port %s", url, free)
	}
	begin := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(begin)) }
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	conn, err := quic.Dial(ctx, "127.0.0.1:"+free, quic.DialConfig{Clock: now, TLS: cert.Pin(pins...)})
	if err != nil {
		t.Fatal(fmt.Errorf("no UDP on fly-global-services: %w", err))
	}
	play(t, ctx, conn, now)
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Errorf("after SIGTERM it ended with %v", err)
	}
}
