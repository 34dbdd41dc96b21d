#!/bin/sh
# Stage in: the repository at the exact commit, in a workspace this account makes for itself.
@COMMON@
commit=@COMMIT@
own_folder "$workspace"
log_to stage-in.log
# A requeued job begins anew: what an earlier run left is not trusted.
rm -rf "$workspace/work"
git init --quiet "$workspace/work" || die 84 "no repository could be made"
cd "$workspace/work" || die 80 "the workspace cannot be entered"
git remote add origin "$url"
told git fetch --quiet --no-tags --no-recurse-submodules origin "$commit" </dev/null ||
  told git fetch --quiet --tags --no-recurse-submodules origin '+refs/heads/*:refs/remotes/origin/*' </dev/null ||
  die 84 "the repository could not be fetched"
git cat-file -e "$commit^{commit}" 2>/dev/null || die 85 "the repository does not have the commit"
git lfs install --local --skip-smudge --skip-repo >/dev/null || die 86 "LFS could not be set up"
git -c advice.detachedHead=false checkout --quiet --no-recurse-submodules --detach "$commit" || die 85 "the commit could not be checked out"
told git lfs pull </dev/null || die 86 "large files could not be fetched"
forget_credential
say "at $(git rev-parse HEAD)"
