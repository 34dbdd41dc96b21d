"""The golden files are well-formed, canonical, distinct and documented (X10; docs/wire.md "Golden files").

Each rule is a function over plain data, so that the tests at the end can show it failing on a planted fault.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.contract import ssh_key_vectors
from tests.contract.goldens import FOLDER, WIRE, canonical, key_vectors, load, names

NAMED = re.compile(r"`([^`]*)`")
LEDGER_ID = re.compile(r"\b([XPESIFO])(\d+)(?:–[XPESIFO](\d+))?\b")
DIRECTION = re.compile(r"[a-z]+-to-[a-z]+")
VARIANT = re.compile(r"[a-z0-9_]+")
CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
TIME_KEYS = re.compile(r"(?:At|Until|asOf|deadline|until)$")
AMOUNT = re.compile(r"cpu|memory|storage|ephemeral_storage|gpu\..+")
CANONICAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
SECRET = re.compile(
    r"PRIVATE KEY-----\n[A-Za-z0-9+/]{40}"
    r"|eyJ[A-Za-z0-9_-]{10,}\."
    r"|gh[pousr]_[A-Za-z0-9]{20,}|glpat-[A-Za-z0-9_-]{15,}|AKIA[0-9A-Z]{12,}"
    r"|phs1_[0-9a-f]{32}_(?!(.)\1{42})[A-Za-z0-9_-]{43}"
)


def documented_codes() -> set[str]:
    """Every code docs/wire.md names in back quotes."""
    return set(NAMED.findall(WIRE))


def ledger_of_wire() -> set[str]:
    """The ledger ids of the table that ends docs/wire.md; a range stands for all its ids."""
    table = WIRE.partition("## Ledger")[2]
    found: set[str] = set()
    for row in table.splitlines():
        cell = row.split("|")[1] if row.startswith("|") else ""
        for letter, first, last in LEDGER_ID.findall(cell):
            found |= {f"{letter}{number}" for number in range(int(first), int(last or first) + 1)}
    return found


def faults_of_form(data: dict[str, Any]) -> list[str]:
    """What is missing or wrong in a golden's outer form."""
    faults = [
        f"{key} is missing"
        for key in ("name", "ledger", "direction", "schema", "valid", "refused")
        if key not in data
    ]
    if faults:
        return faults
    if DIRECTION.fullmatch(data["direction"]) is None:
        faults.append(f"direction {data['direction']!r}")
    if data["schema"] != 1:
        faults.append("schema is not 1")
    if not data["valid"]:
        faults.append("no valid body")
    variants = [row["name"] for row in data["valid"] + data["refused"]]
    faults += [f"variant name {name!r}" for name in variants if VARIANT.fullmatch(name) is None]
    for kind in ("valid", "refused"):
        seen = [row["name"] for row in data[kind]]
        faults += [f"{kind} variant {name} twice" for name in sorted({n for n in seen if seen.count(n) > 1})]
    for row in data["refused"]:
        if CODE.fullmatch(row.get("code", "")) is None:
            faults.append(f"{row['name']}: code {row.get('code')!r}")
        status = row.get("status", 0)
        if status is not None and not 400 <= status < 500:
            faults.append(f"{row['name']}: status {status} is no 4xx (X4)")
        if "body" in row and "raw_base64" in row:
            faults.append(f"{row['name']}: body and raw_base64")
    return faults


def faults_of_canon(body: Any, pointer: str = "") -> list[str]:
    """Where a valid body is not in the canonical form: times, UUIDs, sorted maps of amounts."""
    faults: list[str] = []
    if isinstance(body, dict):
        if all(AMOUNT.fullmatch(key) for key in body) and list(body) != sorted(body):
            faults.append(f"{pointer}: amounts are not sorted")
        for key, value in body.items():
            if TIME_KEYS.search(key) and isinstance(value, str) and CANONICAL_TIME.fullmatch(value) is None:
                faults.append(f"{pointer}/{key}: time {value!r}")
            if key.endswith("Id") and isinstance(value, str) and value != value.lower():
                faults.append(f"{pointer}/{key}: id {value!r}")
            faults += faults_of_canon(value, f"{pointer}/{key}")
    elif isinstance(body, list):
        for index, item in enumerate(body):
            faults += faults_of_canon(item, f"{pointer}/{index}")
    elif isinstance(body, float):
        faults.append(f"{pointer}: a number that is no integer")
    return faults


def refused_twice(rows: list[tuple[str, bytes, str]]) -> list[str]:
    """Names of refused variants that send the same bytes in the same request as an earlier one."""
    seen: dict[tuple[bytes, str], str] = {}
    return [
        f"{name} repeats {seen[raw, request]}"
        for name, raw, request in rows
        if seen.setdefault((raw, request), name) != name
    ]


def read(name: str) -> dict[str, Any]:
    """The file as plain data."""
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return data


@pytest.mark.parametrize("name", names())
def test_form(name: str) -> None:
    data = read(name)
    assert data["name"] == name
    assert faults_of_form(data) == []


