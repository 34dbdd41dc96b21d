"""The runtime's checks over recorded answers of a lab host (Slurm 24.11.5), and what makes each fail or
unknown (I7, I9, S2, S4, X1).
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from installer.domain.checks import CHECKS
from installer.domain.contracts import DELEGATION
from installer.domain.slurm import SlurmUnreadable
from installer.domain.slurm_runtime import parse_key_ids, parse_parameters, parse_partitions, parse_seconds
from installer.host.commands import CommandError, Completed
from installer.host.https import Answer, Unanswered
from installer.host.submission_probe import Submission, Submissions
from tests.installer.reporter_rig import recorded
from tests.installer.rig import Rig
from tests.installer.runtime_rig import (
    GROUP,
    SAFE,
    SCRATCH,
    UID,
    USUAL,
    Running,
    make_running,
    said,
)

CHECKED = tuple(name for name in CHECKS if name.startswith(("runtime.", "slurm.")))
PARTITIONS = recorded("scontrol-partition-staging") + recorded("scontrol-partition-compute")
CONFIG = recorded("scontrol-config")
AWAY = said("", 1, "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)\n")
NO_SLURMD = said("", 1, "scontrol: error: slurm_slurmd_info: Connection refused\n")
CLAIM = ",userclaimfield=preferred_username"


@pytest.fixture
def running(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Running:
    return make_running(rig, monkeypatch)


def changed(text: str, old: str, new: str) -> Completed:
    """A recorded answer with one thing changed."""
    assert old in text
    return said(text.replace(old, new))


def refused(running: Running, *words: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Findings that did not pass, by check and subject; each says found, wanted and remedy."""
    found = [event for events in running.findings(*words).values() for event in events]
    bad = {(event["check"], event["subject"]): event for event in found if event["status"] != "pass"}
    for event in bad.values():
        assert event["found"] and event["wanted"] and event["remedy"], event
    return bad


def test_i9_s2_s4_all_is_well_asked_read_only_and_nothing_is_submitted(running: Running) -> None:
    found = running.findings()
    assert set(CHECKED) <= set(found), set(CHECKED) - set(found)
    assert refused(running) == {}
    changing = r"\b(add|modify|delete|remove|update|create|reconfigure)\b"
    assert not [words for words in running.slurm.asked if re.search(changing, words)]
    assert {program[0].rpartition("/")[2] for program in running.rig.fake.calls}.isdisjoint(
        {"sbatch", "srun"}
    )
    assert set(running.asked_scopes) == {"commands"}


def test_s2_the_controller_is_told_to_be_no_second_line(running: Running) -> None:
    (event,) = running.findings()["runtime.token-keys"]
    assert "slurm-1" in event["found"] and "no second line" in event["found"] and "root" in event["found"]


@pytest.mark.parametrize(
    ("asked", "answer", "place", "told"),
    [
        ("show config", changed(CONFIG, "= auth/jwt\n", "= (null)\n"), ("jwt", "runtime"), "(null)"),
        ("show config", changed(CONFIG, "jwks=/etc/slurm/jwks.json,", ""), ("jwt", "runtime"), "no jwks"),
        ("show config", changed(CONFIG, CLAIM, ""), ("jwt", "runtime"), "claim sun"),
        ("show config", changed(CONFIG, CLAIM, ",userclaimfield=sub"), ("jwt", "runtime"), "claim sub"),
        ("show partition", said(recorded("scontrol-partition-compute")), ("partition", "staging"), "compute"),
        ("show partition", changed(PARTITIONS, "State=UP", "State=DOWN"), ("partition", "staging"), "DOWN"),
        ("show partition", changed(PARTITIONS, "MaxTime=1-00:00:00", "MaxTime=UNLIMITED"),
         ("partition", "compute"), "UNLIMITED"),
        ("show partition", changed(PARTITIONS, "MaxTime=01:00:00", "MaxTime=00:30:00"),
         ("partition", "staging"), "1800 s"),
        ("show partition", changed(PARTITIONS, "AllowAccounts=ALL", "AllowAccounts=other"),
         ("partition", "staging"), "AllowAccounts=other"),
        ("show partition", changed(PARTITIONS, "AllowGroups=ALL", "AllowGroups=wheel,staff"),
         ("partition", "staging"), "AllowGroups=wheel,staff"),
        ("show partition", changed(PARTITIONS, " Nodes=cn01", " Nodes=cn[01-02]"),
         ("staging-internet", "staging"), "cn[01-02]"),
    ],
)  # fmt: skip
def test_i9_s2_what_slurm_says_is_refused(
    running: Running, asked: str, answer: Completed, place: tuple[str, str], told: str
) -> None:
    running.slurm.replaced[asked] = answer
    event = refused(running)[f"runtime.{place[0]}", place[1]]
    assert event["status"] == "fail" and told in event["found"], event


