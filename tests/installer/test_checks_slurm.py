"""Slurm's answers as recorded on a lab host (24.11.5), and what makes each check fail or unknown (I7, I9, X1,
W02, W29).
"""

import re
from typing import Any

import pytest

from installer.domain.checks import CHECKS
from installer.domain.slurm import (
    SlurmUnreadable,
    is_safe,
    parse_rows,
    parse_settings,
    parse_version,
)
from installer.host.commands import CommandError, Completed
from tests.installer.reporter_rig import Both, recorded

CHECKED = tuple(name for name in CHECKS if name.startswith("slurm."))


def said(stdout: str) -> Completed:
    return Completed(code=0, stdout=stdout, stderr="")


REFUSED = Completed(
    code=1,
    stdout="",
    stderr="sacctmgr: error: _open_persist_conn: failed to open persistent connection to host:localhost:6819:"
    " Connection refused\nsacctmgr: error: Sending PersistInit msg: Connection refused\n",
)


def setting(text: str, name: str, value: str) -> str:
    changed, count = re.subn(rf"^({name}\s*= ).*$", rf"\g<1>{value}", text, flags=re.MULTILINE)
    assert count == 1, name
    return changed


def config(name: str, value: str) -> Completed:
    """What scontrol would say with another value of one setting."""
    return said(setting(recorded("scontrol-config"), name, value))


def accounting(name: str, value: str) -> Completed:
    """What sacctmgr would say of slurmdbd's settings."""
    return said(setting(recorded("sacctmgr-configuration"), name, value))


def dropped(text: str, name: str) -> str:
    return "".join(line for line in text.splitlines(True) if not line.startswith(name))


AWAY = Completed(code=1, stdout="", stderr="slurm_load_ctl_conf error: Unable to contact slurm controller")
FLAGLESS = said(dropped(recorded("scontrol-config"), "AccountingStoreFlags"))
RULELESS = said(dropped(recorded("sacctmgr-configuration"), "DisableCoordDBD"))
ALONE = said(recorded("sacctmgr-configuration-without-slurmdbd"))
VERSIONLESS = said(dropped(recorded("sacctmgr-configuration"), "SLURMDBD_VERSION"))


@pytest.mark.parametrize(
    ("text", "version", "safe"),
    [
        ("slurm-wlm 24.11.5\n", (24, 11, 5), True),
        ("slurm 23.11.11", (23, 11, 11), True),
        ("23.11.10", (23, 11, 10), False),
        ("24.05.8", (24, 5, 8), True),
        ("24.05.7", (24, 5, 7), False),
        ("24.11.4-1", (24, 11, 4), False),
        ("24.11.5-2.el9", (24, 11, 5), True),
        ("23.02.9", (23, 2, 9), False),
        ("25.05.0", (25, 5, 0), True),
        ("26.11.1", (26, 11, 1), True),
    ],
)
def test_i7_releases_without_the_fix_of_cve_2025_43904(
    text: str, version: tuple[int, int, int], safe: bool
) -> None:
    assert parse_version(text) == version and is_safe(version) == safe


@pytest.mark.parametrize("text", ["", "slurm", "24.11", "24.11.5rc1", "slurm 24.11.x"])
def test_x1_another_word_is_no_version(text: str) -> None:
    with pytest.raises(SlurmUnreadable):
        parse_version(text)


def test_x1_a_row_with_other_columns_is_unreadable_not_skipped() -> None:
    assert parse_rows("a|b\n\nc|\n", 2) == (("a", "b"), ("c", ""))
    for text in ("a\n", "a|b|c\n", "a|b\nwarning: odd\n"):
        with pytest.raises(SlurmUnreadable):
            parse_rows(text, 2)


def test_settings_are_read_from_recorded_answers() -> None:
    accounting, controller = (
        parse_settings(recorded(name)) for name in ("sacctmgr-configuration", "scontrol-config")
    )
    assert accounting["slurmdbd_version"] == "24.11.5" and accounting["disablecoorddbd"] == "no"
    assert controller["accountingstoreflags"] == "" and controller["clustername"] == "icarus"
    for text in ("", "\n", "hello\n", "sacctmgr: error: no\nA = b\n"):
        with pytest.raises(SlurmUnreadable):
            parse_settings(text)


def findings(both: Both) -> dict[str, dict[str, Any]]:
    found = both.findings()
    return {name: found[name][0] for name in CHECKED if name in found}


def test_i9_all_is_well_and_asked_read_only_as_the_user(both: Both) -> None:
    found = findings(both)
    assert set(found) == set(CHECKED) and {event["status"] for event in found.values()} == {"pass"}
    assert "Administrator" not in " ".join(both.slurm.asked)
    assert not [
        words for words in both.slurm.asked if re.search(r"\b(add|modify|delete|remove|update)\b", words)
    ]


