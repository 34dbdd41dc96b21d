"""Documents by their annotations: what is read, refused (and where), and written (X2, X4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest

from site_bundle.kernel.documents import (
    Between,
    Length,
    Matching,
    Named,
    Open,
    ShapeError,
    read_document,
    write_document,
)
from site_bundle.kernel.strict_json import MalformedJsonError, parse_list

ID = "3f2a6f0e-0000-4000-8000-00000000000a"
Name = Annotated[str, Matching(r"[a-z]{1,8}")]


@dataclass(frozen=True, slots=True)
class Leaf:
    user_name: Name
    entry_uuid: Annotated[UUID, Named("entryUUID")]


@dataclass(frozen=True, slots=True)
class Whole:
    schema: Literal[1]
    number: Annotated[int, Between(0, 9)]
    share: float
    done: bool
    state: Literal["ok", None]
    at: datetime
    leaves: Annotated[tuple[Leaf, ...], Length(1, 2)]
    amounts: Annotated[dict[str, int], Length(0, 2)]
    names: Annotated[list[Name] | None, Length(0, 1)]
    note: Annotated[str, Length(0, 3)] | None = None
    more: Any = field(default=None)


@dataclass(frozen=True, slots=True)
class Foreign(Open):
    uuid: str
    leaf: Leaf | None = None


def whole(**changed: object) -> dict[str, object]:
    made: dict[str, object] = {
        "schema": 1,
        "number": 9,
        "share": 0.5,
        "done": False,
        "state": None,
        "at": "2026-11-02T12:00:01+02:00",
        "leaves": [{"userName": "ada", "entryUUID": ID}],
        "amounts": {"cpu": 1},
        "names": None,
    }
    return made | changed


def test_X4_a_document_is_read_by_its_annotations() -> None:
    assert read_document(whole(note="abc", more=[{"a": 1}]), Whole) == Whole(
        schema=1,
        number=9,
        share=0.5,
        done=False,
        state=None,
        at=datetime(2026, 11, 2, 10, 0, 1, tzinfo=UTC),
        leaves=(Leaf("ada", UUID(ID)),),
        amounts={"cpu": 1},
        names=None,
        note="abc",
        more=[{"a": 1}],
    )
    assert read_document(whole(share=1, names=["bo"], state="ok"), Whole).names == ["bo"]


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"schema": True}, "schema"),
        ({"schema": 1.0}, "schema"),
        ({"schema": [1]}, "schema"),
        ({"number": 10}, "number"),
        ({"number": 7.0}, "number"),
        ({"number": "7"}, "number"),
        ({"number": True}, "number"),
        ({"number": None}, "number"),
        ({"share": "0.5"}, "share"),
        ({"share": True}, "share"),
        ({"done": 0}, "done"),
        ({"state": "OK"}, "state"),
        ({"at": "2026-11-02T12:00:01"}, "at"),
        ({"at": 7}, "at"),
        ({"leaves": []}, "leaves"),
        ({"leaves": {}}, "leaves"),
        ({"leaves": [{"userName": "ada", "entryUUID": ID}] * 3}, "leaves"),
        ({"leaves": [{"userName": "ada", "entryUUID": ID}, {"userName": "ada"}]}, "leaves[1].entryUUID"),
        ({"leaves": [{"userName": "ada\n", "entryUUID": ID}]}, "leaves[0].userName"),
        ({"leaves": [{"userName": "x ada", "entryUUID": ID}]}, "leaves[0].userName"),
        ({"leaves": [{"userName": "ada", "entryUUID": ID.replace("-", "")}]}, "leaves[0].entryUUID"),
        ({"leaves": [{"userName": "ada", "entryUUID": f"{{{ID}}}"}]}, "leaves[0].entryUUID"),
        ({"leaves": [{"userName": "ada", "entryUUID": ID, "x": 1}]}, "leaves[0]"),
        ({"leaves": [{"user_name": "ada", "entryUUID": ID}]}, "leaves[0]"),
        ({"amounts": {"cpu": "1"}}, "amounts{}"),
        ({"amounts": {"a": 1, "b": 1, "c": 1}}, "amounts"),
        ({"amounts": []}, "amounts"),
        ({"names": ["a", "b"]}, "names"),
        ({"names": ["A"]}, "names[0]"),
        ({"note": "abcd"}, "note"),
        ({"note": 1}, "note"),
    ],
)
def test_X4_anything_else_is_refused_at_its_place(changed: dict[str, object], place: str) -> None:
    with pytest.raises(ShapeError) as refused:
        read_document(whole(**changed), Whole)
    assert str(refused.value).partition(": ")[0] == place


def test_X4_missing_and_unknown_members() -> None:
    short = whole()
    del short["done"]
    with pytest.raises(ShapeError, match=r"^done: is missing"):
        read_document(short, Whole)
    with pytest.raises(ShapeError, match="a member the schema does not name"):
        read_document(whole(secret="s3cret"), Whole)
    with pytest.raises(ShapeError, match="an object is wanted"):
        read_document([], Whole)


def test_X5_a_refusal_does_not_show_the_content() -> None:
    for changed in ({"number": "hunter2"}, {"note": "hunter2"}, {"hunter2": 1}, {"amounts": {"hunter2": ""}}):
        with pytest.raises(ShapeError) as refused:
            read_document(whole(**changed), Whole)
        assert "hunter2" not in str(refused.value)


def test_an_open_document_ignores_others_members_and_only_those() -> None:
    assert read_document({"uuid": "x", "new_in_9": 1}, Foreign) == Foreign("x")
    with pytest.raises(ShapeError, match="leaf"):
        read_document({"uuid": "x", "leaf": {"userName": "a", "entryUUID": ID, "new": 1}}, Foreign)


def test_X10_a_document_is_written_in_the_order_of_its_fields() -> None:
    read = read_document(whole(names=["bo"], note="ü"), Whole)
    assert write_document(read).decode() == (
        '{"schema":1,"number":9,"share":0.5,"done":false,"state":null,"at":"2026-11-02T10:00:01Z",'
        f'"leaves":[{{"userName":"ada","entryUUID":"{ID}"}}],"amounts":{{"cpu":1}},"names":["bo"],'
        '"note":"ü","more":null}'
    )


def test_X4_a_list_at_the_top_only_when_asked_for() -> None:
    assert parse_list(b'[{"a":1},2]', max_bytes=20) == [{"a": 1}, 2]
    assert parse_list(b"[]", max_bytes=2) == []
    for broken in (b"{}", b"1", b"[", b'[{"a":1,"a":1}]', b"[NaN]", b'["\\ud800"]', b"[1,2,3]" * 10):
        with pytest.raises(MalformedJsonError):
            parse_list(broken, max_bytes=20)


@dataclass(frozen=True, slots=True)
class Unreadable:
    values: set[int]


@dataclass(frozen=True, slots=True)
class Mismarked:
    value: Annotated[int, "a mark nobody knows"]


@pytest.mark.parametrize("shape", [Unreadable, Mismarked])
def test_an_annotation_the_module_does_not_know_is_a_bug(shape: type) -> None:
    with pytest.raises(TypeError, match="no document field"):
        read_document({"values": [], "value": 1}, shape)
