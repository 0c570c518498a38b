package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// credentials are the files through which the components trust one another.
type credentials struct {
	ca, caKey, serverCert, serverKey, saKey, saPub, tokens      string
	adminKubeconfig, controllersKubeconfig, schedulerKubeconfig string
}

type user struct{ name, group, kubeconfig string }

// writeCredentials makes, or finds again, a CA, a serving certificate, a key
// for service account tokens and a file of static tokens, with a kubeconfig
// for each user.
func writeCredentials(dir string, port int) (*credentials, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	c := &credentials{
		ca: in("ca.crt"), caKey: in("ca.key"), serverCert: in("apiserver.crt"), serverKey: in("apiserver.key"),
		saKey: in("sa.key"), saPub: in("sa.pub"), tokens: in("tokens.csv"),
		adminKubeconfig: in("kubeconfig"), controllersKubeconfig: in("controller-manager.kubeconfig"), schedulerKubeconfig: in("scheduler.kubeconfig"),
	}
	users := []user{
		{"admin", "system:masters", c.adminKubeconfig},
		{"system:kube-controller-manager", "", c.controllersKubeconfig},
		{"system:kube-scheduler", "", c.schedulerKubeconfig},
	}
	// The tokens are written last: with them, the rest is there.
	if _, err := os.Stat(c.tokens); errors.Is(err, fs.ErrNotExist) {
		if err := c.makeKeys(); err != nil {
			return nil, err
		}
		if err := writeTokens(c.tokens, users); err != nil {
			return nil, err
		}
	}
	return c, c.writeKubeconfigs(users, port)
}

func (c *credentials) makeKeys() error {
	ca, caKey, err := newCert(nil, nil, "controlplane-ca")
	if err != nil {
		return err
	}
	cert, key, err := newCert(ca, caKey, "kube-apiserver")
	if err != nil {
		return err
	}
	sa, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(sa.Public())
	if err != nil {
		return err
	}
	return errors.Join(
		writePEM(c.ca, "CERTIFICATE", ca.Raw),
		writeKey(c.caKey, caKey),
		writePEM(c.serverCert, "CERTIFICATE", cert.Raw),
		writeKey(c.serverKey, key),
		writeKey(c.saKey, sa),
		writePEM(c.saPub, "PUBLIC KEY", public),
	)
}

func writeTokens(file string, users []user) error {
	var lines strings.Builder
	for _, u := range users {
		token := make([]byte, 16)
		if _, err := rand.Read(token); err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s,%s,%s", hex.EncodeToString(token), u.name, u.name)
		if u.group != "" {
			fmt.Fprintf(&lines, ",%q", u.group)
		}
		lines.WriteString("\n")
	}
	return os.WriteFile(file, []byte(lines.String()), 0o600)
}

func (c *credentials) writeKubeconfigs(users []user, port int) error {
	raw, err := os.ReadFile(c.tokens)
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(c.ca)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if len(lines) != len(users) {
		return fmt.Errorf("%s has %d lines instead of %d: delete the directory", c.tokens, len(lines), len(users))
	}
	for i, u := range users {
		kc := clientcmdapi.NewConfig()
		kc.Clusters["controlplane"] = &clientcmdapi.Cluster{Server: fmt.Sprintf("https://127.0.0.1:%d", port), CertificateAuthorityData: ca}
		kc.AuthInfos[u.name] = &clientcmdapi.AuthInfo{Token: strings.Split(lines[i], ",")[0]}
		kc.Contexts["controlplane"] = &clientcmdapi.Context{Cluster: "controlplane", AuthInfo: u.name}
		kc.CurrentContext = "controlplane"
		if err := clientcmd.WriteToFile(*kc, u.kubeconfig); err != nil {
			return err
		}
	}
	return nil
}

// newCert makes a CA when parent is nil, else a serving certificate signed by it.
func newCert(parent *x509.Certificate, parentKey crypto.Signer, name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	if parent == nil {
		t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, t.KeyUsage|x509.KeyUsageCertSign
		parent, parentKey = t, key
	} else {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		t.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
		t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(file, "EC PRIVATE KEY", der)
}
