"""The bootstrap as a whole: its own options, the host, the hand-over (I4, I6; rows 16, 21, 22, 23, 24)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from installer import cli as command_line
from installer.bootstrap import handoff
from installer.bootstrap import main as bootstrap
from installer.bootstrap.errors import CODES, refusal
from installer.bootstrap.host import Host, check_interpreter, check_machine, read_host
from installer.bootstrap.inputs import read_input
from installer.bootstrap.main import DEFAULT_SIGNERS, Places, parse, prepare, scrubbed
from installer.domain.manifest import encode
from installer.domain.refusal import Refusal
from tests.installer.archives import TRUST, Workshop, real_release
from tests.installer.environment_specs import BASE

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
LATER = datetime(2026, 6, 1, tzinfo=UTC).timestamp()
ROOT = Path(__file__).parents[2]
FOLDER = Path("/root/pharos-hpc-site-v0.1.0")
GOOD = Host(
    Path("/usr/bin/python3.13"), "CPython", "3.13", "3.13.5", False, False, (), "x86_64", "glibc 2.41"
)


def test_the_archive_is_beside_its_folder_unless_named() -> None:
    request = parse(FOLDER, ["install", "--json"])
    assert (request.archive, request.allowed_signers) == (Path(f"{FOLDER}.tar.gz"), DEFAULT_SIGNERS)
    assert request.rest == ("install", "--json")


def test_own_options_are_taken_wherever_they_stand_and_the_rest_is_untouched() -> None:
    request = parse(
        FOLDER,
        ["install", "--archive=/a.tar.gz", "-v", "--allowed-signers", "/s", "", "--", "--archive", "x"],
    )
    assert (request.archive, request.allowed_signers) == (Path("/a.tar.gz"), Path("/s"))
    assert request.rest == ("install", "-v", "", "--", "--archive", "x")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--archive"],
        ["--archive="],
        ["--archive", "a", "--archive", "b"],
        ["--allowed-signers", ""],
        ["--index-url"],
        ["--index-ca", "/ca.crt", "status"],
    ],
)
def test_a_wrong_own_option_is_usage(arguments: list[str]) -> None:
    with pytest.raises(Refusal) as caught:
        parse(FOLDER, arguments)
    assert (caught.value.code, caught.value.exit_code) == ("usage", 2)


def test_row21_only_named_variables_reach_the_installer() -> None:
    caller = {
        "PATH": "/evil", "LD_PRELOAD": "x", "PYTHONPATH": "x", "PIP_INDEX_URL": "x", "LANG": "tr_TR",
        "TERM": "dumb", "NO_COLOR": "1", "PHAROS_LAB_CHECKPOINT": "release/after-pip",
        "HOME": "/evil", "PHAROS_OTHER": "x", "PHAROS_ARCHIVE": "/evil", "PHAROS_ARCHIVE_SHA256": "evil",
    }  # fmt: skip
    assert scrubbed(caller, Path("/a"), "0" * 64) == {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PHAROS_LAB_CHECKPOINT": "release/after-pip",
        "PHAROS_ARCHIVE": "/a",
        "PHAROS_ARCHIVE_SHA256": "0" * 64,
    }


BAD_INTERPRETERS: dict[str, tuple[dict[str, object], str]] = {
    "older": ({"python": "3.12", "full_version": "3.12.1"}, "Python 3.12.1"),
    "newer": ({"python": "3.14", "full_version": "3.14.0"}, "Python 3.14.0"),
    "other": ({"implementation": "PyPy"}, "PyPy"),
    "free_threaded": ({"free_threaded": True}, "a free-threaded build"),
    "environment": ({"in_environment": True}, "a virtual environment"),
    "no_ssl": ({"missing": ("ssl",)}, "no module ssl"),
}


@pytest.mark.parametrize("name", BAD_INTERPRETERS)
def test_row23_interpreter(name: str) -> None:
    changes, said = BAD_INTERPRETERS[name]
    check_interpreter(GOOD, wanted="3.13")
    with pytest.raises(Refusal) as caught:
        check_interpreter(replace(GOOD, **changes), wanted="3.13")  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.exit_code) == ("host_interpreter", 10)
    assert said in caught.value.found and "/usr/bin/python3.13" in caught.value.found


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"machine": "aarch64"}, "host_architecture"),
        ({"libc": "glibc 2.16"}, "host_libc"),
        ({"libc": "no glibc"}, "host_libc"),
        ({"libc": "musl 1.2"}, "host_libc"),
    ],
)
def test_row22_machine_names_both_sides(changes: dict[str, str], code: str) -> None:
    check_machine(GOOD, architecture="x86_64", glibc="2.17")
    check_machine(replace(GOOD, libc="glibc 2.100"), architecture="x86_64", glibc="2.28")
    with pytest.raises(Refusal) as caught:
        check_machine(replace(GOOD, **changes), architecture="x86_64", glibc="2.17")  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.exit_code) == (code, 10)
    assert next(iter(changes.values())) in caught.value.found
    assert "x86_64" in caught.value.wanted or "2.17" in caught.value.wanted


def test_the_facts_are_those_of_this_interpreter() -> None:
    host = read_host()
    assert (host.python, host.implementation) == (HERE, "CPython")
    assert host.in_environment == (sys.prefix != sys.base_prefix)
    assert host.libc.startswith("glibc 2.")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's base interpreter in the role of the host's."""
    facts = replace(read_host(), executable=BASE, in_environment=False)
    monkeypatch.setattr(bootstrap, "read_host", lambda: facts)


