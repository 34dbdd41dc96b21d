"""A cluster as a test holds it: a folder with the commands, and the world they show."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("commands.py")
NAMES = ("sacctmgr", "scontrol", "squeue", "sacct")


class Cluster:
    """`folder` is what PHAROS_REPORTER_SLURM_COMMANDS names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        source = SCRIPT.read_text(encoding="utf-8")
        for name in NAMES:
            path = folder / name
            path.write_text(f"#!{sys.executable} -ISB\n{source}", encoding="utf-8")
            path.chmod(0o755)
        self.set(
            cluster="icarus",
            associations=[],
            nodes={"cn01": "cpu=16,mem=16000M,billing=16,gres/gpu=2,gres/gpu:gh200=2"},
            jobs=[],
            tres=["cpu|", "mem|", "node|", "billing|", "gres|gpu", "gres|gpu:gh200"],
            sacct=[],
            coordinators={},
            faults={},
            refuses=[],
        )
        self.add_account("root", "")
        self.add_account("pharos", "root")

    @property
    def world(self) -> dict[str, Any]:
        path = self.folder / "world.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def set(self, **changes: Any) -> None:
        """Replaces parts of the world."""
        draft = self.folder / "world.test"
        draft.write_text(json.dumps(self.world | changes))
        draft.replace(self.folder / "world.json")

    def add_account(self, name: str, parent: str = "pharos", tres: str = "") -> int:
        """An account's own row; its association id."""
        return self._add(account=name, user="", partition="", parent=parent, tres=tres, comment="")

    def add_user(self, account: str, user: str, partition: str = "", comment: str = "") -> int:
        """A user's association; its id."""
        return self._add(account=account, user=user, partition=partition, parent="", tres="", comment=comment)

    def _add(self, **row: Any) -> int:
        rows = self.world["associations"]
        number = self.world.get("next", 1)
        self.set(associations=[*rows, row | {"id": number}], next=number + 1)
        return int(number)

    def change(self, number: int, **changes: Any) -> None:
        """Changes one row."""
        rows = self.world["associations"]
        self.set(associations=[row | changes if row["id"] == number else row for row in rows])

    def remove(self, number: int) -> None:
        rows = self.world["associations"]
        self.set(associations=[row for row in rows if row["id"] != number])

    def comment(self, number: int) -> str:
        return str(next(row["comment"] for row in self.world["associations"] if row["id"] == number))

    def down(self, *names: str) -> None:
        """These commands fail as they do while slurmdbd is away; none: all is well again."""
        error = {"exit": 1, "stderr": "sacctmgr: error: Sending PersistInit msg: Connection refused\n"}
        self.set(faults=dict.fromkeys(names, error))

    def calls(self) -> list[list[str]]:
        """Every command so far."""
        path = self.folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def remove_folder(self) -> None:
        shutil.rmtree(self.folder)
