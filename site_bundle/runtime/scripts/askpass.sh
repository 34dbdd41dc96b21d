#!/bin/sh
# Answers Git and git-lfs for exactly one origin (K03): two values of the job's own environment, nothing else.
origin=@ORIGIN@
host=${origin#https://}
[ "$1" = selftest ] && exit 0
user=$PHAROS_REPOSITORY_USERNAME
prompt=${1%: }
case $prompt in
  "Username for '$origin'" | "Username for \"$origin\"") printf '%s\n' "$user" ;;
  "Password for 'https://$user@$host'" | "Password for \"https://$user@$host\"") printf '%s\n' "$PHAROS_REPOSITORY_PASSWORD" ;;
  *) exit 1 ;;
esac
