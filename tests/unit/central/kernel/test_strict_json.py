"""Strict JSON in, canonical JSON out (X4, X3)."""

import json
import time
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from central.kernel.closed_types import closed_depth, shows_every_key
from central.kernel.problems import Problem
from central.kernel.strict_json import DEFAULT_LIMITS, MAX_INTEGER, JsonLimits, decode, encode


class Row(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A type that bounds its own depth: bodies that fit are read the short way."""

    name: str = ""
    sizes: dict[str, int] = {}
    rows: list[dict[str, list[str]]] = []


class Limits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    cpu: Annotated[int, msgspec.Meta(ge=0, le=MAX_INTEGER)] = 0
    memory: Annotated[int, msgspec.Meta(ge=0, le=MAX_INTEGER)] = 0
    name: str = ""
    state: Literal["ok", "off"] = "ok"
    party: str | None = None
    tree: msgspec.Raw = msgspec.Raw(b"null")
    rows: list["Limits"] = []


def refused(body: bytes, limits: JsonLimits = DEFAULT_LIMITS) -> Problem:
    with pytest.raises(Problem) as problem:
        decode(body, Limits, limits=limits)
    assert 400 <= problem.value.status < 500
    return problem.value


@pytest.mark.parametrize("value", [9007199254740993, MAX_INTEGER, 0])
def test_d08_integers_keep_every_digit(value: int) -> None:
    found = decode(b'{"memory":%d}' % value, Limits)
    assert found.memory == value
    assert b'"memory":%d' % value in encode(found)


@pytest.mark.parametrize(
    ("case", "body", "code"),
    [
        ("d09", b'{"memory":9223372036854775808}', "body_invalid"),
        ("d09_negative", b'{"memory":-1}', "body_invalid"),
        ("d10", b'{"memory":' + b"1" * 5000 + b"}", "json_bad_number"),
        ("d10_exponent", b'{"cpu":1e' + b"9" * 5000 + b"}", "json_bad_number"),
        ("d11_nan", b'{"cpu":NaN}', "json_malformed"),
        ("d11_infinity", b'{"cpu":-Infinity}', "json_malformed"),
        ("d11_1e400", b'{"cpu":1e400}', "json_bad_number"),
        ("d11_deep_1e400", b'{"tree":[1e400]}', "json_bad_number"),
        ("d12_float", b'{"cpu":16000.0}', "body_invalid"),
        ("d12_text", b'{"cpu":"16000"}', "body_invalid"),
        ("d12_true", b'{"cpu":true}', "body_invalid"),
        ("d12_exponent", b'{"cpu":1.6e4}', "body_invalid"),
        ("e01", b'{"name":"a\\u0000b"}', "json_bad_string"),
        ("e01_key", b'{"a\\u0000":1}', "json_bad_string"),
        ("e01_raw", b'{"name":"a\x00b"}', "json_malformed"),
        ("e02", b'{"name":"\\ud800"}', "json_bad_string"),
        ("e02_low", b'{"name":"\\udc00 and more"}', "json_bad_string"),
        ("e02_pair_of_high", b'{"name":"\\ud800\\ud800"}', "json_bad_string"),
        ("e02_key", b'{"\\ud800":1}', "json_bad_string"),
        ("e03", b'{"name":"\xff"}', "json_not_utf8"),
        ("e03_outside", b'{"name":"a"}\xff', "json_not_utf8"),
        ("e03_encoded_surrogate", b'{"name":"\xed\xa0\x80"}', "json_not_utf8"),
        ("e04", b'{"party":"p1","party":"p2"}', "json_duplicate_key"),
        ("e04_same", b'{"party":"p1","party":"p1"}', "json_duplicate_key"),
        ("e04_nested", b'{"rows":[{"cpu":1,"cpu":1}]}', "json_duplicate_key"),
        ("e04_escaped", b'{"party":"p1","part\\u0079":"p2"}', "json_duplicate_key"),
        ("e04_raw", b'{"tree":{"a":{"b":1,"b":2}}}', "json_duplicate_key"),
        ("e04_raw_escaped", b'{"tree":{"a":"\\n","a":"\\n"}}', "json_duplicate_key"),
        ("x4_array", b"[]", "json_not_object"),
        ("x4_text", b'"a"', "json_not_object"),
        ("x4_null", b"null", "json_not_object"),
        ("x4_empty", b"", "json_malformed"),
        ("x4_blank", b"  ", "json_malformed"),
        ("x4_byte_order_mark", b"\xef\xbb\xbf{}", "json_malformed"),
        ("x4_trailing", b"{} {}", "json_malformed"),
        ("x4_comment", b"{/* */}", "json_malformed"),
        ("x4_single_quotes", b"{'cpu':1}", "json_malformed"),
        ("x4_trailing_comma", b'{"cpu":1,}', "json_malformed"),
        ("x4_leading_zero", b'{"cpu":01}', "json_malformed"),
        ("x4_open_string", b'{"name":"', "json_malformed"),
        ("x4_deep", b'{"tree":' + b"[" * 17 + b"]" * 17 + b"}", "json_too_deep"),
        ("x4_very_deep", b'{"tree":' + b"[" * 500_000, "json_too_deep"),
        ("x4_very_deep_objects", b'{"a":' * 200_000, "json_too_deep"),
        ("x4_many", b'{"tree":[' + b"0," * 50_001 + b"0]}", "json_too_many_items"),
        ("x4_unknown", b'{"other":1}', "body_invalid"),
        ("x4_enum", b'{"state":"secret-value"}', "body_invalid"),
    ],
)
def test_x4_every_fault_has_its_own_code(case: str, body: bytes, code: str) -> None:
    problem = refused(body)
    assert (problem.code, problem.status) == (code, 400)


def test_d09_the_refusal_names_the_field_by_json_pointer() -> None:
    problem = refused(b'{"rows":[{"cpu":1},{"memory":9223372036854775808}]}')
    assert [error.pointer for error in problem.errors] == ["/rows/1/memory"]
    assert "/rows/1/memory" in problem.detail


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b'{"rows":[{"other":1}]}', "/rows/0/other"),
        (b'{"a/b~c":1}', "/a~1b~0c"),
        (b'{"a\\nb":1}', "/a\nb"),
        (b'{"x - at `$.rows`":1}', "/x - at `$.rows`"),
        (b'{"":1}', "/"),
    ],
)
def test_x4_an_unknown_field_is_named_with_its_place(body: bytes, pointer: str) -> None:
    assert [e.pointer for e in refused(body).errors] == [pointer]


class Maps(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    amounts: dict[Annotated[str, msgspec.Meta(pattern=r"\A[a-z]+\Z")], int] = {}
    lists: dict[str, list[int]] = {}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b'{"amounts":{"cpu":"x"}}', "/amounts"),
        (b'{"amounts":{"A B":1}}', "/amounts"),
        (b'{"lists":{"a":[1,"x"]}}', "/lists"),
    ],
)
def test_x4_of_a_map_the_pointer_names_the_map(body: bytes, pointer: str) -> None:
    """Found by requests made from the OpenAPI: `/configured////` is no place."""
    with pytest.raises(Problem) as refusal:
        decode(body, Maps)
    assert [e.pointer for e in refusal.value.errors] == [pointer]


@pytest.mark.parametrize(
    "body",
    [b'{"state":"hunter2"}', b'{"party":5,"name":"hunter2"}', b'{"name":"hunter2"', b'{"cpu":"hunter2"}'],
)
def test_x5_a_value_is_never_repeated(body: bytes) -> None:
    assert b"hunter2" not in refused(body).document()


@pytest.mark.parametrize("depth", [1, 16])
def test_x4_the_depth_limit_is_exact(depth: int) -> None:
    inner = b"[" * (depth - 1) + b"]" * (depth - 1) if depth > 1 else b"0"
    assert decode(b'{"tree":' + inner + b"}", Limits)
    assert refused(b'{"tree":[' + inner + b"]}", JsonLimits(depth=depth)).code == "json_too_deep"


def test_x4_brackets_and_quotes_inside_strings_are_text() -> None:
    text = '[{"' * 100 + "\\" + ",,,"
    assert decode(json.dumps({"name": text}).encode(), Limits, limits=JsonLimits(items=1)).name == text


def test_e02_a_surrogate_pair_is_one_character() -> None:
    assert decode(b'{"name":"\\ud83d\\ude00"}', Limits).name == "\U0001f600"


def test_x4_an_escaped_backslash_before_u0000_is_text() -> None:
    assert decode(rb'{"name":"\\u0000"}', Limits).name == "\\u0000"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


class Tree(msgspec.Struct, forbid_unknown_fields=True):
    tree: object


def has_nul(value: object) -> bool:
    return "\\u0000" in json.dumps(value).replace("\\\\", "")


@given(JSON, st.booleans())
def test_x4_whatever_json_writes_is_read_as_written(value: object, ascii_only: bool) -> None:
    body = json.dumps({"tree": value}, ensure_ascii=ascii_only).encode()
    if has_nul(value):
        with pytest.raises(Problem):
            decode(body, Tree)
    else:
        assert decode(body, Tree, limits=JsonLimits(depth=64)).tree == value


@given(st.binary(max_size=60))
def test_x4_no_bytes_raise_anything_but_a_problem(body: bytes) -> None:
    try:
        decode(body, Tree)
    except Problem as problem:
        assert problem.status == 400


def test_x10_the_canonical_form_has_no_blanks_and_sorted_mappings() -> None:
    assert encode({"b": 1, "a": [True, None, "é\n"]}) == '{"a":[true,null,"é\\n"],"b":1}'.encode()


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"' + b'\\"' * 500_000,
        b'{"a":"' + b"\\\\" * 500_000 + b'u0000"}',
        b"[" * 1_000_000,
        b"[]" * 500_000,
        b'"' * 1_000_000,
        b"1" * 1_000_000,
        b"\\" * 1_000_001,
    ],
    ids=["open-string", "backslashes", "open-arrays", "arrays", "quotes", "digits", "no-string"],
)
def test_x4_a_hostile_mebibyte_is_refused_in_linear_time(body: bytes) -> None:
    """A tenth of a second of this process's own time; a square of its length would take some ten minutes."""
    began = time.process_time()
    refused(body)
    assert time.process_time() - began < 30


SHORT: st.SearchStrategy[dict[str, object]] = st.builds(
    dict,
    name=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8),
    sizes=st.dictionaries(st.text("ab[]{},", max_size=3), st.integers(-(2**63), 2**63 - 1), max_size=3),
    rows=st.lists(
        st.dictionaries(st.text("xy", max_size=2), st.lists(st.text("[]{},", max_size=3))), max_size=3
    ),
)


