#!/bin/sh
# Builds the program as the file named.
set -e
out=$(realpath -m "${1:-fakevllm}")
cd "$(dirname "$0")"
CGO_ENABLED=0 exec go build -trimpath -ldflags '-s -w' -o "$out" .