def places(tmp_path: Path) -> Places:
    return Places(root=tmp_path / "opt", lock=tmp_path / "lib" / "lock", sticky_parents=True, python=HERE)


def arguments(workshop: Workshop, *rest: str) -> list[str]:
    return ["--allowed-signers", os.fspath(workshop.keys.allowed_signers), *rest]


@pytest.mark.skipif(os.geteuid() != 0, reason="the controller is built by root")
@pytest.mark.usefixtures("host")
def test_from_an_archive_to_the_installer(workshop: Workshop, tmp_path: Path) -> None:
    real_release(workshop)
    workshop.write()
    folder = workshop.extracted()
    there = places(tmp_path)
    found = prepare(folder, arguments(workshop, "install", "--json"), {"HOME": "/x"}, now=LATER, places=there)
    assert found.arguments == (os.fspath(found.script), "install", "--json")
    assert found.environment["PHAROS_ARCHIVE"] == os.fspath(workshop.archive)
    outcome = subprocess.run(
        found.arguments, env=dict(found.environment), capture_output=True, text=True, check=True
    )
    assert outcome.stdout == "controller\n"
    assert not list(folder.rglob("__pycache__"))


def test_I5_the_index_is_an_own_option_and_told_to_the_installer() -> None:
    words = ["install", "--index-url", "https://packages.example/simple/", "--index-ca=ca.crt"]
    request = parse(FOLDER, words)
    assert request.rest == ("install",) and request.index is not None
    assert request.index.url == "https://packages.example/simple/"
    assert request.index.ca_file == os.fspath(Path("ca.crt").absolute())
    told = scrubbed({"PHAROS_INDEX_URL": "https://x/"}, Path("/a"), "0" * 64, request.index)
    assert told["PHAROS_INDEX_URL"] == request.index.url
    assert "PHAROS_INDEX_URL" not in scrubbed({"PHAROS_INDEX_URL": "https://x/"}, Path("/a"), "0" * 64)


@pytest.mark.parametrize("url", ["http://mirror.invalid/", "https://me:hunter2@mirror.invalid/"])
def test_I5_an_index_that_cannot_be_one_is_refused_unquoted(url: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse(FOLDER, ["install", "--index-url", url])
    assert (caught.value.code, caught.value.exit_code) == ("index_invalid", 2)
    assert "mirror.invalid" not in str(caught.value) and "hunter2" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="the controller is built by root")
@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(("mode", "code"), [("index", "index_missing"), ("wheelhouse", "index_unwanted")])
def test_I4_a_release_gets_the_index_of_its_mode_and_no_other(
    workshop: Workshop, tmp_path: Path, mode: str, code: str
) -> None:
    real_release(workshop)
    workshop.write(workshop.items(encode(workshop.manifest(dependency_mode=mode))))
    folder = workshop.extracted()
    words = ["install", *(["--index-url", "https://x/"] if mode == "wheelhouse" else [])]
    with pytest.raises(Refusal) as caught:
        prepare(folder, arguments(workshop, *words), {}, now=LATER, places=places(tmp_path))
    assert (caught.value.code, caught.value.exit_code) == (code, 2)


