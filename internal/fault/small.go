package fault

import (
	"reflect"
	"strconv"
)

// failure is a text that may wrap another error.
type failure struct {
	text    string
	wrapped error
}

func (e *failure) Error() string { return e.text }
func (e *failure) Unwrap() error { return e.wrapped }

// newError is fmt.Errorf with at most one %w.
func newError(format string, args []any) error {
	text, wrapped := appendf(nil, format, args)
	return &failure{string(text), wrapped}
}

// appendf is fmt.Appendf for the verbs v, s, d, q, x, b, c, T and w, of which x and b may have the
// flag #. There are no widths. It returns the error that stood for %w, too.
func appendf(b []byte, format string, args []any) (text []byte, wrapped error) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b = append(b, format[i])
			continue
		}
		i++
		if format[i] == '%' {
			b = append(b, '%')
			continue
		}
		sharp := format[i] == '#' && i+1 < len(format)
		if sharp {
			i++
		}
		if len(args) == 0 {
			b = append(b, "%!"...)
			b = append(b, format[i])
			b = append(b, "(MISSING)"...)
			continue
		}
		if format[i] == 'w' {
			wrapped, _ = args[0].(error)
		}
		b = appendArg(b, args[0], format[i], sharp)
		args = args[1:]
	}
	return b, wrapped
}

func appendArg(b []byte, arg any, verb byte, sharp bool) []byte {
	if verb == 'T' {
		if arg == nil {
			return append(b, "<nil>"...)
		}
		return append(b, reflect.TypeOf(arg).String()...)
	}
	if verb == 'v' || verb == 's' || verb == 'q' || verb == 'w' {
		switch v := arg.(type) {
		case nil:
			return append(b, "<nil>"...)
		case error:
			return appendString(b, v.Error(), verb)
		case interface{ String() string }:
			return appendString(b, v.String(), verb)
		}
	}
	return appendValue(b, reflect.ValueOf(arg), verb, sharp)
}

func appendValue(b []byte, v reflect.Value, verb byte, sharp bool) []byte {
	switch v.Kind() {
	case reflect.String:
		return appendString(b, v.String(), verb)
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i := v.Int(); i < 0 && verb != 'c' {
			return appendWhole(append(b, '-'), -uint64(i), verb, sharp)
		}
		return appendWhole(b, uint64(v.Int()), verb, sharp)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return appendWhole(b, v.Uint(), verb, sharp)
	case reflect.Float32:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 32)
	case reflect.Float64:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 64)
	case reflect.Slice, reflect.Array:
		return appendList(b, v, verb)
	}
	return append(b, v.String()...) // <T Value>
}

func appendList(b []byte, v reflect.Value, verb byte) []byte {
	if verb == 'x' {
		for i := range v.Len() {
			c := v.Index(i).Uint()
			b = append(b, digits[c>>4&15], digits[c&15])
		}
		return b
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendValue(b, v.Index(i), verb, false)
	}
	return append(b, ']')
}

func appendWhole(b []byte, u uint64, verb byte, sharp bool) []byte {
	switch verb {
	case 'c':
		return append(b, string(rune(u))...)
	case 'q':
		return appendString(b, string(rune(u)), '\'')
	case 'x':
		if sharp {
			b = append(b, "0x"...)
		}
		return strconv.AppendUint(b, u, 16)
	case 'b':
		if sharp {
			b = append(b, "0b"...)
		}
		return strconv.AppendUint(b, u, 2)
	}
	return strconv.AppendUint(b, u, 10)
}

const digits = "0123456789abcdef"

// appendString appends s, between quotation marks for the verb q. What is not ASCII stays as it is:
// strconv's tables of what can be printed are larger than this package.
func appendString(b []byte, s string, verb byte) []byte {
	mark := byte('"')
	switch verb {
	case 'q':
	case '\'':
		mark = '\''
	default:
		return append(b, s...)
	}
	b = append(b, mark)
	for i := range len(s) {
		switch c := s[i]; {
		case c == mark || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'x', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, mark)
}
