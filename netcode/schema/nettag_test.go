package schema

import (
	"reflect"
	"testing"
)

// A tag is found as package reflect finds it, wherever it stands.
func TestNetTag(t *testing.T) {
	for _, tag := range []string{
		``, `net:"pos,1cm"`, `net:""`, `json:"a" net:"int,0..9"`, `json:"a\"b net:\"x" net:"bool"`, `  net:"bool"  xml:"b"`,
		`json:"net" xml:"b"`, `net:"open`, `net`, `net:`, `net:"`, `a:"b`, `a:"\`, `a:"b" net:"\`,
	} {
		want, ok := reflect.StructTag(tag).Lookup("net")
		if got, found := netTag(tag); got != want || found != ok {
			t.Errorf("%q: %q, %v; want %q, %v", tag, got, found, want, ok)
		}
	}
}