def test_I1_the_phases_are_those_of_the_command_line() -> None:
    assert set(bootstrap.PHASES) == set(command_line.cli.commands)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["instal"], "Did you mean install?"),
        (["activte", "--components", "ssh-access"], "Did you mean activate?"),
        (["--json", "status"], "one of preflight, install"),
        (["everything"], "Run install.sh --help."),
        ([], "no phase"),
    ],
)
def test_I1_a_mistyped_phase_is_refused_before_anything_is_verified(
    tmp_path: Path, words: list[str], told: str
) -> None:
    with pytest.raises(Refusal) as caught:
        prepare(tmp_path, ["--archive", "/nowhere.tar.gz", *words], {}, now=LATER, places=places(tmp_path))
    assert (caught.value.code, caught.value.exit_code) == ("usage", 2)
    assert told in str(caught.value)


@pytest.mark.parametrize("what", sorted(handoff.MAKERS))
def test_I3_a_missing_part_of_the_hand_off_says_who_makes_it_and_where_the_guide_tells(
    tmp_path: Path, what: str
) -> None:
    with pytest.raises(Refusal) as caught:
        read_input(tmp_path / "absent", what=what, size_limit=1, trust=TRUST)
    assert caught.value.code == "input_missing" and str(tmp_path / "absent") in caught.value.found
    section = caught.value.remedy.split('"')[1]
    assert f"\n## {section}\n" in (ROOT / "docs" / "administrator.md").read_text(encoding="utf-8")


def test_row12_H14_a_program_that_may_not_run_is_told(tmp_path: Path) -> None:
    script = tmp_path / "pharos-installer"
    script.write_text("#!/bin/sh\n", encoding="ascii")
    script.chmod(0o644)
    with pytest.raises(Refusal) as caught:
        bootstrap.become(bootstrap.HandOver(script, (os.fspath(script),), {}))
    assert (caught.value.code, caught.value.exit_code) == ("host_noexec", 3)
    assert os.fspath(script) in caught.value.found


@pytest.mark.usefixtures("host")
def test_row40_without_root_and_without_a_controller(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.write()
    folder = workshop.extracted()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Refusal) as caught:
        prepare(folder, arguments(workshop, "install"), {}, now=LATER, places=places(tmp_path))
    assert (caught.value.code, caught.value.exit_code) == ("host_not_root", 3)


