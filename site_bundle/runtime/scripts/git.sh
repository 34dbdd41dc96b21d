grant=@GRANT@
url=@URL@
for tool in git git-lfs awk base64; do
  command -v "$tool" >/dev/null 2>&1 || die 83 "$tool is not installed here"
done
# No setting of the member's, the host's or the caller's speaks to Git: no credential helper stores what is
# prompted for (K07), no trace prints it (K02), no terminal is waited for (K06), no redirect is followed (K12),
# no .netrc and no attributes of the home folder count. Nor does the repository's own .lfsconfig say where large
# files are, or that missing ones do not matter.
for name in $(env | sed -n 's/^\(GIT_[A-Za-z0-9_]*\)=.*/\1/p') SSH_ASKPASS SSH_ASKPASS_REQUIRE; do
  unset "$name"
done
GIT_ASKPASS=$grant/askpass
GIT_TERMINAL_PROMPT=0
GIT_CONFIG_NOSYSTEM=1
GIT_ATTR_NOSYSTEM=1
GIT_CONFIG_GLOBAL=/dev/null
HOME=/nonexistent
GIT_LFS_SKIP_SMUDGE=1
GIT_CONFIG_COUNT=11
large=${url%/}
large=${large%.git}.git/info/lfs
export GIT_CONFIG_KEY_0=credential.helper GIT_CONFIG_VALUE_0=''
export GIT_CONFIG_KEY_1=http.followRedirects GIT_CONFIG_VALUE_1=false
export GIT_CONFIG_KEY_2=submodule.recurse GIT_CONFIG_VALUE_2=false
export GIT_CONFIG_KEY_3=protocol.allow GIT_CONFIG_VALUE_3=never
export GIT_CONFIG_KEY_4=protocol.https.allow GIT_CONFIG_VALUE_4=always
export GIT_CONFIG_KEY_5=lfs.locksverify GIT_CONFIG_VALUE_5=false
export GIT_CONFIG_KEY_6=core.hooksPath GIT_CONFIG_VALUE_6=/dev/null
export GIT_CONFIG_KEY_7=lfs.url GIT_CONFIG_VALUE_7="$large"
export GIT_CONFIG_KEY_8=lfs.pushurl GIT_CONFIG_VALUE_8="$large"
export GIT_CONFIG_KEY_9=lfs.skipdownloaderrors GIT_CONFIG_VALUE_9=false
export GIT_CONFIG_KEY_10=lfs.allowincompletepush GIT_CONFIG_VALUE_10=false
export GIT_ASKPASS GIT_TERMINAL_PROMPT GIT_CONFIG_NOSYSTEM GIT_ATTR_NOSYSTEM GIT_CONFIG_GLOBAL GIT_LFS_SKIP_SMUDGE GIT_CONFIG_COUNT
if [ -s "$grant/ca.crt" ]; then
  GIT_SSL_CAINFO=$grant/ca.crt
  export GIT_SSL_CAINFO
fi
# On a noexec mount Git would fall back to other ways of asking; the stage says so instead (K05).
"$GIT_ASKPASS" selftest >/dev/null 2>&1 || die 82 "the askpass helper cannot be run here (missing, or a noexec mount)"
# What Git says may repeat what a server said; the two values never reach a log (K02). They are in environments
# alone, never in a list of arguments.
PHAROS_REPOSITORY_BASIC=$(printf '%s:%s' "$PHAROS_REPOSITORY_USERNAME" "$PHAROS_REPOSITORY_PASSWORD" | base64 -w 0)
scrubbed() {
  PHAROS_REPOSITORY_BASIC=$PHAROS_REPOSITORY_BASIC LC_ALL=C awk '{
    for (name in ENVIRON)
      if ((name == "PHAROS_REPOSITORY_PASSWORD" || name == "PHAROS_REPOSITORY_BASIC") && length(ENVIRON[name]))
        while (at = index($0, ENVIRON[name]))
          $0 = substr($0, 1, at - 1) "[credential]" substr($0, at + length(ENVIRON[name]))
    print
  }'
}
# Runs a command that talks to the server: its words scrubbed, its exit status its own.
told() {
  { status=$({ { "$@" 3>&- 4>&-; echo "$?" >&3; } 2>&1 | scrubbed >&4 3>&-; } 3>&1); } 4>&1
  return "$status"
}
forget_credential() { unset PHAROS_REPOSITORY_USERNAME PHAROS_REPOSITORY_PASSWORD PHAROS_REPOSITORY_BASIC; }