def test_i9_the_members_group_may_be_the_only_one_let_in(running: Running) -> None:
    running.slurm.replaced["show partition"] = changed(
        PARTITIONS, "AllowGroups=ALL", "AllowGroups=staff,pharos-users"
    )
    assert refused(running) == {}


def test_i7_a_runtime_with_more_than_a_coordinators_power_is_refused_and_not_waivable(
    running: Running,
) -> None:
    running.slurm.replaced["show user"] = said("pharos-runtime|Operator|pharos\n")
    event = refused(running)["slurm.coordinator", "runtime"]
    assert "Operator" in event["found"] and not CHECKS["slurm.coordinator"].waivable


@pytest.mark.parametrize(
    ("asked", "answer", "checks"),
    [
        ("show config", AWAY, {"runtime.jwt", "slurm.store-flags", "runtime.token-keys"}),
        ("show config", changed(CONFIG, "AuthAltTypes ", "AuthAltXypes "), {"runtime.jwt"}),
        ("show partition", AWAY, {"runtime.partition"}),
        ("show partition", said("no such thing\n"), {"runtime.partition"}),
        ("show partition", changed(PARTITIONS, "MaxTime=01:00:00", "MaxTime=soon"), {"runtime.partition"}),
        ("show partition", changed(PARTITIONS, "AllowGroups=ALL", ""), {"runtime.partition"}),
        ("show partition", changed(PARTITIONS, " Nodes=cn01", " Nodes=(null)"), {"runtime.staging-internet"}),
    ],
)  # fmt: skip
def test_x1_an_answer_that_cannot_be_read_is_unknown(
    running: Running, asked: str, answer: Completed, checks: set[str]
) -> None:
    running.slurm.replaced[asked] = answer
    bad = refused(running)
    assert {check for check, _ in bad} == checks
    assert {event["status"] for event in bad.values()} == {"unknown"}


@pytest.mark.parametrize(
    ("program", "seen", "status", "told"),
    [
        ("git-lfs", True, "fail", "a staging node: no git-lfs"),
        ("git", False, "warn", "no staging node itself: no git"),
    ],
)
def test_s2_tools_are_looked_for_where_an_unprivileged_user_sees_them(
    running: Running, program: str, seen: bool, status: str, told: str
) -> None:
    """Elsewhere it is a warning: other nodes are not seen from here, and a stage there says so itself."""
    running.answers(program, said("", 127))
    if not seen:
        running.slurm.replaced["show slurmd"] = NO_SLURMD
    event = refused(running)["runtime.staging-tools", "staging"]
    assert event["status"] == status and told in event["found"]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Unanswered(why="TLS: self-signed certificate", definite=True), "fail"),
        (Unanswered(why="connection refused", definite=False), "unknown"),
        (Unanswered(why="it redirects (HTTP 302)", definite=True, answered=True), "pass"),
        (Answer(status=503, headers={}, body=b""), "pass"),
    ],
)
def test_i9_a_staging_node_reaches_the_git_hosts_over_verified_tls(
    running: Running, answer: Answer | Unanswered, status: str
) -> None:
    running.git = answer
    (event,) = running.findings()["runtime.repository"]
    assert (event["status"], event["subject"]) == (status, "git.lab.test:8447")
    assert running.reached == ["https://git.lab.test:8447/"]


