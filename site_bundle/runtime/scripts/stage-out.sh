#!/bin/sh
# Stage out: the declared outputs as one commit on the Run's own branch; its name to the Runtime.
@COMMON@
commit=@COMMIT@
ref=@REF@
result=@RESULT@
[ ! -L "$workspace" ] && [ -d "$workspace/work" ] && [ -O "$workspace" ] || die 80 "there is no workspace of this account's"
log_to stage-out.log
# The member's program may have left anything in .git: settings, hooks, filters, remotes. The commit is made in a
# repository of this stage's own, which takes nothing from there but the objects of the exact commit.
rm -rf "$workspace/out"
git init --quiet "$workspace/out" || die 88 "no repository could be made"
cd "$workspace/out" || die 80 "the workspace cannot be entered"
git remote add origin "$url"
told git fetch --quiet --no-tags --no-recurse-submodules origin "$commit" </dev/null ||
  told git fetch --quiet --tags --no-recurse-submodules origin '+refs/heads/*:refs/remotes/origin/*' </dev/null ||
  die 84 "the repository could not be fetched"
git lfs install --local --skip-smudge --skip-repo >/dev/null || die 86 "LFS could not be set up"
git update-ref --no-deref HEAD "$commit" || die 85 "the repository does not have the commit"
git read-tree HEAD || die 85 "the commit could not be read"
GIT_WORK_TREE=$workspace/work
GIT_DIR=$workspace/out/.git
export GIT_WORK_TREE GIT_DIR
cd "$workspace/work" || die 80 "the workspace cannot be entered"
set -- @PATHS@
for path in "$@"; do
  path=${path%/}
  [ -L "$path" ] || [ -f "$path" ] || [ -d "$path" ] || die 87 "declared output $path is not there, or no file"
  above=$path
  while [ "$above" != "${above%/*}" ]; do
    above=${above%/*}
    [ ! -L "$above" ] || die 87 "declared output $path is beyond the link $above"
  done
done
# What was declared is what the commit has there, names taken letter by letter. No status of what reads the files
# is lost in a pipe: with the place full, LFS answers with nothing, and that would be the output. A file of the given size or more is
# stored by LFS, whatever the repository's own attributes say of it.
GIT_LITERAL_PATHSPECS=1
export GIT_LITERAL_PATHSPECS
for path in "$@"; do
  path=./${path%/}
  git rm -r --quiet --cached --ignore-unmatch -- "$path" || die 88 "the outputs could not be added"
  find "$path" -name .git -prune -o \( -type l -o -type f -size -@LARGE@c \) -print0 >"$GIT_DIR/small" &&
    git add --force --pathspec-from-file="$GIT_DIR/small" --pathspec-file-nul ||
    die 88 "the outputs could not be added"
  # shellcheck disable=SC2016 # the inner shell expands it, once a file
  find "$path" -name .git -prune -o -type f ! -size -@LARGE@c -exec sh -c '
    for file do
      mode=100644
      [ -x "$file" ] && mode=100755
      pointer=$(git lfs clean -- "${file#./}" <"$file") && [ "$pointer" ] &&
        blob=$(printf "%s\n" "$pointer" | git hash-object -w --stdin) &&
        git update-index --add --cacheinfo "$mode,$blob,${file#./}" || exit 1
    done' sh {} + || die 88 "a large file could not be stored"
done
GIT_AUTHOR_NAME=$USER GIT_AUTHOR_EMAIL="$USER@localhost" GIT_COMMITTER_NAME=$USER GIT_COMMITTER_EMAIL="$USER@localhost"
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
tree=$(git write-tree) || die 88 "the outputs could not be written"
made=$(git commit-tree "$tree" -p "$commit" -m @MESSAGE@) || die 88 "the commit could not be made"
git update-ref "$ref" "$made" || die 88 "the commit could not be named"
told git lfs push origin "$ref" </dev/null || die 89 "large files could not be pushed"
told git push --quiet --no-verify --force origin "$made:$ref" </dev/null || die 89 "the commit could not be pushed"
forget_credential
# Only what the Runtime asked to know leaves the workspace; group readable, in its folder (S4).
umask 027
printf '%s %s\n' "$ref" "$made" >"$result.$$" && mv -f "$result.$$" "$result" || die 90 "the result could not be written"
say "pushed $made"