@given(SHORT, st.booleans())
def test_x4_the_short_way_reads_what_is_written(value: dict[str, object], ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert msgspec.to_builtins(decode(body, Row)) == value


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"name":"a","name":"b"}', "json_duplicate_key"),
        (b'{"sizes":{"a":1,"a":1}}', "json_duplicate_key"),
        (b'{"rows":[{"x":[]},{"x":[],"x":[]}]}', "json_duplicate_key"),
        (b'{"name":"a","rows":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}', "json_too_deep"),
        (b'{"sizes":{"a":' + b"1" * 33 + b"}}", "json_bad_number"),
        (b'{"sizes":{"a":1e400}}', "json_bad_number"),
        (b'{"name":"\xff"}', "json_not_utf8"),
        (b'{"rows":[' + b"{}," * 30_000 + b"{}]}", "json_too_many_items"),
        (b'{"name":1}', "body_invalid"),
    ],
)
def test_x4_the_short_way_refuses_as_the_long_one(body: bytes, code: str) -> None:
    with pytest.raises(Problem) as refused_:
        decode(body, Row)
    assert refused_.value.code == code


@pytest.mark.parametrize(
    ("type_", "depth"),
    [
        (Row, 4),
        (Limits, None),
        (Tree, None),
        (msgspec.defstruct("Open", [("a", int)]), None),
        (msgspec.defstruct("Closed", [("a", int | None)], forbid_unknown_fields=True), 1),
        (list[int], 1),
        (object, None),
    ],
)
def test_x4_which_types_bound_their_depth(type_: type, depth: int | None) -> None:
    assert closed_depth(type_) == depth


