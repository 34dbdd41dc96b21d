#!/bin/sh
# Finds a Python 3.13 by running it, then hands over to the verifier beside this file, which checks the release
# archive, builds the installer's own environment and runs the phase. 'install.sh --help' tells more.
# PHAROS_PYTHON names the interpreter; exit 10 when there is none. Nothing is read from standard input.
set -eu

PROBE='import sys, sysconfig
import ssl, venv, zlib
print("%d.%d%s" % (sys.version_info[0], sys.version_info[1], "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))'

START='import sys
sys.dont_write_bytecode = True
sys.path.append(sys.argv[1])
from installer.bootstrap.main import main
main()'

say() {
    printf '%s\n' "$*" >&2
}

# What an interpreter says of itself: "3.13", or the last line of its complaint.
ask() {
    if answer=$("$1" -I -S -B -c "$PROBE" 2>&1 </dev/null); then
        printf '%s' "$answer"
    else
        printf 'ended with %s: %s' "$?" "$(printf '%s\n' "$answer" | tail -n 1)"
    fi
}

main() {
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    export PATH
    umask 022
    case $0 in
        */*) folder=${0%/*} ;;
        *) folder=. ;;
    esac
    folder=$(CDPATH='' cd -- "$folder" && pwd)

    tried=
    if [ -n "${PHAROS_PYTHON:-}" ]; then
        set -- "$PHAROS_PYTHON" -- "$@"
    else
        set -- python3.13 /usr/bin/python3.13 python3 -- "$@"
    fi
    python=
    while [ "$1" != -- ]; do
        if [ -z "$python" ]; then
            said=$(ask "$1")
            if [ "$said" = 3.13 ]; then
                python=$1
            else
                tried="$tried
  $1: $said"
            fi
        fi
        shift
    done
    shift
    if [ -z "$python" ]; then
        say "refused: host_interpreter"
        say "  found:  $tried"
        say "  wanted: CPython 3.13 with ssl, venv and zlib, not free-threaded"
        say "  remedy: install Python 3.13 (Debian 13: apt-get install python3.13), or name it: PHAROS_PYTHON=/path/python3.13"
        exit 10
    fi
    exec "$python" -I -S -B -c "$START" "$folder" "$@"
}

main "$@"