@pytest.mark.parametrize("phase", [*bootstrap.PHASES, "--help"])
def test_row40_I1_a_user_is_told_to_be_root_before_anything_is_looked_at(phase: str) -> None:
    bootstrap.refuse_not_root([phase, "--json"], user=0)
    bootstrap.refuse_not_root([phase, "--help"], user=1000)
    if phase in {"status", "--help"}:
        bootstrap.refuse_not_root([phase, "--json"], user=1000)
        return
    with pytest.raises(Refusal) as caught:
        bootstrap.refuse_not_root([phase, "--json"], user=1000)
    assert (caught.value.code, caught.value.exit_code) == ("host_not_root", 3)
    assert "as root" in caught.value.remedy and phase in caught.value.wanted


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_row40_I1_install_sh_says_so_first_and_reads_no_input(tmp_path: Path) -> None:
    text = "import os, sys; os.geteuid = lambda: 1000; from installer.bootstrap.main import main; main()"
    words = [os.fspath(tmp_path / "nowhere"), "install", "--archive", os.fspath(tmp_path / "absent.tar.gz")]
    done = subprocess.run(
        [sys.executable, "-c", text, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3 and done.stderr.startswith("refused: host_not_root\n"), done


SPOILS: dict[str, tuple[Callable[[Workshop, Path], object], str, int]] = {
    "edited_folder": (lambda _w, f: (f / "LICENSE").write_bytes(b"x"), "folder_differs", 4),
    "extra_in_folder": (lambda _w, f: (f / "ssl.py").write_bytes(b"x"), "folder_differs", 4),
    "no_signature": (lambda w, _f: w.unsign(), "signature_missing", 4),
    "no_archive": (lambda w, _f: w.archive.rename(w.archive.with_name("moved")), "input_missing", 2),
    "other_archive": (lambda w, _f: (w.entries.update(LICENSE=b"other"), w.write()), "folder_differs", 4),
}


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("name", SPOILS)
def test_I4_nothing_is_made_on_the_host_before_everything_verified(
    workshop: Workshop, tmp_path: Path, name: str
) -> None:
    spoil, code, exit_code = SPOILS[name]
    workshop.write()
    folder = workshop.extracted()
    spoil(workshop, folder)
    there = places(tmp_path)
    with pytest.raises(Refusal) as caught:
        prepare(folder, arguments(workshop, "install"), {}, now=LATER, places=there)
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert not there.root.exists() and not there.lock.parent.exists()


@pytest.mark.usefixtures("host")
def test_row24_a_clock_before_the_commit_is_called_wrong(workshop: Workshop, tmp_path: Path) -> None:
    workshop.write()
    early = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
    with pytest.raises(Refusal) as caught:
        prepare(workshop.extracted(), arguments(workshop, "install"), {}, now=early, places=places(tmp_path))
    assert (caught.value.code, caught.value.exit_code) == ("host_clock", 3)
    assert "2024-01-01" in caught.value.found and "2026-01-02" in caught.value.wanted


def program(workshop: Workshop, *rest: str, closing: str = "") -> subprocess.CompletedProcess[str]:
    """The very call of install.sh, on the real sources, with descriptors closed by ``closing``."""
    text = Path("install.sh").read_text(encoding="utf-8").split("START='")[1].split("'\n")[0]
    text = text.replace("sys.argv[1]", repr(os.getcwd()), 1)
    python = [os.fspath(BASE), "-I", "-S", "-B", "-c", text, os.fspath(workshop.folder)]
    command = ["sh", "-c", f'exec "$@" {closing}', "sh", *python, *rest]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_needs_nothing_and_names_every_phase(workshop: Workshop) -> None:
    outcome = program(workshop, "--help")
    assert outcome.returncode == 0 and outcome.stderr == ""
    for phase in ("preflight", "install", "validate", "activate", "rollback", "recover", "status"):
        assert f"  {phase} " in outcome.stdout
    words = " ".join(outcome.stdout.split())
    assert "also with --plan, leaves the installer's own environment" in words and "lock file" in words
    assert program(workshop).returncode == 2
    assert all(len(line) <= 110 for line in outcome.stdout.splitlines())


def test_a_refusal_tells_found_wanted_remedy_and_as_json(workshop: Workshop) -> None:
    outcome = program(workshop, "install", "--json", "--archive")
    assert outcome.returncode == 2
    result = json.loads(outcome.stdout)
    wanted = {"schema": 1, "event": "result", "ok": False, "exitCode": 2, "code": "usage"}
    assert {key: result[key] for key in wanted} == wanted
    assert all(word in outcome.stderr for word in ("refused: usage", "found:", "wanted:", "remedy:"))


@pytest.mark.parametrize("closing", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_row39_closed_descriptors_are_no_crash(workshop: Workshop, closing: str) -> None:
    outcome = program(workshop, "install", "--archive", closing=closing)
    assert outcome.returncode == 2
    assert "Traceback" not in outcome.stderr
    assert ("refused: usage" in outcome.stderr) == ("2>" not in closing)
    assert program(workshop, "--help", closing=closing).returncode == 0


def test_every_code_has_meaning_and_remedy_and_none_is_invented() -> None:
    for code, entry in CODES.items():
        assert entry.meaning and entry.remedy.endswith("."), code
        assert entry.exit_code in {2, 3, 4, 5, 6, 10}, code
    with pytest.raises(KeyError):
        refusal("no_such_code", found="", wanted="")
    assert {field.name for field in fields(Places)} >= {"root", "lock"}
    assert TRUST.sticky_parents and not Places().sticky_parents


def test_no_remedy_of_the_bootstrap_takes_away_what_may_be_in_use() -> None:
    """A remedy is followed at night: it trusts nothing unseen, and removes nothing a link may name."""
    for code, entry in CODES.items():
        words = entry.remedy.lower()
        assert "remove" not in words or code == "folder_differs", code
        assert "chown" not in words and ("chmod" not in words or "compare" in words), code
