"""Beto as a process at a PostgreSQL broker: `python -m tests.simulators.beto --broker-url URL [--state
FILE]`.

A development stand-in (X8): it says so on start. It declares its own queue, answers questions, and reads
one command a line from standard input, each answered with one line of JSON: the name of an act of `Truth`
and its arguments, such as `{"act": "add_member", "project": "…", "party": "…"}`; `{"act": "faults",
"drop": 0.5}`; `{"act": "restart"}`; `{"act": "deliver"}` hands over what was held back. Changes are told
at once. With `--state` the truth survives.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.kernel.times import utc_now
from tests.simulators.beto.beto import Beto, Faults
from tests.simulators.beto.speaker import speaking
from tests.simulators.beto.truth import Truth

ACTS = frozenset(
    {
        "new_party",
        "bind_site",
        "retire_binding",
        "retire_party",
        "new_project",
        "bind_project",
        "close_project",
        "add_member",
        "touch_binding",
        "remove_member",
        "set_authority",
    }
)


def obey(beto: Beto, broker: PostgresBroker, command: dict[str, Any]) -> dict[str, Any]:
    """Does one command. Raises `ValueError`, `KeyError` or `TypeError` for one that cannot be done."""
    act = command.pop("act", None)
    if act == "faults":
        beto.faults = Faults(**command)
        return {"faults": command}
    if act == "restart":
        beto.restart()
        return {}
    if act == "deliver":
        beto.faults = Faults()
        return {"delivered": beto.flush(broker)}
    if act == "truth":
        return {scope: beto.truth.items(scope) for scope in ("projects", "parties", "authorities")}
    if act not in ACTS:
        raise ValueError(f"no such act; known: {', '.join(sorted(ACTS))}, faults, restart, deliver, truth")
    made = getattr(beto.truth, act)(**command)
    made_id, change = made if isinstance(made[1], tuple) else (None, made)
    beto.tell(change)
    beto.flush(broker)
    return {"id": made_id, "scope": change[0], "data": change[1]}


def load(path: Path | None) -> Truth:
    """The truth a file keeps."""
    if path is None or not path.exists():
        return Truth()
    kept = json.loads(path.read_text(encoding="utf-8"))
    kept["generations"] = {tuple(key.split("/")): count for key, count in kept["generations"].items()}
    return Truth(**kept)


def save(truth: Truth, path: Path | None) -> None:
    """Keeps it, whole or not at all."""
    if path is None:
        return
    kept = {field.name: getattr(truth, field.name) for field in fields(truth)}
    kept["generations"] = {"/".join(key): count for key, count in truth.generations.items()}
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(kept), encoding="utf-8")
    draft.replace(path)


def main() -> int:
    """Runs until standard input ends."""
    parser = argparse.ArgumentParser(prog="beto", description="Beto's stand-in for development and tests.")
    parser.add_argument("--broker-url", required=True, help="PostgreSQL of the broker, not a pooler")
    parser.add_argument("--state", type=Path, help="file that keeps the truth between runs")
    given = parser.parse_args()
    print("beto: a DEVELOPMENT STAND-IN, not the real one", file=sys.stderr)
    beto = Beto(truth=load(given.state), clock=utc_now)
    waiters = Waiters(given.broker_url, CHANNELS)
    waiters.start()
    with Database(DatabaseOptions(given.broker_url, application="beto")) as database:
        broker = PostgresBroker(database, waiters)
        with speaking(beto, broker) as malformed:
            print(json.dumps({"ready": True}), flush=True)
            for line in sys.stdin:
                try:
                    done = obey(beto, broker, json.loads(line))
                    save(beto.truth, given.state)
                except (ValueError, KeyError, TypeError) as error:
                    done = {"error": f"{type(error).__name__}: {error}"}
                print(json.dumps(done | {"malformedQuestions": len(malformed)}), flush=True)
    waiters.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