@pytest.mark.parametrize("name", [name for name in names() if not name.startswith("waldur-")])
def test_valid_bodies_are_canonical(name: str) -> None:
    golden = load(name)
    for case in golden.valid:
        if case.body is not None:
            assert faults_of_canon(case.body) == [], case.name
            assert (
                golden.direction.endswith("-to-waldur")
                or name == "problem"
                or next(iter(case.body)) == "schema"
            )


@pytest.mark.parametrize("name", names())
def test_both_encoders_write_the_same_bytes(name: str) -> None:
    """The rule of docs/wire.md is not one library's habit: msgspec and json agree on every valid body."""
    for case in load(name).valid:
        if case.body is not None:
            assert msgspec.json.encode(msgspec.json.decode(case.canonical)) == case.canonical, case.name


@pytest.mark.parametrize("name", names())
def test_refused_variants_are_distinct(name: str) -> None:
    golden = load(name)
    rows = [(r.name, r.raw, json.dumps(r.request, sort_keys=True)) for r in golden.refused]
    assert refused_twice(rows) == []
    valid = {(v.canonical, json.dumps(v.request, sort_keys=True)) for v in golden.valid}
    assert [r[0] for r in rows if (r[1], r[2]) in valid] == []


@pytest.mark.parametrize("name", names())
def test_codes_and_ledger_ids_are_documented(name: str) -> None:
    golden = load(name)
    assert {r.code for r in golden.refused} - documented_codes() == set()
    assert set(golden.ledger) - ledger_of_wire() == set()
    assert f"`{name}`" in WIRE, "docs/wire.md does not name this golden"


def test_every_golden_named_by_the_page_exists() -> None:
    named = {
        name
        for line in WIRE.splitlines()
        if "golden" in line
        for name in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", line.partition("golden")[2])
    }
    assert named - set(names()) - {"problem"} == set()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_no_golden_holds_a_secret(path: Path) -> None:
    assert SECRET.search(path.read_text(encoding="utf-8")) is None


def test_key_vectors_are_what_their_builder_makes() -> None:
    assert ssh_key_vectors.PATH.read_text(encoding="ascii") == ssh_key_vectors.render()


def test_key_vectors_codes_are_documented() -> None:
    vectors = key_vectors()
    assert {row["code"] for row in vectors["refused"]} - documented_codes() == set()
    lines = [row["line"] for row in vectors["valid"] + vectors["refused"]]
    assert len(lines) == len(set(lines))


def test_key_vectors_name_every_c_case_once_at_least() -> None:
    rows = key_vectors()["valid"] + key_vectors()["refused"]
    cases = "C02 C03 C04 C06 C08 C09 C10 C11 C13 C14 C17 C18 C19 C21 B15 B16"
    assert set(cases.split(" ")) - {row["case"] for row in rows} == set()


PLANTED: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("no code", lambda d: d["refused"][0].pop("code")),
    ("a 500", lambda d: d["refused"][0].update(status=500)),
    ("a name twice", lambda d: d["refused"].append(d["refused"][0])),
    ("a name with a blank", lambda d: d["valid"][0].update(name="a b")),
    ("no valid body", lambda d: d["valid"].clear()),
    ("no ledger", lambda d: d.pop("ledger")),
    ("another schema", lambda d: d.update(schema=2)),
    ("two bodies", lambda d: d["refused"][0].update(raw_base64="", body={})),
]


@pytest.mark.parametrize("plant", [p[1] for p in PLANTED], ids=[p[0] for p in PLANTED])
def test_rule_of_form_sees(plant: Callable[[dict[str, Any]], object]) -> None:
    data = copy.deepcopy(read("ssh-access-results"))
    plant(data)
    assert faults_of_form(data)


@pytest.mark.parametrize(
    "body",
    [
        {"observedAt": "2026-11-02T10:00:00+00:00"},
        {"deadline": "2026-11-02T10:00:00.5Z"},
        {"keyId": "ABC"},
        {"x": [{"cpu": 1.0}]},
        {"limits": {"memory": 1, "cpu": 1}},
    ],
)
def test_rule_of_canon_sees(body: dict[str, Any]) -> None:
    assert faults_of_canon(body)


def test_rule_of_distinct_variants_sees() -> None:
    assert refused_twice([("a", b"1", ""), ("b", b"1", "")]) == ["b repeats a"]
    assert refused_twice([("a", b"1", ""), ("b", b"1", "other")]) == []


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "Ab1+" * 10,
        "eyJ" + "hbGciOiJSUzI1NiJ9" + ".x",
        "phs1_" + "0" * 32 + "_" + "Ab1-" * 10 + "xyz",
        "ghp_" + "a1" * 15,
    ],
)
def test_rule_of_secrets_sees(text: str) -> None:
    assert SECRET.search(text)


def test_canonical_escapes_only_what_json_demands() -> None:
    assert canonical({"a": 'é"\\\n\x1f\u2028'}) == b'{"a":"\xc3\xa9\\"\\\\\\n\\u001f\xe2\x80\xa8"}'
