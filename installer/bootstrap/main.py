"""From an extracted archive to the verified installer: verify, build the controller, hand over.

install.sh starts this with the archive's folder as the only path beside the standard library, without site
packages and without writing bytecode. Order: host → archive (``archive.py``) → folder (``folder.py``) →
controller (``controller.py``) → exec of the controller's console script with a scrubbed environment. Its
own options are ``--archive`` and ``--allowed-signers``; every other argument is the installer's and goes
through untouched.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Final, NoReturn, TextIO

from installer.bootstrap.archive import VerifiedArchive, open_verified
from installer.bootstrap.checkpoint import lab_checkpoint
from installer.bootstrap.controller import (
    CONSOLE_SCRIPT,
    ROOT,
    ControllerPort,
    ensure_controller,
    find_controller,
)
from installer.bootstrap.errors import index_refusal, refusal
from installer.bootstrap.folder import verify_folder
from installer.bootstrap.host import Host, check_interpreter, check_machine, check_root, read_host
from installer.bootstrap.inputs import Trust
from installer.bootstrap.lock import LOCK, hold
from installer.domain.index import Index, index_fault
from installer.domain.refusal import DONE, Refusal
from installer.domain.refusal import USAGE as WRONG_USAGE

PYTHON: Final = "3.13"
DEFAULT_SIGNERS: Final = Path("/etc/pharos-hpc/allowed_signers")
PHASES: Final = ("preflight", "install", "validate", "activate", "rollback", "recover", "status")
_SHOWN: Final = 40
_OWN: Final = MappingProxyType(
    {"--archive": "FILE", "--allowed-signers": "FILE", "--index-url": "URL", "--index-ca": "FILE"}
)
_PASSED_ON: Final = ("TERM", "NO_COLOR", "PHAROS_LAB_CHECKPOINT")

USAGE: Final = """\
usage: install.sh [--archive FILE] [--allowed-signers FILE] PHASE [options]

Verifies the release archive this folder was extracted from, builds the installer's own environment from it
without a network, and runs the phase there.

  preflight   look at the host and the inputs; change nothing else (see below)
  install     lay down the release; start nothing
  validate    look at what is installed
  activate    switch chosen components to it, with evidence; restore on failure
  rollback    go back to the previous release
  recover     finish or undo what was interrupted
  status      what is wanted, linked, running and healthy

