"""Parsers over recorded output; whatever is cut, doubled or foreign is unreadable, never skipped (X1)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from site_bundle.slurm.associations import Association, ShowAssociations
from site_bundle.slurm.clusters import Rights, ShowClusters, ShowRights
from site_bundle.slurm.errors import UnreadableOutputError
from site_bundle.slurm.known_tres import ShowTres
from site_bundle.slurm.nodes import ShowNodes
from site_bundle.slurm.running_jobs import ShowRunningJobs
from site_bundle.slurm.tres import parse_tres
from tests.unit.site_bundle.slurm.recordings import recorded

SHOW = ShowAssociations("icarus")
BOB = "icarus|proj_a|bob||||x|12"


def associations() -> dict[int, Association]:
    return {item.id: item for item in SHOW.parse(recorded("sacctmgr-show-association"))}


def test_s8_associations_of_the_lab() -> None:
    found = associations()
    assert len(found) == 15
    assert found[12] == Association(
        12, "proj_a", "alice", "", "", "", "kept | words pharos:1:00000000-0000-4000-8000-000000000304:2"
    )
    assert found[15].partition == "compute" and found[15].comment == ""


def test_a02_w27_line_end_in_a_comment_is_one_record() -> None:
    """The second line even begins as a record does."""
    assert associations()[13].comment == "line one\nicarus|line two"


def test_a04_firecrest_f10_bytes_that_are_no_utf8_are_replaced() -> None:
    assert associations()[14].comment.startswith("café ")


def test_w09_w29_limits_and_parent_stand_in_the_accounts_own_row() -> None:
    found = associations()
    assert (found[9].user, found[9].parent, found[9].grp_tres) == (
        "", "pharos", "cpu=8,gres/gpu:gh200=1,mem=1G",
    )  # fmt: skip
    assert found[12].grp_tres == found[10].grp_tres == ""


@pytest.mark.parametrize(
    ("case", "output"),
    [
        ("a07_cut_account", "icarus|project_4+|||pharos|||7\n"),
        ("a07_cut_user", "icarus|proj_a|averyveryl+||||c|7\n"),
        ("w36_other_cluster", "alpha|proj_a|bob||||x|12\n"),
        ("column_missing", "icarus|proj_a|bob|||x|12\n"),
        ("cut_in_the_middle", f"{BOB}\nicarus|proj_a|ali"),
        ("id_twice", f"{BOB}\n{BOB}\n"),
        ("w27_place_twice", f"{BOB}\nicarus|proj_a|bob||||pharos:1:x:1|13\n"),
        ("w27_account_twice", "icarus|proj_a|||pharos|||9\nicarus|proj_a|||root|cpu=1||10\n"),
        ("header", "Cluster|Account|User|Partition|ParentName|GrpTRES|Comment|ID\n"),
        ("id_no_number", "icarus|proj_a|bob||||x|twelve\n"),
        ("text", "sacctmgr: error: something\n"),
    ],
)
def test_x1_a07_w36_broken_association_lists(case: str, output: str) -> None:
    with pytest.raises(UnreadableOutputError):
        SHOW.parse(output)


def test_a50_unknown_cluster_answers_nothing() -> None:
    """Exit 0 and no row: whoever asks must miss the account it knows (`slurm_parent_missing`)."""
    assert SHOW.parse(recorded("sacctmgr-show-association-unknown-cluster")) == ()


def test_s8_nodes_of_the_lab() -> None:
    nodes = ShowNodes().parse(recorded("scontrol-show-node"))
    assert [(node.name, node.cfg_tres) for node in nodes] == [
        ("cn01", "cpu=16,mem=16000M,billing=16,gres/gpu=2,gres/gpu:gh200=2")
    ]


CN01 = "NodeName=cn01 Arch=x86_64 State=IDLE CfgTRES=cpu=16,mem=16000M AllocTRES="


def test_a02_line_ends_in_a_nodes_comment_are_no_records() -> None:
    """scontrol folds those of a reason, and prints those of Comment= and Extra= as they are (24.11.5)."""
    noted = f"{CN01} Comment=two\n lines CfgTRES=cpu=99\n\n Extra=x\ny\n"
    other = CN01.replace("cn01", "cn02")
    nodes = ShowNodes().parse(f"{noted}{other}\n")
    assert [(node.name, node.cfg_tres) for node in nodes] == [
        ("cn01", "cpu=16,mem=16000M"), ("cn02", "cpu=16,mem=16000M"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "output",
    [
        "", "\n", "No nodes in the system\n", "NodeName=cn01 State=IDLE\n", f"odd\n{CN01}\n",
        f"{CN01}\n{CN01} Comment=a\n", f"{CN01} Comment=a\nNodeName=cn01 Arch=x CfgTRES=cpu=99\n",
    ],
)  # fmt: skip
def test_x1_a50_no_node_is_unreadable(output: str) -> None:
    with pytest.raises(UnreadableOutputError):
        ShowNodes().parse(output)


def test_a08_running_jobs_of_the_lab() -> None:
    """Array tasks stand alone, each with what it holds."""
    jobs = ShowRunningJobs().parse(recorded("squeue"))
    assert [(job.id, job.account) for job in jobs] == [(1, "proj_a"), (4, "proj_b"), (5, "proj_b")]
    assert parse_tres(jobs[0].alloc_tres)["gres/gpu:gh200"] == 1
    assert ShowRunningJobs().parse("") == ()


@pytest.mark.parametrize(
    "output",
    [
        "22|p1\n",
        "22|p1|\n",
        "22|p1|RUNNING|cpu=2,mem=512M,node=\n",
        "22_[3-10%2]|p1|cpu=1\n",
        "22+0|p1|cpu=1\n",
        "22|proj_4+|cpu=1\n",
        "x|p1|cpu=1\n",
        "22|p1|cpu=1\n22|p1|cpu=1\n",
    ],
)
def test_a06_a08_a09_a24_a47_broken_job_lists(output: str) -> None:
    with pytest.raises(UnreadableOutputError):
        ShowRunningJobs().parse(output)


def test_a06_a24_w36_widths_and_the_cluster_are_asked_for() -> None:
    """A colon without a number is the full width; without one squeue cuts at 20 characters. A federation's
    other jobs have ids of their own, or the same.
    """
    argv = ShowRunningJobs().argv()
    fields = argv[-1].removeprefix("--Format=").split(",")
    assert fields == ["JobID:|", "Account:|", "tres-alloc:"] and "--local" in argv and "--array" in argv
    assert "--local" in ShowNodes().argv() and "cluster=icarus" in SHOW.argv()


def test_a43_no_read_asks_for_a_job_owners_name() -> None:
    """A running job whose owner is gone from the directory is a row like any other."""
    assert not {"user", "uid"} & {
        word.lower() for word in re.split(r"[^A-Za-z]", " ".join(ShowRunningJobs().argv()))
    }
    (job,) = ShowRunningJobs().parse("4125|proj_a|cpu=1,node=1\n")
    assert (job.id, job.account) == (4125, "proj_a")


@pytest.mark.parametrize("name", ["anna.mar", "anna.maria.example"])
def test_a47_long_names_are_whole(name: str) -> None:
    (found,) = SHOW.parse(f"icarus|proj_a|{name}|||||12\n")
    assert found.user == name


def test_w37_known_tres_of_the_lab() -> None:
    known = ShowTres().parse(recorded("sacctmgr-show-tres"))
    assert {"cpu", "mem", "node", "gres/gpu", "gres/gpu:gh200", "fs/disk"} <= known
    for output in ("", "cpu\n", "gres|gpu\n", "cpu||x\n"):
        with pytest.raises(UnreadableOutputError):
            ShowTres().parse(output)


def test_w30_one_column_has_no_bar() -> None:
    assert ShowClusters().parse(recorded("sacctmgr-show-cluster")) == {"icarus"}
    assert ShowClusters().parse("alpha\nbeta\n") == {"alpha", "beta"}


def test_i7_rights_of_the_coordinator() -> None:
    rights = ShowRights("pharos-agent").parse(recorded("sacctmgr-show-user-withcoord"))
    assert rights == Rights("None", frozenset({"pharos", "proj_a", "proj_b", "proj_c"}))
    assert ShowRights("nobody").parse("") is None
    with pytest.raises(UnreadableOutputError):
        ShowRights("pharos-agent").parse("other|None|pharos\n")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", {}),
        (
            "cpu=72,mem=480G,node=1,billing=72,gres/gpu=2,gres/gpu:gh200=2",
            {"cpu": 72, "mem": 515396075520, "node": 1, "gres/gpu": 2, "gres/gpu:gh200": 2},
        ),
        ("mem=16000M", {"mem": 16777216000}),
        ("mem=1536M", {"mem": 1610612736}),
        ("mem=8000", {"mem": 8388608000}),
        ("mem=4096", {"mem": 4 << 30}),
        ("mem=4G", {"mem": 4 << 30}),
        ("mem=1E", {"mem": 1 << 60}),
        ("mem=0,cpu=0", {"mem": 0, "cpu": 0}),
        ("mem=3K", {"mem": 3072}),
        ("billing=1.50K,energy=x,fs/disk=?,gres/gpumem=80G,cpu=1", {"cpu": 1}),
    ],
)
def test_a22_a26_w14_d03_d04_d06_tres_are_exact(text: str, counts: dict[str, int]) -> None:
    assert parse_tres(text) == counts


@pytest.mark.parametrize(
    "text",
    [
        "cpu=2,mem=512M,node=", "cpu", "cpu=", "cpu=1,cpu=1", "cpu=1.5", "cpu=-1", "cpu=1K", "mem=15.62G",
        "mem=16?", "mem=1Z", "mem=1000m", "mem=1288490188800m", "mem=1e3", "mem=1Ei", "mem=1Gn", "cpu=4+",
        "mem=4Gc", "gres/gpu:gh200=", "gres/gpu=1_0", "cpu=１", "=1", ",", "cpu=1,",
    ],
)  # fmt: skip
def test_a06_a24_a27_a28_d01_d03_x3_what_is_not_exact_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableOutputError):
        parse_tres(text)


@pytest.mark.parametrize(
    "command", [SHOW, ShowNodes(), ShowRunningJobs(), ShowTres(), ShowClusters(), ShowRights("pharos-agent")]
)
def test_s8_commands_are_lists_of_plain_words(command: Any) -> None:
    """No shell, nothing to quote, and the reads name their fields."""
    argv = command.argv()
    assert argv[0] in {"sacctmgr", "scontrol", "squeue"} and all(argv)
    assert "--noheader" in argv or "--oneliner" in argv
