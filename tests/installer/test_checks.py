"""Checks of host and site: found, wanted, remedy; unknown never passes (rows 10-12, 22-24, 40; H14; I5-I9,
I18; X1).
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from installer.domain.checks import CHECKS, NEVER_WAIVABLE
from installer.host.commands import Completed
from installer.host.https import Unanswered
from installer.host.ldap_probe import ProbeAnswer, ProbeStep
from installer.phases import checks_site
from tests.installer.fixtures import ANSWERS, SiteAnswers
from tests.installer.offering import PYTHON
from tests.installer.rig import IDENTITY, UNIT, Rig


def preflight(rig: Rig, check: str, *, code: int = 3, status: str = "fail") -> str:
    """``preflight`` refuses because of ``check``, and answers in JSON; the finding's text."""
    result = rig.run("preflight", "--json")
    assert result.code == code, result
    findings = [event for event in result.events if event["event"] == "check" and event["check"] == check]
    bad = [event for event in findings if event["status"] == status]
    assert bad, findings
    assert all(event["found"] and event["wanted"] and event["remedy"] for event in bad)
    assert result.events[-1]["event"] == "result" and result.events[-1]["code"] == "checks_failed"
    return str(bad[0]["found"])


def validate(rig: Rig, check: str, *, code: int = 3) -> str:
    """``validate`` refuses because of ``check``."""
    result = rig.run("validate", "--release", rig.release("0.1.0"))
    assert result.code == code and check in result.stderr, result
    return result.stderr


def test_preflight_passes_on_a_right_host_and_leaves_nothing(offered: Rig) -> None:
    before = sorted(offered.root.rglob("*"))
    result = offered.run("preflight")
    assert result.code == 0, result
    assert sorted(offered.root.rglob("*")) == before


def python(**changes: object) -> Completed:
    return replace(PYTHON, stdout=json.dumps({**json.loads(PYTHON.stdout), **changes}))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (python(python="3.12", full="3.12.1"), "3.12.1"),
        (python(python="3.14", full="3.14.0"), "3.14.0"),
        (python(implementation="PyPy"), "PyPy"),
        (python(threaded=True), "free-threaded"),
        (python(virtual=True), "virtual environment"),
        (python(missing=["ssl", "venv"]), "ssl, venv"),
        (Completed(code=127, stdout="", stderr="pyenv: python3.13: command not found"), "exits 127"),
        (Completed(code=0, stdout="hello", stderr=""), "something else"),
    ],
)
def test_row_23_i6_the_interpreter_is_judged_by_running_it(
    offered: Rig, answer: Completed, told: str
) -> None:
    offered.fake.programs["python3.13"] = answer
    code = 10 if answer.code or answer.stdout == "hello" else 3
    assert told in preflight(offered, "python.interpreter", code=code)


def test_row_23_an_absent_interpreter_is_named(offered: Rig) -> None:
    del offered.fake.programs["python3.13"]
    assert "python3.13" in preflight(offered, "python.interpreter", code=10)


@pytest.mark.parametrize("libc", ["glibc 2.16", "musl 1.2", ""])
def test_row_22_another_libc_is_exit_10(offered: Rig, libc: str) -> None:
    offered.fake.programs["python3.13"] = python(libc=libc)
    preflight(offered, "host.libc", code=10)