Every phase root runs, also with --plan, leaves the installer's own environment (controller) and
the lock file, in /opt/pharos-hpc and /var/lib/pharos-installer: both are made here before the phase runs.

  --archive FILE           the archive; its signatures lie beside it
                           (default: <this folder>.tar.gz beside this folder)
  --allowed-signers FILE   who may sign releases, in ssh-keygen's format: from your hand-off, never from the
                           archive (default: /etc/pharos-hpc/allowed_signers)
  --index-url URL          for a release without wheels (dependency mode index): the approved HTTPS index, as
                           the profile's dependencies section names it; for the installer's own environment
  --index-ca FILE          its certificate authority (default: the system's store)

'install.sh PHASE --help' tells a phase's options. Exit codes: 0 done, 2 usage, 3 refused before any change,
4 verification failed, 5 locked, 6 install failed, 7 and 8 activation failed, 9 unfinished journal,
10 unsupported host.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """The bootstrap's own options, and the arguments that are the installer's."""

    archive: Path
    allowed_signers: Path
    rest: tuple[str, ...]
    index: Index | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """Where on the host things are, who may own inputs, and what interpreter a release needs."""

    root: Path = ROOT
    lock: Path = LOCK
    sticky_parents: bool = False
    python: str = PYTHON

    @property
    def trust(self) -> Trust:
        """root and the user who runs this: nobody else could have changed such an input."""
        return Trust(owners=frozenset({0, os.geteuid()}), sticky_parents=self.sticky_parents)


HOST: Final = Places()


@dataclass(frozen=True, slots=True)
class HandOver:
    """The program to become: its path, its arguments from the name on, its whole environment."""

    script: Path
    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def call(self) -> tuple[str, tuple[str, ...], Mapping[str, str]]:
        """The arguments of execve(2)."""
        return os.fspath(self.script), self.arguments, self.environment


def main() -> NoReturn:
    """The entry point of install.sh: ``sys.argv`` is ``-c FOLDER ARGUMENT…``. Never returns."""
    sys.dont_write_bytecode = True
    _open_standard_descriptors()
    os.umask(0o022)
    folder, arguments = Path(sys.argv[1]), sys.argv[2:]
    if not arguments or arguments[0] in {"-h", "--help"}:
        _write(sys.stdout, USAGE)
        sys.exit(DONE if arguments else WRONG_USAGE)
    try:
        refuse_not_root(parse(folder, arguments).rest, user=os.geteuid())
        next_program = prepare(folder, arguments, os.environ, now=time.time())
        become(next_program)
    except Refusal as error:
        _tell(error, as_json="--json" in arguments)
        code = error.exit_code
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def prepare(
    folder: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    now: float,
    places: Places = HOST,
) -> HandOver:
    """Verify and build; what is to be run then. ``now`` in seconds since the epoch. Raises Refusal."""
    request = parse(folder, arguments)
    host = read_host()
    check_interpreter(host, wanted=places.python)
    trust = places.trust
    told = "--quiet" not in request.rest
    if told:
        progress(f"verifying {request.archive}")
    with open_verified(request.archive, allowed_signers=request.allowed_signers, trust=trust) as archive:
        _check_host(host, archive, now)
        verify_folder(folder, archive, trust=trust)
        signers = ", ".join(sorted({signature.principal for signature in archive.signatures}))
        if told:
            progress(f"release {archive.release_id}, signed by {signers}")
        for suffix in archive.unsupported_signatures:
            progress(f"not counted: {suffix}, a kind that this host's ssh-keygen cannot verify")
        controller = _controller(archive, request, environment, host, places)
        child = scrubbed(environment, request.archive, archive.sha256, request.index)
    script = controller / "bin" / CONSOLE_SCRIPT
    return HandOver(script, (os.fspath(script), *request.rest), child)


def become(program: HandOver) -> NoReturn:
    """Replace this process. Raises Refusal ``host_noexec`` (row 12: a noexec mount is found here at the
    latest).
    """
    try:
        os.execve(*program.call)  # noqa: S606 - the hand-over itself
    except OSError as error:
        found = f"{program.script}: {error.strerror}"
        raise refusal("host_noexec", found=found, wanted="a program that may run") from error


def parse(folder: Path, arguments: Sequence[str]) -> Request:
    """Take the bootstrap's options out of ``arguments``, up to a ``--``. Raises Refusal ``usage``,
    ``index_invalid``.
    """
    own: dict[str, str] = {}
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        name, equals, value = argument.partition("=")
        if argument == "--":
            rest += [argument, *waiting]
            break
        if name not in _OWN:
            rest.append(argument)
            continue
        if not equals and waiting:
            value = waiting.pop(0)
        if not value:
            raise refusal("usage", found=f"{name} without a value", wanted=f"{name} {_OWN[name]}")
        if name in own:
            raise refusal("usage", found=f"{name} twice", wanted="one")
        own[name] = value if name == "--index-url" else os.fspath(Path(value).absolute())
    refuse_unknown_phase(rest)
    return Request(
        archive=Path(own.get("--archive", folder.parent / f"{folder.name}.tar.gz")),
        allowed_signers=Path(own.get("--allowed-signers", DEFAULT_SIGNERS)),
        rest=tuple(rest),
        index=_index(own.get("--index-url"), own.get("--index-ca", "")),
    )


def _index(url: str | None, authority: str) -> Index | None:
    if url is None:
        if authority:
            raise refusal("usage", found="--index-ca without --index-url", wanted="both, or neither")
        return None
    fault = index_fault(url)
    if fault is not None:
        raise refusal("index_invalid", found=f"--index-url: {fault}", wanted="an HTTPS URL, no credential")
    return Index(url=url, ca_file=authority)


def refuse_unknown_phase(rest: Sequence[str]) -> None:
    """Raise Refusal ``usage`` for what no installer of this folder has, before anything is verified."""
    word = rest[0] if rest else ""
    if word in PHASES or word in {"-h", "--help"}:
        return
    near = get_close_matches(word, PHASES, n=1)
    raise refusal(
        "usage",
        found=f"the phase {word[:_SHOWN]!a}" if word else "no phase",
        wanted=f"first of all one of {', '.join(PHASES)}",
        remedy=f"Did you mean {near[0]}?" if near else "",
    )


def refuse_not_root(rest: Sequence[str], *, user: int) -> None:
    """Raise Refusal ``host_not_root`` where the phase is root's alone; help is for anybody."""
    if not {"-h", "--help"}.intersection(rest):
        check_root(user, rest[0])


def scrubbed(
    environment: Mapping[str, str], archive: Path, digest: str, index: Index | None = None
) -> dict[str, str]:
    """All that the installer learns from the caller's environment (row 21), and the index named here, which
    it compares with the profile's (I4).
    """
    child = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
    child |= {name: environment[name] for name in _PASSED_ON if name in environment}
    if index is not None:
        child["PHAROS_INDEX_URL"] = index.url
    return child | {"PHAROS_ARCHIVE": os.fspath(archive), "PHAROS_ARCHIVE_SHA256": digest}


def progress(text: str) -> None:
    """One line on stderr; a closed stderr is no reason to stop."""
    _write(sys.stderr, f"{text}\n")


def _check_host(host: Host, archive: VerifiedArchive, now: float) -> None:
    check_machine(host, architecture=archive.manifest.architecture, glibc=archive.manifest.glibc)
    built = datetime.fromisoformat(archive.manifest.built_at.replace("Z", "+00:00"))
    clock = datetime.fromtimestamp(now, UTC)
    if clock < built:
        raise refusal(
            "host_clock", found=f"the clock says {clock:%Y-%m-%dT%H:%M:%SZ}", wanted=f"after {built}"
        )


def _controller(
    archive: VerifiedArchive, request: Request, environment: Mapping[str, str], host: Host, places: Places
) -> Path:
    if os.geteuid() != 0:
        found = find_controller(archive, places.root)
        if found is None:
            raise refusal(
                "host_not_root", found=f"user {os.geteuid()}", wanted="root, to build the installer"
            )
        return found
    port = ControllerPort(
        interpreter=host.executable,
        root=places.root,
        trust=places.trust,
        checkpoint=lab_checkpoint(environment.get("PHAROS_LAB_CHECKPOINT"), "controller"),
        progress=progress,
        index=request.index,
    )
    if request.index is not None and archive.manifest.dependency_mode != "index":
        raise index_refusal(archive.manifest.dependency_mode)
    with hold(places.lock, verb=request.rest[0] if request.rest else "none") as lock:
        return ensure_controller(archive, port, lock)


def _open_standard_descriptors() -> None:
    """Descriptors 0 to 2 exist, so that no file we open later is mistaken for one of them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _write(stream: TextIO | None, text: str) -> None:
    """Python has no stream object for a descriptor that was closed when it started."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            stream.write(text)
            stream.flush()


def _tell(error: Refusal, *, as_json: bool) -> None:
    """The refusal as the phases tell theirs: words on stderr, with ``--json`` one result line on stdout."""
    if as_json:
        fields = {
            "schema": 1, "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "event": "result",
            "text": str(error), "ok": False, "exitCode": error.exit_code, "code": error.code,
            "found": error.found,
            "wanted": error.wanted, "remedy": error.remedy,
        }  # fmt: skip
        _write(sys.stdout, json.dumps(fields) + "\n")
    progress(f"refused: {error.code}")
    progress(f"  found:  {error.found}\n  wanted: {error.wanted}\n  remedy: {error.remedy}")
