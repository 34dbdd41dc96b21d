#!/bin/sh
# Compute: the member's words, as they are, in the workspace. Their PATH is for them, not for what comes before.
given=$(/usr/bin/printenv PATH)
@COMMON@
[ ! -L "$workspace" ] && [ -d "$workspace/work" ] && [ -O "$workspace" ] || die 80 "there is no workspace of this account's"
cd "$workspace/work" || die 80 "the workspace cannot be entered"
log_to compute.log
PATH=${given:-$PATH}
unset entry code scratch attempt workspace given
set -- @ARGV@
exec "$@"