def test_row_22_another_processor_is_exit_10(offered: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert preflight(offered, "host.architecture", code=10) == "aarch64"


def test_row_24_a_clock_before_the_build_is_refused_with_both_times(offered: Rig) -> None:
    offered.clock.elapsed = -2 * 365 * 86400
    assert preflight(offered, "host.clock").startswith("2024-06")


def test_row_12_h14_b27_noexec_is_found_by_running_a_program(offered: Rig) -> None:
    real = offered.fake.__class__.__call__

    def refuse(self: object, argv: list[str], **more: object) -> Completed:
        if ".pharos-probe-" in argv[0]:
            return Completed(code=126, stdout="", stderr="Permission denied")
        return real(self, argv, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offered.fake.__class__, "__call__", refuse)
        assert "126" in preflight(offered, "disk.exec")


@pytest.mark.parametrize(
    ("limit", "check"),
    [("release_bytes", "disk.space"), ("release_inodes", "disk.inodes")],
    ids=["space", "inodes"],
)
def test_row_10_room_is_named_with_mount_and_need(offered: Rig, limit: str, check: str) -> None:
    offered.limits = replace(offered.limits, **{limit: 1 << 60})
    preflight(offered, check)


def test_row_11_a_folder_that_cannot_be_written_is_named(
    offered: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., int] = os.open

    def read_only(path: str, flags: int, *rest: int, **more: int) -> int:
        if ".pharos-probe-" in str(path):
            raise OSError(30, "Read-only file system")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", read_only)
    assert "Read-only" in preflight(offered, "disk.writable")


def test_row_40_only_root_of_the_host_itself(offered: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("installer.phases.checks_host.os.geteuid", lambda: 1000)
    assert "1000" in preflight(offered, "host.root")


@pytest.mark.parametrize(
    ("passwd", "group", "told"),
    [
        ("pharos-ssh-access:x:0:0::/:/usr/sbin/nologin", "", "root"),
        ("pharos-ssh-access:x:990:990::/:/bin/bash", "", "/bin/bash"),
        ("pharos-ssh-access:x:990:27::/:/usr/sbin/nologin", "", "sudo"),
        ("pharos-ssh-access:x:990:990::/:/usr/sbin/nologin", "docker:x:100:a,pharos-ssh-access\n", "docker"),
    ],
)
def test_i7_an_identity_with_power_is_refused(offered: Rig, passwd: str, group: str, told: str) -> None:
    offered.write("/etc/passwd", f"root:x:0:0:root:/root:/bin/sh\n{passwd}\n")
    offered.write("/etc/group", f"root:x:0:\nsudo:x:27:\n{group}")
    assert told in preflight(offered, "identity.unprivileged")


def test_i7_an_identity_inside_the_members_range_is_refused(offered: Rig) -> None:
    offered.write("/etc/passwd", "pharos-ssh-access:x:5000001:990::/:/usr/sbin/nologin\n")
    preflight(offered, "identity.distinct")


def test_i7_sudo_is_asked_what_it_allows(offered: Rig) -> None:
    offered.fake.programs["sudo"] = Completed(code=0, stdout="/bin/true\n", stderr="")
    assert "sudo" in preflight(offered, "identity.unprivileged")


@pytest.mark.parametrize("text", ["broken\n", "pharos-ssh-access:x:one:990::/:/x\n"])
def test_x1_a_passwd_that_cannot_be_read_is_unknown_not_absent(offered: Rig, text: str) -> None:
    offered.write("/etc/passwd", text)
    result = offered.run("preflight", "--json")
    told = [e for e in result.events if e.get("check") == "identity.unprivileged"]
    assert result.code == 3 and told[0]["status"] == "unknown"
    refused = offered.run("install")
    assert refused.code == 4 and "identity_unreadable" in refused.stderr


def test_i8_the_sockets_absence_and_kind_are_told(offered: Rig) -> None:
    path = offered.paths.at("/run/slapd/ldapi")
    path.unlink()
    assert preflight(offered, "ldap.socket") == "nothing there"
    path.write_text("")
    assert preflight(offered, "ldap.socket") == "it is no socket"


def test_i8_another_identity_is_refused(rig: Rig, answers: SiteAnswers) -> None:
    answers.directory = ProbeAnswer(identity="dn:cn=somebody,dc=example", steps=())
    assert "cn=somebody" in validate(rig, "ldap.identity")


def test_x1_a_directory_that_does_not_answer_is_unknown(rig: Rig, answers: SiteAnswers) -> None:
    answers.directory = "LDAPSocketOpenError: refused"
    assert "unknown ldap.identity" in validate(rig, "ldap.identity")


def test_i9_a_write_that_should_be_refused_names_itself(rig: Rig, answers: SiteAnswers) -> None:
    step = ProbeStep(name="write loginShell", wanted="insufficientAccessRights", found="allowed")
    answers.directory = ProbeAnswer(identity=f"dn:{IDENTITY}", steps=(step,))
    assert "write loginShell: allowed" in validate(rig, "ldap.acl")


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"scopes": ("commands", "ssh-access")}, "site-api.scope"),
        ({"scopes": ()}, "site-api.scope"),
        ({"site": "k8s"}, "site-api.site"),
    ],
)
def test_i18_the_grant_is_exactly_this_sites_and_scopes(
    rig: Rig, answers: SiteAnswers, change: dict[str, object], check: str
) -> None:
    answers.grant = replace(answers.grant, **change)  # type: ignore[arg-type]
    validate(rig, check)


@pytest.mark.parametrize(
    ("end", "status"), [("2026-06-03T00:00:00Z", "warn"), ("2027-01-01T00:00:00Z", "pass"), ("soon", "warn")]
)
def test_i18_the_grants_end_is_shown_and_warned_of(
    rig: Rig, answers: SiteAnswers, end: str, status: str
) -> None:
    answers.grant = replace(answers.grant, expiresAt=end)  # type: ignore[arg-type]
    result = rig.run("validate", "--release", rig.release("0.1.0"), "--json")
    told = [event for event in result.events if event.get("check") == "site-api.expiry"]
    assert result.code == 0 and told[0]["status"] == status


