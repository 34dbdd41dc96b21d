#!/bin/sh
# Compute: the member's words, as they are, in the workspace.
@COMMON@
[ ! -L "$workspace" ] && [ -d "$workspace/work" ] && [ -O "$workspace" ] || die 80 "there is no workspace of this account's"
cd "$workspace/work" || die 80 "the workspace cannot be entered"
exec >>"$workspace/logs/compute.log" 2>&1
unset entry code scratch attempt workspace
set -- @ARGV@
exec "$@"
