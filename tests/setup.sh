#!/bin/sh
# setup.sh VENV: what a fresh Debian 12 or 13 machine needs for `make demo` and `make test`.
# Debian's packages (as root; otherwise it names the missing ones) and the development environment.
set -eu
venv=${1:?usage: setup.sh VENV}
packages="python3-venv openssh-client openssl shellcheck dash busybox iproute2 mmdebstrap systemd-container
          postgresql pgbouncer slapd ldap-utils curl git git-lfs make"

missing() {
  for package in $packages; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || printf '%s ' "$package"
  done
}

install_packages() {
  wanted=$(missing)
  [ -n "$wanted" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    echo "setup: not root, and these packages are missing: $wanted" >&2
    echo "setup: install them (apt-get install $wanted) or expect the tests that need them to fail" >&2
    return 0
  fi
  echo "setup: packages of Debian's, once: $wanted" >&2
  # No service may start on somebody's machine because a test suite wants its binaries.
  guard=/usr/sbin/policy-rc.d
  made=
  if [ ! -e "$guard" ]; then printf '#!/bin/sh\nexit 101\n' >"$guard"; chmod 755 "$guard"; made=1; fi
  trap '[ -z "$made" ] || rm -f "$guard"' EXIT
  # "postgresql" would make a cluster of its own at installation.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    printf 'create_main_cluster = false\n' >/etc/postgresql-common/createcluster.conf
  apt-get update -qq
  # shellcheck disable=SC2086  # words on purpose
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null
  for package in $wanted; do
    case $package in slapd|pgbouncer) leave_disabled "$package" ;; esac
  done
}

# Nor may it start at the next boot: its unit, and the System V script that systemd would turn into one. Works
# without systemd as PID 1 too, as both tools change links alone.
leave_disabled() {
  systemctl --quiet disable "$1.service" >/dev/null 2>&1 || true
  if [ -e "/etc/init.d/$1" ]; then update-rc.d "$1" disable >/dev/null || true; fi
  left=$(find /etc/systemd/system /etc/rc?.d \( -path "*.wants/$1.service" -o -name "S??$1" \) 2>/dev/null)
  [ -z "$left" ] || echo "setup: $1 would start at the next boot; disable it by hand: $left" >&2
}

find_python() {
  for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3 /usr/bin/python3; do
    [ -n "$candidate" ] || continue
    # Run it: a shim can exist without an interpreter behind it.
    if "$candidate" -c 'import sys, ssl; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      echo "$candidate"; return 0
    fi
  done
  echo "setup: no Python 3.11, 3.12 or 3.13 answers; set PYTHON to one" >&2
  return 1
}

install_packages
stamp=$venv/.pharos-setup
digest=$(cat pyproject.toml tests/constraints.txt | sha256sum | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null)" != "$digest" ]; then
  echo "setup: the development environment in $venv, once (about a minute)" >&2
  [ -x "$venv/bin/python" ] || "$(find_python)" -m venv "$venv"
  # The pip of the release's own lock: tests build environments with it as a site does. What pip warns of (a
  # machine's own configuration, mostly) helps only who must find out why it failed.
  pip=$(sed -n 's/^\(pip==[0-9.]*\) .*/\1/p' release/locks/controller.txt)
  said=$({ "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$pip" &&
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c tests/constraints.txt -e '.[dev]'; } 2>&1) || {
    printf 'setup: pip failed:\n%s\n' "$said" >&2
    exit 1
  }
  echo "$digest" >"$stamp"
fi