@pytest.mark.parametrize("definite", [True, False])
def test_i18_an_unanswered_site_api_refuses(rig: Rig, answers: SiteAnswers, definite: bool) -> None:
    answers.grant = Unanswered(why="it redirects (HTTP 302)", definite=definite)
    assert "the route to it" in validate(rig, "site-api.tls")


def test_i18_a_refused_grant_is_mended_by_a_grant_not_by_a_route(rig: Rig, answers: SiteAnswers) -> None:
    answers.grant = Unanswered(why="HTTP 403: the grant has another scope", definite=True, credential=True)
    assert "the grant's token of the scope ssh-access" in validate(rig, "site-api.tls")


def test_a_unit_systemd_complains_of_is_refused(rig: Rig) -> None:
    complaint = f"/tmp/x/{UNIT}:7: Unknown key name 'Restrat' in section 'Service', ignoring.\n"
    rig.fake.programs["systemd-analyze"] = Completed(code=0, stdout="", stderr=complaint)
    assert "Restrat" in validate(rig, "unit.verify")
    absent = f"{UNIT}: Command /opt/x is not executable: No such file or directory\n"
    rig.fake.programs["systemd-analyze"] = Completed(code=1, stdout="", stderr=absent)
    assert rig.run("validate").code == 0


def test_s12_another_cache_timeout_than_the_profiles_is_a_warning(rig: Rig) -> None:
    rig.write("/etc/sssd/sssd.conf", "[domain/x]\nid_provider = ldap\n")
    result = rig.run("validate", "--release", rig.release("0.1.0"))
    assert result.code == 0 and "warn    sssd.cache: entry_cache_timeout 5400" in result.stderr


def test_x1_a_systemd_that_does_not_answer_about_the_unit_is_unanswered(rig: Rig, active: str) -> None:
    rig.fake.faults["show"] = lambda: Completed(code=1, stdout="", stderr="Connection timed out")
    result = rig.activate(active)
    assert result.code == 3 and "unknown unit.admin" in result.stderr
    refused = rig.activate(active, "--plan")
    assert refused.code == 4 and "systemd_unanswered" in refused.stderr


def test_i20_the_table_keeps_its_own_rules() -> None:
    for spec in CHECKS.values():
        assert spec.title and spec.guards
        assert spec.waivable == NEVER_WAIVABLE.isdisjoint(spec.guards)
    assert {"evidence", "ldap.identity", "ldap.acl", "release.sealed"} <= {
        spec.id for spec in CHECKS.values() if not spec.waivable
    }


def test_row_11_a_read_only_folder_is_found_before_anything_stops(
    rig: Rig, active: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = rig.release("0.2.0")
    before, calls = rig.snapshot(), len(rig.fake.calls)
    systemd = str(rig.paths.at("/etc/systemd/system"))
    monkeypatch.setattr(
        "installer.phases.checks_host.writable",
        lambda place: f"{place}: Read-only file system" if str(place) == systemd else None,
    )
    for result in (rig.activate(newer), rig.run("rollback", "--to", newer)):
        assert result.code == 3 and "disk.writable" in result.stderr and systemd in result.stderr
    assert rig.snapshot() == before
    assert not any(call[:2] == ["systemctl", "stop"] for call in rig.fake.calls[calls:])


def _linked(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("real.crt")))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


AUTHORITY = "/etc/pharos-hpc/tls/ca.crt"
UNTRUSTED: dict[str, Callable[[Path], None]] = {
    "writable": lambda path: path.chmod(0o666),
    "group": lambda path: path.chmod(0o664),
    "parent": lambda path: path.parent.chmod(0o777),
    "link": _linked,
    "folder": _folder,
    "absent": Path.unlink,
    "large": lambda path: os.truncate(path, 1024 * 1024 + 1),
}


@pytest.mark.parametrize("how", UNTRUSTED)
def test_i18_row_18_an_authority_that_others_could_change_is_not_asked_with(rig: Rig, how: str) -> None:
    UNTRUSTED[how](rig.write(AUTHORITY, "certificates"))
    rig.profile(site_api={"url": "https://vm.lab.test:8443", "ca_file": AUTHORITY})
    assert "ca.crt" in validate(rig, "site-api.tls") or how == "parent"
    assert rig.link() is None


def test_i18_the_very_bytes_that_were_judged_are_the_authority(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.write(AUTHORITY, "certificates")
    rig.profile(site_api={"url": "https://vm.lab.test:8443", "ca_file": AUTHORITY})
    seen: list[object] = []

    def ask(_url: str, authority: object, *_more: object, **_limits: object) -> object:
        seen.append(authority)
        return ANSWERS.grant

    monkeypatch.setattr(checks_site, "ask_grant", ask)
    assert rig.run("validate", "--release", rig.release("0.1.0")).code == 0
    assert seen == [b"certificates"]
