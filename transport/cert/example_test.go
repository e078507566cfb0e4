package cert_test

import (
	"crypto/tls"
	"fmt"

	"meanwhile/transport/cert"
)

// A page pins the fingerprint: new WebTransport(url, {serverCertificateHashes: [{algorithm:
// "sha-256", value}]}).
func Example() {
	own, err := cert.NewSelfSigned(cert.Config{Hosts: []string{"play.example"}})
	if err != nil {
		panic(err)
	}
	server := &tls.Config{GetCertificate: own.GetCertificate}
	pins, err := own.Fingerprints()
	fmt.Println(server.GetCertificate != nil, len(pins), len(pins[0].String()), err)
	// Output: true 1 64 <nil>
}
