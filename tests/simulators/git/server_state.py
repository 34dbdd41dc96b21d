"""What the Git server holds: bare repositories, credentials, large objects, faults, and what it was asked.

Rules it keeps (K02–K12, S2):

1. A credential is one user name and password, for exactly one repository, until a time; it may read, and
   write only refs that begin with one of its prefixes. Another repository's path is 404 to it.
2. Nobody reads anything without a credential: 401 with `WWW-Authenticate: Basic`.
3. Every request is kept with its path, method, answer and the name that came with it; never the password.
"""

import hmac
import os
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

BACKEND: Final = Path("/usr/lib/git-core/git-http-backend")
_SOMEBODY: Final = ("-c", "user.name=Development", "-c", "user.email=development@example.org")
UPDATE_HOOK: Final = """\
#!/bin/sh
# $1 is the ref to be written; PHAROS_GIT_WRITES lists the prefixes this credential may write.
for prefix in $PHAROS_GIT_WRITES; do
  case "$1" in "$prefix"*) exit 0 ;; esac
done
echo "this credential may not write $1" >&2
exit 1
"""


@dataclass(frozen=True, slots=True)
class Credential:
    """Rule 1. `expires` is in seconds since the epoch; `writes` are ref prefixes (empty: read only)."""

    username: str
    password: str = field(repr=False)
    repository: str
    expires: float
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it is remembered."""

    method: str
    path: str
    status: int
    username: str | None


@dataclass(slots=True)
class Faults:
    """What goes wrong from now on. `times` None: until it is changed; else that many requests.

    `status` is answered instead (with Git's own wording); `redirect` sends a 302 there (K12); `cut_after`
    closes the connection after so many bytes of an answer; `seconds` waits first.
    """

    status: int | None = None
    redirect: str | None = None
    cut_after: int | None = None
    seconds: float = 0.0
    times: int | None = None


class Repositories:
    """The server's whole state; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults = Faults()
        self._credentials: dict[str, Credential] = {}
        self._asked: list[Asked] = []
        self._lock = threading.Lock()

    def create(self, name: str) -> Path:
        """Makes the bare repository `name` (`group/project.git`) and returns its path."""
        path = self.path(name)
        _git("init", "--quiet", "--bare", "--initial-branch=main", str(path))
        _git("-C", str(path), "config", "http.receivepack", "true")
        _git("-C", str(path), "config", "uploadpack.allowAnySHA1InWant", "true")
        hook = path / "hooks" / "update"
        hook.write_text(UPDATE_HOOK)
        hook.chmod(0o755)
        (path / "lfs").mkdir()
        return path

    def commit(self, name: str, source: Path | None) -> str:
        """Puts the files of a folder, or none, on `main`; the commit."""
        with tempfile.TemporaryDirectory(prefix="pharos-git-") as folder:
            work = Path(folder) / "work"
            if source is not None:
                shutil.copytree(source, work, ignore=shutil.ignore_patterns(".git"))
            work.mkdir(exist_ok=True)
            _git("init", "--quiet", "--initial-branch=main", str(work))
            _git("-C", str(work), "add", "--all")
            _git("-C", str(work), *_SOMEBODY, "commit", "--quiet", "--allow-empty", "--message", "first")
            _git("-C", str(self.path(name)), "fetch", "--quiet", str(work), "main:main")
            return _git("-C", str(work), "rev-parse", "HEAD").strip()

    def path(self, name: str) -> Path:
        """Where the repository lies. `ValueError` for a name that leaves the folder."""
        parts = name.split("/")
        if not name.endswith(".git") or any(part in ("", ".", "..") for part in parts):
            raise ValueError(f"not a repository's name: {name}")
        return self.folder.joinpath(*parts)

    def names(self) -> list[str]:
        """Every repository, sorted."""
        return sorted(str(path.parent.relative_to(self.folder)) for path in self.folder.glob("**/*.git/HEAD"))

    def refs(self, name: str) -> dict[str, str]:
        """Each ref with its commit."""
        listed = _git("-C", str(self.path(name)), "for-each-ref", "--format=%(objectname) %(refname)")
        return {ref: commit for commit, ref in (line.split(" ", 1) for line in listed.splitlines())}

    def grant(self, credential: Credential) -> None:
        """Makes a credential valid; one of the same user name is replaced."""
        with self._lock:
            self._credentials[credential.username] = credential

    def revoke(self, username: str) -> None:
        """Takes a credential back; unknown ones are no fault."""
        with self._lock:
            self._credentials.pop(username, None)

    def admitted(self, username: str, password: str, now: float) -> Credential | None:
        """The credential, if it is known, right and not expired."""
        with self._lock:
            known = self._credentials.get(username)
        if known is None or not hmac.compare_digest(known.password.encode(), password.encode()):
            return None
        return known if now < known.expires else None

    def fault(self) -> Faults:
        """What goes wrong with the request at hand; counts it."""
        with self._lock:
            faults = self.faults
            if faults.times is not None:
                faults.times -= 1
                if faults.times < 0:
                    self.faults = Faults()
                    return self.faults
            return faults

    def remember(self, asked: Asked) -> None:
        """Rule 3."""
        with self._lock:
            self._asked.append(asked)

    def asked(self) -> list[Asked]:
        """Every request so far, in order."""
        with self._lock:
            return list(self._asked)


def _git(*arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    ended = subprocess.run(
        ["git", *arguments], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    if ended.returncode:
        raise ValueError(f"git {arguments[0]}: {ended.stderr.strip()}")
    return ended.stdout
