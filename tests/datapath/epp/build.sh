#!/bin/sh
# Builds the endpoint picker of the Gateway API Inference Extension v1.5.0 as the file named.
# Upstream listens on every interface. Two lines of a private copy of the module are changed so
# that EPP_BIND_ADDRESS chooses the address (127.0.0.1 if not set); nothing else is.
set -eu
out=$(realpath -m "${1:-epp}")
cd "$(dirname "$0")"
module=sigs.k8s.io/gateway-api-inference-extension
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp go.mod go.sum "$scratch"
cd "$scratch"
GOFLAGS=-mod=mod go mod download "$module"
cp -r "$(go list -m -f '{{.Dir}}' "$module")" module
chmod -R u+w module

change() { # FILE OLD NEW: exactly one line must hold OLD
    [ "$(grep -cF -- "$2" "module/$1")" = 1 ] || { echo "$1: expected one line with $2" >&2; exit 1; }
    awk -v old="$2" -v new="$3" '{
        at = index($0, old)
        print at ? substr($0, 1, at - 1) new substr($0, at + length(old)) : $0
    }' "module/$1" >changed
    mv changed "module/$1"
}

mkdir module/pkg/bindaddress
cat >module/pkg/bindaddress/bindaddress.go <<'GO'
// Package bindaddress says where the picker's servers listen.
package bindaddress

import (
	"net"
	"os"
	"strconv"
)

// Join returns the address for a port.
func Join(port int) string {
	host := os.Getenv("EPP_BIND_ADDRESS")
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}
GO
for file in internal/runnable/grpc.go cmd/epp/runner/runner.go; do
    sed -i "0,/^import (/s|^import (|import (\n\t\"$module/pkg/bindaddress\"|" "module/$file"
done
change internal/runnable/grpc.go 'fmt.Sprintf(":%d", port)' 'bindaddress.Join(port)'
change cmd/epp/runner/runner.go 'fmt.Sprintf(":%d", opts.MetricsPort)' 'bindaddress.Join(opts.MetricsPort)'
go mod edit -replace "$module=./module"
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$out" "$module/cmd/epp"
