#!/bin/bash
# supervise.sh FOLDER CGROUP MACHINE NAME [NSPAWN-OPTION...]
# Runs systemd-nspawn for as long as the host lives. nspawn says 133 when the
# host asked for a reboot.
set -u
folder=$1 cgroup=$2 machine=$3 name=$4
shift 4
echo $$ >"$cgroup/cgroup.procs" || exit 1
echo $$ >"$folder/supervisor.new" && mv "$folder/supervisor.new" "$folder/supervisor.pid"
rc=133
while [ "$rc" = 133 ]; do
  # CAP_NET_ADMIN: PrivateNetwork=. CAP_BPF, CAP_PERFMON and bpf(2):
  # IPAddressDeny=, DevicePolicy=, SocketBindDeny=. Without them systemd
  # ignores these directives in silence.
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet \
    --directory="$folder/root" --machine="$machine" --hostname="$name" \
    --register=no --keep-unit --boot --console=pipe \
    --network-namespace-path="/run/netns/$machine" \
    --capability=CAP_NET_ADMIN,CAP_BPF,CAP_PERFMON --system-call-filter=bpf \
    "$@"
  rc=$?
  rm -rf "/run/systemd/nspawn/propagate/$machine"
done
exit "$rc"
