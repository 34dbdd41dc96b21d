umask 077
PATH=/usr/local/bin:/usr/bin:/bin
export PATH
say() { printf 'pharos: %s\n' "$*" >&2; }
die() { code=$1; shift; say "$*"; exit "$code"; }
# Slurm hands over no HOME and no USER: they are the passwd entry's (S2).
entry=$(getent passwd "$(id -u)") || die 81 "this node does not know the account"
USER=$(printf '%s\n' "$entry" | cut -d: -f1)
HOME=$(printf '%s\n' "$entry" | cut -d: -f6)
LOGNAME=$USER
export USER HOME LOGNAME
# A folder in a shared place is ours only if it is no link and belongs to us: others may have made it before. One
# lstat(2) says both, so that it cannot be exchanged in between; afterwards the sticky bit above keeps it ours.
own_folder() {
  mkdir -m 0700 "$1" 2>/dev/null
  [ "$(LC_ALL=C stat -c '%F %u' "$1" 2>/dev/null)" = "directory $(id -u)" ] && chmod 0700 "$1" ||
    die 80 "$1 is not this account's own folder"
}
# A program may have left anything under the log's name; a pipe there would hold the stage until its time is up.
log_to() {
  own_folder "$workspace/logs"
  [ -f "$workspace/logs/$1" ] || rm -rf "$workspace/logs/$1"
  exec >>"$workspace/logs/$1" 2>&1
}
scratch=@SCRATCH@
attempt=@ATTEMPT@
own_folder "$scratch/$USER"
workspace=$scratch/$USER/$attempt