@pytest.mark.parametrize(
    ("asked", "answer", "check", "told"),
    [
        ("show config", config("AccountingStoreFlags", "job_x,job_env"), "slurm.store-flags", "job_env"),
        ("configuration", accounting("DisableCoordDBD", "yes"), "slurm.coordinator-writes", "DisableCoord"),
        ("configuration", accounting("AllowNoDefAcct", "yes"), "slurm.coordinator-writes", "AllowNoDefAcct"),
        ("configuration", accounting("SLURMDBD_VERSION", "24.11.4"), "slurm.version", "24.11.4"),
        ("--version", said("slurm-wlm 23.02.1\n"), "slurm.version", "23.02.1"),
        ("show cluster", said("alpha\nbeta\n"), "slurm.cluster", "alpha, beta"),
        ("show cluster", said(""), "slurm.cluster", "none"),
        ("show association", said(""), "slurm.account", "no such account"),
        ("show association", said("pharos|alice\n"), "slurm.account", "no such account"),
        ("show association", said("other|\n"), "slurm.account", "no such account"),
        ("show user", said(""), "slurm.coordinator", "no user"),
        ("show user", said("pharos-agent|None|\n"), "slurm.coordinator", "nothing"),
        ("show user", said("pharos-agent|None|other,third\n"), "slurm.coordinator", "other, third"),
        ("show user", said("pharos-agent|Operator|pharos\n"), "slurm.coordinator", "Operator"),
        ("show user", said("pharos-agent|Administrator|pharos\n"), "slurm.coordinator", "Administrator"),
    ],
)  # fmt: skip
def test_i7_i9_what_is_refused(both: Both, asked: str, answer: Completed, check: str, told: str) -> None:
    both.slurm.replaced[asked] = answer
    found = findings(both)
    event = found[check]
    assert event["status"] == "fail" and told in event["found"] and event["wanted"] and event["remedy"], event
    assert [name for name, other in found.items() if other["status"] != "pass"] == [check]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("show cluster", said("ICARUS\n")),
        ("show association", said("Pharos|\n")),
        ("show user", said("pharos-agent|None|other,Pharos\n")),
        (
            "show config",
            config("AccountingStoreFlags", "job_comment,job_script"),
        ),
    ],
)
def test_w02_names_are_compared_as_slurm_keeps_them(both: Both, asked: str, answer: Completed) -> None:
    both.slurm.replaced[asked] = answer
    assert {event["status"] for event in findings(both).values()} == {"pass"}


@pytest.mark.parametrize(
    ("asked", "answer", "check"),
    [
        ("show config", AWAY, "slurm.store-flags"),
        ("show config", FLAGLESS, "slurm.store-flags"),
        ("show config", said("Unable to contact\n"), "slurm.store-flags"),
        ("configuration", RULELESS, "slurm.coordinator-writes"),
        ("configuration", VERSIONLESS, "slurm.accounting"),
        ("configuration", ALONE, "slurm.accounting"),
        ("configuration", accounting("SLURMDBD_VERSION", "none"), "slurm.version"),
        ("--version", Completed(code=127, stdout="", stderr="not found"), "slurm.version"),
        ("show cluster", REFUSED, "slurm.cluster"),
        ("show association", said("pharos\n"), "slurm.account"),
        ("show user", REFUSED, "slurm.coordinator"),
        ("show user", said("pharos-agent|None\n"), "slurm.coordinator"),
    ],
)  # fmt: skip
def test_x1_an_answer_that_cannot_be_read_is_unknown_never_absent(
    both: Both, asked: str, answer: Completed, check: str
) -> None:
    both.slurm.replaced[asked] = answer
    event = findings(both)[check]
    assert event["status"] == "unknown" and event["found"] and event["remedy"]


def test_x1_without_slurmdbd_nothing_of_accounting_is_told(both: Both) -> None:
    both.slurm.replaced["configuration"] = REFUSED
    found = findings(both)
    assert set(found) == {"slurm.accounting", "slurm.store-flags"}
    assert (
        found["slurm.accounting"]["status"] == "unknown"
        and "Connection refused" in found["slurm.accounting"]["found"]
    )


def test_x1_commands_that_are_not_there_are_unknown(both: Both) -> None:
    def absent(words: Any) -> Completed:
        raise CommandError("/usr/bin/sacctmgr: No such file or directory")

    both.rig.fake.programs |= {"sacctmgr": absent, "scontrol": absent}
    assert {event["status"] for event in findings(both).values()} == {"unknown"}


def test_i7_without_the_user_nothing_is_asked(both: Both) -> None:
    passwd = both.rig.paths.at("/etc/passwd")
    passwd.write_text(
        "".join(line for line in passwd.read_text().splitlines(True) if "pharos-agent" not in line)
    )
    found = both.findings()
    assert (
        found["slurm.accounting"][0]["status"] == "fail" and found["ldap.agent-bind"][0]["status"] == "fail"
    )
    assert both.slurm.asked == []