def test_i9_egress_is_not_tried_from_a_host_that_is_no_staging_node(running: Running) -> None:
    running.slurm.replaced["show node"] = changed(recorded("scontrol-node"), "staging,", "")
    (event,) = running.findings()["runtime.repository"]
    assert "not tried" in event["found"] and running.reached == []


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        ("show node", said("", 1, "scontrol: error: Unable to contact slurm controller\n"), "controller"),
        ("show node", said("No nodes in the system\n"), "tells no node"),
        (
            "show slurmd",
            said("", 1, "scontrol: error: slurm_slurmd_info: Connection timed out\n"),
            "timed out",
        ),
        ("show slurmd", said("", 1, "Unable to contact slurm controller: Connection refused\n"), "refused"),
        ("show slurmd", said("Active Steps = NONE\n"), "no Hostname"),
    ],
)
def test_x1_silence_about_this_host_is_no_word_that_it_is_no_staging_node(
    running: Running, question: str, answer: Any, told: str
) -> None:
    """Only slurmd's refused connection proves that none runs here; the rest is unavailable."""
    running.slurm.replaced[question] = answer
    for check in ("runtime.repository", "runtime.staging-tools"):
        (event,) = running.findings()[check]
        assert (event["status"], running.reached) == ("unknown", [])
        assert "not known" in event["found"] and told in event["found"]


def test_x1_a_host_without_slurmd_is_proven_to_be_no_staging_node(running: Running) -> None:
    running.slurm.replaced["show slurmd"] = NO_SLURMD
    (event,) = running.findings()["runtime.repository"]
    assert event["status"] == "pass" and "not tried" in event["found"] and running.reached == []


def submission(**changes: Any) -> Submissions:
    given: dict[str, Any] = {
        "heard": SAFE.heard, "token": SAFE.token, "environment": SAFE.environment, "words": SAFE.words
    }  # fmt: skip
    return Submissions(usual=USUAL, safe=Submission(**{**given, **changes}))


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        (submission(token=True), "fail", "SLURM_JWT"),
        (
            submission(heard=False, environment=False, words="sbatch: unrecognized option '--export-file=5'"),
            "fail", "unrecognized",
        ),
        (submission(heard=False, environment=False, words="cannot load plugin"), "unknown", "nothing"),
        (submission(environment=False), "unknown", "no environment"),
        ("/usr/bin/python3: no such file", "unknown", "no such file"),
    ],
)  # fmt: skip
def test_s2_without_a_safe_way_of_submitting_nothing_runs(
    running: Running, answer: Submissions | str, status: str, told: str
) -> None:
    running.submissions = answer
    event = refused(running)["runtime.submission", "runtime"]
    assert event["status"] == status and told in event["found"]


def approved(document: dict[str, Any]) -> None:
    del document["runtime"]["members_group"]["approved"]


def test_s4_without_the_recorded_approval_the_unit_gets_no_group_and_validate_refuses(
    running: Running,
) -> None:
    running.profile(approved)
    event = refused(running)["runtime.members-group", "runtime"]
    assert event["status"] == "fail" and "no approval" in event["found"] and "approved" in event["remedy"]


@pytest.mark.parametrize(
    ("answer", "status"), [(said("", 2), "fail"), (said("", 1), "unknown"), (said("odd\n"), "unknown")]
)
def test_s4_x1_the_members_group_resolves_or_nothing_is_tried(
    running: Running, answer: Completed, status: str
) -> None:
    running.answers("getent", answer)
    bad = refused(running)
    assert bad["runtime.members-group", "runtime"]["status"] == status
    assert bad["runtime.scratch", "/scratch/pharos"]["status"] == "unknown"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (said("", 3, "stat: cannot statx '/scratch/pharos': No such file or directory\n"), "No such file"),
        (said(SCRATCH.splitlines()[0], 3, "stat: cannot statx: Permission denied\n"), "Permission denied"),
        (changed(SCRATCH, "3770 0", "0777 0"), "scratch is a directory 0777"),
        (changed(SCRATCH, f"3770 0 {GROUP}", "3770 0 100"), "gid 100"),
        (changed(SCRATCH, f"2710 {UID}", "2710 0"), ".runtime is a directory 2710, uid 0"),
        (changed(SCRATCH, f"2710 {UID} {GROUP} directory", f"2710 {UID} {GROUP} symbolic link"), "symbolic"),
        (said("".join(SCRATCH.splitlines(True)[:2]), 4, "mkdir: Disk quota exceeded\n"), "Disk quota"),
        (changed(SCRATCH, f"2710 {GROUP}\n", f"710 {GROUP}\n"), "0710"),
        (changed(SCRATCH, f"750 {GROUP}\n", "750 992\n"), "2710 of gid"),
        (changed(SCRATCH, "runs", "noexec"), "does not run"),
        (said("strange\nlines\n"), "another form"),
    ],
)  # fmt: skip
def test_s4_scratch_is_proved_by_making_a_file(running: Running, answer: Completed, told: str) -> None:
    running.answers("sh", answer)
    event = refused(running)["runtime.scratch", "/scratch/pharos"]
    assert event["status"] == "fail" and told in event["found"], event


