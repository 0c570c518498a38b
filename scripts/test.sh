#!/bin/sh
# Runs the tests while the Go programs that the last of them need are built, at low priority.
set -u
cd "$(dirname "$0")/.."
mkdir -p build

programs=
for build in tests/*/*/build.sh; do
    programs="$programs $(dirname "$build")"
done
# shellcheck disable=SC2086 # a list of folders
nice -n 5 .venv/bin/python -m embedded.gobuild $programs >build/go.log 2>&1 </dev/null &
builder=$!
trap 'kill "$builder" 2>/dev/null' EXIT INT TERM

.venv/bin/python -m pytest "$@"
