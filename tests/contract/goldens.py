"""Reads the golden wire files (docs/wire.md, "Golden files").

    golden = load("member-key-add")
    for body in golden.valid: …            # body.canonical are the exact bytes
    for case in golden.refused: …          # case.raw are the bytes sent, case.status and case.code the answer

A golden is data: nothing here knows what a body means.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "v1"
WIRE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Valid:
    """One body both ends must read, and write again as exactly `canonical`."""

    name: str
    body: Any
    request: dict[str, Any] = field(default_factory=dict)

    @property
    def canonical(self) -> bytes:
        """The canonical encoding of the body (docs/wire.md); nothing where the message has none."""
        return b"" if self.body is None else canonical(self.body)


@dataclass(frozen=True, slots=True)
class Refused:
    """One message the receiver must refuse with `status` (None where no HTTP answer follows) and `code`."""

    name: str
    raw: bytes
    status: int | None
    code: str
    request: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Golden:
    """One file of `v1/`."""

    name: str
    ledger: tuple[str, ...]
    direction: str
    schema: int
    request: dict[str, Any]
    valid: tuple[Valid, ...]
    refused: tuple[Refused, ...]


def canonical(body: Any) -> bytes:
    """Compact separators, keys in the order declared, UTF-8 unescaped, no trailing newline."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def names() -> list[str]:
    """Every golden of schema 1 whose bodies follow the common form."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "ssh-public-keys")


def load(name: str) -> Golden:
    """The golden `v1/<name>.json`."""
    data = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return Golden(
        name=data["name"],
        ledger=tuple(data["ledger"]),
        direction=data["direction"],
        schema=data["schema"],
        request=data.get("request", {}),
        valid=tuple(Valid(v["name"], v.get("body"), _merged(data, v)) for v in data["valid"]),
        refused=tuple(
            Refused(r["name"], _raw(r), r["status"], r["code"], _merged(data, r)) for r in data["refused"]
        ),
    )


def key_vectors() -> dict[str, Any]:
    """`v1/ssh-public-keys.json`, whose rows are lines and not bodies."""
    loaded: dict[str, Any] = json.loads((FOLDER / "ssh-public-keys.json").read_text(encoding="utf-8"))
    return loaded


def _merged(data: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """The golden's request with the row's own parts over it; a header given as null is left out."""
    common, own = data.get("request", {}), row.get("request", {})
    headers = {**common.get("headers", {}), **own.get("headers", {})}
    merged = {**common, **own}
    if headers:
        merged["headers"] = {name: value for name, value in headers.items() if value is not None}
    return merged


def _raw(row: dict[str, Any]) -> bytes:
    if "raw_base64" in row:
        return base64.b64decode(row["raw_base64"], validate=True)
    if "body" not in row:
        return b""
    body = row["body"]
    if "repeat" in row:
        repeat = row["repeat"]
        body = {**body, repeat["field"]: body[repeat["field"]] * repeat["times"]}
    return canonical(body)
