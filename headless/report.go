package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxAnswer bounds what is read of a server's answer to a report, in bytes.
const maxAnswer = 1 << 10

// Report asks the server to save what it recorded of the last minutes, for a replay, and returns
// under which name it did. page is the address of the server's page. The error is the server's
// sentence where it refuses: it may record nothing, or be asked too often.
func (p *Player) Report(ctx context.Context, page string) (name string, err error) {
	p.mu.Lock()
	w := p.welcome
	p.mu.Unlock()
	to, err := url.JoinPath(page, "report")
	if err != nil {
		return "", fmt.Errorf("headless: %w", err)
	}
	to += "?" + url.Values{"room": {w.Room}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(w.Resume[:]))
	if err != nil {
		return "", fmt.Errorf("headless: %w", err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("headless: the moment was not reported: %w", err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return "", fmt.Errorf("headless: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		text, _, _ := strings.Cut(string(b), "\n")
		return "", errors.New(text)
	}
	var saved struct{ Name string }
	if err := json.Unmarshal(b, &saved); err != nil {
		return "", fmt.Errorf("headless: the server's answer to a report: %w", err)
	}
	return saved.Name, nil
}