Spoil = Callable[[Running], object]


def other_evidence(**token_keys: object) -> Spoil:
    return lambda running: running.rig.evidence(DELEGATION, component="runtime", tokenKeys=token_keys)


@pytest.mark.parametrize(
    ("spoil", "status", "told"),
    [
        (other_evidence(keyIds=["slurm-2"], userClaim="preferred_username"), "fail", "not trust slurm-2"),
        (other_evidence(keyIds=["slurm-1", "slurm-2"], userClaim="preferred_username"), "fail", "slurm-2"),
        (other_evidence(keyIds=["slurm-1"], userClaim="sub"), "fail", "claim sub"),
        (lambda r: r.key_set({"keys": [{"kid": "slurm-1"}, {"kid": "mine"}]}), "fail", "trusts mine besides"),
        (lambda r: r.key_set({"keys": [{"kty": "RSA"}]}), "unknown", "without an id"),
        (lambda r: r.key_set({"keys": []}), "unknown", "JWK Set"),
        (lambda r: r.rig.paths.at("/etc/slurm/jwks.json").unlink(), "unknown", "not on this host"),
        (lambda r: r.rig.evidence(DELEGATION, component="runtime"), "unknown", "no accepted"),
    ],
)  # fmt: skip
def test_s2_i12_key_ids_are_compared_with_the_evidence(
    running: Running, spoil: Spoil, status: str, told: str
) -> None:
    spoil(running)
    event = refused(running)["runtime.token-keys", "runtime"]
    assert event["status"] == status and told in event["found"], event
    assert not CHECKS["runtime.token-keys"].waivable


def test_s2_without_evidence_it_says_that_nothing_was_compared(running: Running) -> None:
    bad = refused(running, "--components", "runtime")
    assert set(bad) == {("runtime.token-keys", "runtime")}
    event = bad["runtime.token-keys", "runtime"]
    assert event["status"] == "warn" and "not compared" in event["found"] and "--evidence" in event["remedy"]


def test_i18_a_grant_with_another_scope_besides_is_refused(running: Running) -> None:
    running.scopes = ("commands", "ssh-access")
    assert "ssh-access" in refused(running)["site-api.scope", "runtime"]["found"]


def test_x1_commands_that_are_not_there_are_unknown(running: Running) -> None:
    def absent(_words: Any) -> Completed:
        raise CommandError("scontrol: No such file or directory")

    running.rig.fake.programs["scontrol"] = absent
    bad = refused(running)
    assert {bad[key]["status"] for key in bad if key[0] in {"runtime.jwt", "runtime.partition"}} == {
        "unknown"
    }


def test_i7_without_the_user_nothing_is_asked(running: Running) -> None:
    passwd = running.rig.paths.at("/etc/passwd")
    passwd.write_text("".join(line for line in passwd.read_text().splitlines(True) if "runtime" not in line))
    found = running.findings()
    assert found["slurm.accounting"][0]["status"] == "fail" and "runtime.scratch" not in found
    assert running.slurm.asked == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("UNLIMITED", 0), ("01:00:00", 3600), ("1-00:00:00", 86400), ("365-00:00:00", 31536000)],
)
def test_limits_are_read_as_slurm_writes_them(text: str, seconds: int) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "60", "1:0", "1-", "٠١:00:00", "INFINITE"])
def test_x1_another_word_is_no_limit(text: str) -> None:
    with pytest.raises(SlurmUnreadable):
        parse_seconds(text)


def test_recorded_answers_are_read_whole() -> None:
    found = parse_partitions(PARTITIONS)
    assert set(found) == {"staging", "compute"} and found["staging"]["maxcpuspernode"] == "4"
    assert parse_parameters("jwks=/a,userclaimfield=b, disable_token_creation") == {
        "jwks": "/a", "userclaimfield": "b", "disable_token_creation": ""
    }  # fmt: skip
    for data in (b"[]", b"{}", b'{"keys":[{"kid":"a"},{"kid":"a"}]}', b'{"keys":[{"kid":1}]}', b"\xff"):
        with pytest.raises(SlurmUnreadable):
            parse_key_ids(data)
