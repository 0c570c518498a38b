#!/bin/sh
# Builds ./celgo with the flags that every Go program here uses, so that they share a build cache.
set -e
cd "$(dirname "$0")"
go build -trimpath -ldflags "-s -w" -o "${1:-celgo}" .