def test_x4_long_runs_of_digits_in_text_are_text() -> None:
    assert decode(b'{"name":"%s"}' % (b"1" * 100), Row).name == "1" * 100


class Whole(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """No field may be left out: its bodies are not read a second time without the type."""

    name: str | None
    sizes: dict[str, int]
    rows: list[dict[str, list[str]]]


class Tagged(Whole, tag=True, frozen=True):
    """The tag may be left out, and is written all the same."""


@pytest.mark.parametrize(
    ("type_", "shows"), [(Whole, True), (list[Whole], True), (Tagged, False), (Row, False), (Limits, False)]
)
def test_x4_what_shows_every_key(type_: object, shows: bool) -> None:
    assert shows_every_key(type_) is shows


@pytest.mark.parametrize(
    "body",
    [
        b'{"name":"a","sizes":{},"rows":[],"name":"b"}',
        b'{"name":null,"sizes":{"cpu":1,"cpu":1},"rows":[]}',
        b'{ "name":"a","sizes":{},"rows":[{"a":["x"]},{"b":[],"b":["y"]}]}',
        b'{"name":"a","sizes":{},"sizes":{"cpu":1},"rows":[]}',
    ],
)
def test_e04_a_repeated_key_is_seen_in_what_is_written_again(body: bytes) -> None:
    with pytest.raises(Problem) as problem:
        decode(body, Whole)
    assert problem.value.code == "json_duplicate_key"


@pytest.mark.parametrize("body", [b'{"type":"Tagged","name":"a","sizes":{},"rows":[],"name":"a"}',
                                  b'{"name":"a","sizes":{},"rows":[],"name":"a"}'])  # fmt: skip
def test_e04_an_optional_tag_hides_no_repeated_key(body: bytes) -> None:
    with pytest.raises(Problem) as problem:
        decode(body, Tagged)
    assert problem.value.code == "json_duplicate_key"
