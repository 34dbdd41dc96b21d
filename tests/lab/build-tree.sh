#!/bin/bash
# build-tree.sh TREE KEYS - from nothing to the root of a Debian 13 HPC host:
# OpenLDAP, SSSD, sshd, munge, MariaDB, Slurm with REST, Python 3.13.
# KEYS receives what a test plays the site's other side with. What is left is
# the first boot and /root/seed/provision, which tree.py does.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
seed=$here/seed
tree=${1:?TREE} keys=${2:?KEYS}
# The mirrors this machine's own apt uses; LAB_MIRROR and LAB_MIRROR_SECURITY name others.
# shellcheck disable=SC2016  # apt expands it
sites() { apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sort -u; }
mirror=${LAB_MIRROR:-$(sites | grep -v -e '-security' | head -n 1)}
security=${LAB_MIRROR_SECURITY:-$(sites | grep -e '-security' | head -n 1)}
agent_password=${LAB_AGENT_PASSWORD:-agentpw}

packages=(
  systemd systemd-sysv dbus python3 python3-venv ca-certificates iproute2 procps curl git git-lfs
  slapd ldap-utils sssd-ldap sssd-common sssd-tools libnss-sss libpam-sss
  openssh-server openssh-client munge mariadb-server
  slurmctld slurmd slurmdbd slurmrestd slurm-client
  slurm-wlm-basic-plugins slurm-wlm-jwt-plugin slurm-wlm-mysql-plugin
)

say() { printf '[%4ss] %s\n' "$SECONDS" "$*"; }
in_tree() { chroot "$tree" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"; }
put() { # MODE SEED-FILE PATH-IN-TREE
  install -D -m "$1" "$seed/$2" "$tree$3"
}

[ ! -e "$tree" ] || { echo "$tree exists" >&2; exit 1; }
[ -n "$mirror" ] || { echo "no Debian mirror: run apt-get update, or set LAB_MIRROR" >&2; exit 1; }

say "packages"
sources=$(mktemp)
printf 'deb %s trixie main\ndeb %s trixie-updates main\ndeb %s trixie-security main\n' \
  "$mirror" "$mirror" "${security:-$mirror-security}" >"$sources"
include=$(IFS=,; echo "${packages[*]}")
mmdebstrap --quiet --variant=minbase --include="$include" \
  --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt=force-unsafe-io \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  trixie "$tree" "$sources" >"$keys/mmdebstrap.log" 2>&1 ||
  { tail -n 20 "$keys/mmdebstrap.log" >&2; exit 1; }
rm -f "$sources"

say "machine"
echo "built $(date -u +%FT%TZ)" >"$tree/etc/lab-tree"
echo hpc >"$tree/etc/hostname"
printf '127.0.0.1 localhost hpc\n::1 localhost\n' >"$tree/etc/hosts"
: >"$tree/etc/resolv.conf"
# Nothing may start by the clock and nothing may wait for the Internet.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer \
            e2scrub_all.timer systemd-networkd-wait-online.service \
            sssd-nss.socket sssd-pam.socket sssd-ssh.socket sssd-sudo.socket sssd-autofs.socket; do
  ln -sf /dev/null "$tree/etc/systemd/system/$unit"
done
for user in pharos-agent pharos-ssh-access pharos-runtime; do
  # Its stderr is sss_cache, complaining that SSSD has no database yet.
  in_tree useradd --system --home-dir "/var/lib/$user" --create-home --shell /usr/sbin/nologin "$user" 2>/dev/null
done
in_tree useradd --system --no-create-home --shell /usr/sbin/nologin slurmrest 2>/dev/null
# Shared scratch: members by their group, each owner deletes only its own.
install -d -m 3770 -o 0 -g 5500000 "$tree/scratch/pharos"
# What the runtime leaves for a stage's job: entered by name alone, listed by its owner.
install -d -m 2710 -o "$(in_tree id -u pharos-runtime)" -g 5500000 "$tree/scratch/pharos/.runtime"

say "directory"
ssh_uid=$(in_tree id -u pharos-ssh-access)
install -d -m 700 "$tree/root/seed"
sed "s/@SSH_UID@/$ssh_uid/" "$seed/slapd-config.ldif" >"$tree/root/seed/config.ldif"
hash=$(in_tree slappasswd -s "$agent_password")
sed "s#@AGENTPW@#$hash#" "$seed/base.ldif" >"$tree/root/seed/base.ldif"
put 755 directory-reset /usr/local/sbin/directory-reset
in_tree /usr/local/sbin/directory-reset --offline
sed -i 's#^SLAPD_SERVICES=.*#SLAPD_SERVICES="ldap://127.0.0.1/ ldapi:///"#' "$tree/etc/default/slapd"

say "names and logins"
put 600 sssd.conf /etc/sssd/sssd.conf
put 644 sssd-dropin.conf /etc/systemd/system/sssd.service.d/lab.conf
put 644 sshd-lab.conf /etc/ssh/sshd_config.d/lab.conf
put 755 ldap-authorized-keys /usr/local/libexec/ldap-authorized-keys
echo 'session optional pam_mkhomedir.so umask=0077' >>"$tree/etc/pam.d/sshd"

say "slurm"
for conf in slurm.conf gres.conf cgroup.conf; do put 644 "$conf" "/etc/slurm/$conf"; done
put 600 slurmdbd.conf /etc/slurm/slurmdbd.conf
put 644 99-slurm.cnf /etc/mysql/mariadb.conf.d/99-slurm.cnf
for unit in slurmdbd slurmctld slurmrestd; do
  put 644 "$unit-dropin.conf" "/etc/systemd/system/$unit.service.d/lab.conf"
done
echo 'SLURMD_OPTIONS="-N cn01"' >"$tree/etc/default/slurmd"
install -d -m 755 "$tree/var/lib/slurm" "$tree/var/lib/slurm/ctld" "$tree/var/lib/slurm/d" "$tree/var/log/slurm"
openssl rand 32 >"$keys/jwt_hs256.key"
install -m 600 "$keys/jwt_hs256.key" "$tree/var/lib/slurm/jwt_hs256.key"
openssl genrsa -out "$keys/oidc.pem" 2048 2>/dev/null
python3 - "$keys/oidc.pem" >"$tree/etc/slurm/jwks.json" <<'PY'
import base64, json, subprocess, sys
out = subprocess.run(["openssl", "rsa", "-in", sys.argv[1], "-noout", "-modulus"],
                     check=True, capture_output=True, text=True).stdout
n = bytes.fromhex(out.strip().partition("=")[2])
enc = lambda b: base64.urlsafe_b64encode(b).rstrip(b"=").decode()
print(json.dumps({"keys": [{"kid": "lab", "kty": "RSA", "alg": "RS256", "use": "sig",
                            "n": enc(n), "e": "AQAB"}]}))
PY
chmod 600 "$tree/etc/slurm/jwks.json"
in_tree chown -R slurm:slurm /var/lib/slurm /var/log/slurm /etc/slurm/slurmdbd.conf /etc/slurm/jwks.json
in_tree chown root:root /var/lib/slurm/d
put 755 lab-ready /usr/local/sbin/lab-ready
# Started by provision, once their database exists.
in_tree systemctl --quiet disable slurmdbd slurmctld slurmd slurmrestd 2>/dev/null

put 755 provision /root/seed/provision
say "ready to boot: $(du -sh "$tree" | cut -f1)"
