#!/bin/sh
# Makes .venv from uv.lock, if it is not there or not current.
# Needs a Python 3.12 to 3.14 anywhere usual; brings its own uv. CLAIMYARD_PYTHON names another.
# With --which it only prints the interpreter that it would take.
set -eu
cd "$(dirname "$0")/.."

UV_VERSION=0.13.9

say() { printf '%s\n' "$*" >&2; }

minor_of() { # the y of Python 3.y, or nothing when it does not run
    "$1" -c 'import sys; print(sys.version_info[1] if sys.version_info[0] == 3 else 0)' 2>/dev/null
}

candidates() { # best first: the versions that the tests run on, then the next one
    if [ -n "${CLAIMYARD_PYTHON:-}" ]; then
        echo "$CLAIMYARD_PYTHON"
        return
    fi
    for minor in 13 12 14; do
        for place in "$(command -v "python3.$minor" || true)" \
            "${PYENV_ROOT:-}"/versions/3."$minor".*/bin/python3 \
            "${HOME:-}"/.pyenv/versions/3."$minor".*/bin/python3 \
            /usr/bin/python3."$minor" /usr/local/bin/python3."$minor" \
            /opt/python/3."$minor"*/bin/python3 /opt/homebrew/bin/python3."$minor"; do
            if [ -x "$place" ]; then echo "$place"; fi
        done
    done
    command -v python3 || true
}

find_python() {
    candidates | while IFS= read -r candidate; do
        minor=$(minor_of "$candidate") || continue
        case $minor in
        12 | 13 | 14) ;;
        *) continue ;;
        esac
        # A shim of pyenv is a script; ask the interpreter where it really is.
        "$candidate" -c 'import os, sys; print(os.path.abspath(sys.executable))'
        break
    done
}

no_python() {
    say "Claimyard needs Python 3.12, 3.13 or 3.14, and none was found on the PATH, among pyenv's"
    say "versions or in the usual places."
    if [ -n "${CLAIMYARD_PYTHON:-}" ]; then
        say "CLAIMYARD_PYTHON is $CLAIMYARD_PYTHON, which is not one that runs here."
    fi
    say "Install one, for example:"
    say "  Debian 13, Ubuntu 24.04:  apt install python3 python3-venv"
    say "  Fedora:                   dnf install python3"
    say "  macOS:                    brew install python@3.13"
    say "  anywhere:                 pyenv install 3.13"
    say "or name it: make demo CLAIMYARD_PYTHON=/path/to/python3"
    exit 1
}

get_uv() { # into build/uv, by whatever means this Python has
    if [ -x build/uv/bin/uv ] && [ "$(build/uv/bin/uv --version | cut -d' ' -f2)" = "$UV_VERSION" ]; then
        return
    fi
    rm -rf build/uv
    mkdir -p build
    if "$python" -m venv build/uv >build/uv.log 2>&1 &&
        build/uv/bin/python -m pip install --quiet --disable-pip-version-check \
            "uv==$UV_VERSION" >>build/uv.log 2>&1; then
        return
    fi
    rm -rf build/uv
    if "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --target build/uv "uv==$UV_VERSION" >>build/uv.log 2>&1; then
        return
    fi
    rm -rf build/uv
    say "uv $UV_VERSION, which installs everything else, could not be installed:"
    tail -5 build/uv.log >&2
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        say "$python has no venv module: on Debian and Ubuntu, apt install python3-venv"
    fi
    exit 1
}

if [ "${1:-}" = --which ]; then
    python=$(find_python)
    [ -n "$python" ] || no_python
    echo "$python"
    exit 0
fi

state=$(cksum uv.lock pyproject.toml)
stamp=.venv/claimyard-state
if [ -x .venv/bin/python ] && .venv/bin/python -c '' 2>/dev/null &&
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$state" ]; then
    exit 0
fi

python=$(find_python)
[ -n "$python" ] || no_python
if [ ! -w "${HOME:-/nonexistent}" ]; then # an account without a home
    export PIP_NO_CACHE_DIR=1
    export UV_CACHE_DIR="${UV_CACHE_DIR:-$PWD/build/uv-cache}"
fi
say "preparing .venv with $python"
get_uv
UV_PYTHON_DOWNLOADS=never UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}" UV_PROJECT_ENVIRONMENT="$PWD/.venv" \
    build/uv/bin/uv sync --locked --quiet --no-progress --python "$python"
printf '%s\n' "$state" >"$stamp"
