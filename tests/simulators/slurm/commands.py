"""One script behind every command's name; it knows the argument lists of `site_bundle/slurm` alone, word for
word, and answers anything else with exit 1.

The world is the JSON file `world.json` beside the script (`world.py` writes it); each call is a line of
`calls`. Standard library only: it starts as often as a real command would.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ["--noheader", "--parsable2"]
SHOWN = ("show", "association", "WOPLimits")
ASSOCIATIONS = "format=Cluster,Account,User,Partition,ParentName,GrpTRES,Comment,ID"
SQUEUE = [
    "--local",
    "--noheader",
    "--all",
    "--array",
    "--noconvert",
    "--states=RUNNING,SUSPENDED,CONFIGURING",
]
MODIFY = re.compile(
    r'modify user where name=(\S+) account=(\S+) cluster=(\S+) partition=(\S*) set comment="([^"]*)"'
)


def main() -> int:
    """One command."""
    name, words = Path(sys.argv[0]).name, sys.argv[1:]
    with (HERE / "calls").open("a") as calls:
        calls.write(json.dumps([name, *words]) + "\n")
    with (HERE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        world = json.loads((HERE / "world.json").read_text())
        fault = world["faults"].get(name)
        if fault and "hang" in fault:
            fcntl.flock(lock, fcntl.LOCK_UN)
            if os.fork() == 0:
                time.sleep(fault["hang"])  # a child that outlives its parent holds the pipes
                os._exit(0)
            time.sleep(fault["hang"])
        if fault and "exit" in fault:
            sys.stderr.write(fault["stderr"])
            return int(fault["exit"])
        return answer(world, name, words)


def answer(world: dict, name: str, words: list[str]) -> int:  # type: ignore[type-arg]
    """What the command prints, and its exit status."""
    cluster = world["cluster"]
    if name == "sacctmgr" and words == ["--immediate", "--noheader"]:
        return modify(world)
    shown = {
        ("sacctmgr", *FLAGS, *SHOWN, f"cluster={cluster}", ASSOCIATIONS): associations,
        ("sacctmgr", *FLAGS, "show", "tres", "format=Type,Name"): lambda w: w["tres"],
        ("scontrol", "--local", "--all", "--oneliner", "show", "node"): nodes,
        ("squeue", *SQUEUE, "--Format=JobID:|,Account:|,tres-alloc:"): jobs,
    }.get((name, *words))
    if shown is not None:
        sys.stdout.write("".join(f"{line}\n" for line in shown(world)))
        return 0
    if name == "sacctmgr" and words[:4] == [*FLAGS, "show", "user"] and words[5] == "withcoord":
        user = words[4].removeprefix("name=")
        if user in world["coordinators"]:
            sys.stdout.write(f"{user}|None|{','.join(world['coordinators'][user])}\n")
        return 0
    if name == "sacct" and f"--clusters={cluster}" in words:
        sys.stdout.write("".join(f"{line}\n" for line in world["sacct"]))
        return 0
    if name == "sacctmgr" and "association" in words:
        return 0  # a cluster nobody knows has no associations, and that is no error
    sys.stderr.write(f"{name}: unrecognised arguments\n")
    return 1


def associations(world: dict) -> list[str]:  # type: ignore[type-arg]
    """Rows as sacctmgr prints them."""
    cluster = world["cluster"]
    return [
        f"{cluster}|{row['account']}|{row['user']}|{row['partition']}|{row['parent']}|{row['tres']}"
        f"|{row['comment']}|{row['id']}"
        for row in world["associations"]
    ]


def nodes(world: dict) -> list[str]:  # type: ignore[type-arg]
    """Rows as scontrol prints them, shortened."""
    return [
        f"NodeName={name} Arch=x86_64 CPUAlloc=0 State=IDLE CfgTRES={tres} AllocTRES= CurrentWatts=0 "
        for name, tres in world["nodes"].items()
    ]


def jobs(world: dict) -> list[str]:  # type: ignore[type-arg]
    """Rows as squeue prints them."""
    return [f"{job['id']}|{job['account']}|{job['tres']}" for job in world["jobs"]]


def modify(world: dict) -> int:  # type: ignore[type-arg]
    """Each line alone; a line that changes nothing is an error, and the next one is done all the same."""
    status = 0
    for line in sys.stdin.read().splitlines():
        match = MODIFY.fullmatch(line)
        if match is None:
            sys.stderr.write(" Unknown option\n")
            status = 1
            continue
        user, account, cluster, partition, comment = match.groups()
        found = [
            row
            for row in world["associations"]
            if (row["user"], row["account"], row["partition"]) == (user, account, partition)
            and cluster == world["cluster"]
            and row["id"] not in world["refuses"]
        ]
        for row in found:
            row["comment"] = comment.replace("'", "`")
        if not found:
            sys.stderr.write("sacctmgr: error: Request didn't affect anything\n")
            status = 1
    draft = HERE / "world.new"
    draft.write_text(json.dumps(world))
    draft.replace(HERE / "world.json")
    return status


if __name__ == "__main__":
    sys.exit(main())
