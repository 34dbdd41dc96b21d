"""Only a whole advertisement proves that a ref is absent (S2, X1)."""

import pytest

from central.execution.adapters.git_refs import Malformed, advertised
from central.execution.domain.request import Repository

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REF = "refs/heads/pharos/runs/1"


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


HEAD = packet("# service=git-upload-pack\n") + b"0000"
FIRST = packet(f"{COMMIT} HEAD\0multi_ack symref=HEAD:refs/heads/main\n")
SECOND = packet(f"{COMMIT} {REF}\n")
WHOLE = HEAD + FIRST + SECOND + b"0000"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://git.example.org/g/p.git", "git.example.org"),
        ("https://Git.Example.org:443/g/p.git", "git.example.org"),
        ("https://git.example.org:8443/g:1/p.git", "git.example.org:8443"),
    ],
)
def test_s2_one_host_has_one_name(url: str, host: str) -> None:
    assert Repository(url, COMMIT).host == host


def test_s2_each_advertised_ref_has_its_commit() -> None:
    assert advertised(WHOLE) == {"HEAD": COMMIT, REF: COMMIT}


def test_s2_an_empty_repository_has_no_ref() -> None:
    nothing = HEAD + packet(f"{'0' * 40} capabilities^{{}}\0agent=git\n") + b"0000"
    assert REF not in advertised(nothing)
    assert advertised(HEAD + b"0000") == {}


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_x1_an_answer_that_was_cut_anywhere_proves_nothing(length: int) -> None:
    with pytest.raises(Malformed):
        advertised(WHOLE[:length])


@pytest.mark.parametrize(
    "body",
    [
        WHOLE + SECOND,
        WHOLE.replace(b"upload", b"other."),
        HEAD + packet("no ref at all\n") + b"0000",
        HEAD + b"zzzz",
        HEAD + b"0003",
        packet("# service=git-upload-pack\n") + FIRST + b"0000",
        b"<html>502</html>",
    ],
    ids=["more", "service", "no_ref", "no_length", "short_length", "no_flush", "page_of_a_proxy"],
)
def test_x1_what_is_no_advertisement_proves_nothing(body: bytes) -> None:
    with pytest.raises(Malformed):
        advertised(body)
