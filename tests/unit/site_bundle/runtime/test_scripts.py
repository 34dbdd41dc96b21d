"""What runs as the member, in dash: quoting, the askpass helper, and the shape of each stage's script."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from site_bundle.runtime.adapters.scratch_grants import ScratchGrants
from site_bundle.runtime.adapters.scripts import Scripts, template
from site_bundle.runtime.domain.command import StageName
from site_bundle.runtime.domain.script import (
    EXIT_CODES,
    PASSWORD,
    USERNAME,
    filled,
    grant_of,
    origin_of,
    quoted,
)
from site_bundle.runtime.domain.stage import State
from tests.unit.site_bundle.runtime.scenes import COMMAND, URL, action, stage

SECRETS = {USERNAME: "pharos-run", PASSWORD: "planted-value-91"}


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    grants = ScratchGrants(tmp_path / "root", template("askpass"), None, lambda: "salt")
    return Scripts(grants, Path("/scratch/pharos"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4))
def test_words_come_through_the_shell_as_they_are(words: list[str]) -> None:
    script = f"set -- {' '.join(map(quoted, words))}\nfor word do printf '%s\\036' \"$word\"; done"
    ran = subprocess.run(["dash", "-c", script], capture_output=True, check=True, timeout=20)
    assert ran.stdout == b"".join(word.encode() + b"\x1e" for word in words)


def test_a_word_with_a_nul_is_refused_and_values_are_not_filled_again() -> None:
    with pytest.raises(ValueError, match="NUL"):
        quoted("a\0b")
    assert filled("@URL@ @COMMIT@", {"URL": "'@COMMIT@'", "COMMIT": "x"}) == "'@COMMIT@' x"


@pytest.mark.parametrize("name", list(StageName))
def test_k08_script_of_a_stage_is_clean_whole_and_without_a_credential(
    scripts: Scripts, name: StageName
) -> None:
    text = scripts.render(stage(State.RECEIVED, action(name)))
    assert not [word for word in text.split("@") if word.isupper() and word.replace("_", "").isalpha()]
    assert text.startswith("#!/bin/sh\n")
    assert subprocess.run(["dash", "-n"], input=text, text=True, check=False, timeout=20).returncode == 0
    checked = subprocess.run(
        ["shellcheck", "--shell=sh", "--severity=style", "--exclude=SC2015", "-"],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout
    for value in SECRETS.values():
        assert value not in text


def test_every_exit_code_of_a_script_has_its_name() -> None:
    used = set()
    for name in ("common", "git", "stage-in", "compute", "stage-out"):
        words = template(name).split()
        used |= {int(code) for die, code in pairwise(words) if die == "die" and code.isdigit()}
    assert used == EXIT_CODES.keys()


def askpass(tmp_path: Path, prompt: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    helper = tmp_path / "askpass"
    helper.write_text(filled(template("askpass"), {"ORIGIN": quoted(origin_of(URL))}))
    helper.chmod(0o755)
    ran = subprocess.run(
        [str(helper), prompt], env=env or SECRETS, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Username for 'https://git.example.org:8443': ", "pharos-run\n"),
        ("Password for 'https://pharos-run@git.example.org:8443': ", "planted-value-91\n"),
        ('Username for "https://git.example.org:8443"', "pharos-run\n"),
        ('Password for "https://pharos-run@git.example.org:8443"', "planted-value-91\n"),
    ],
)
def test_k03_askpass_answers_git_and_git_lfs_for_its_origin(tmp_path: Path, prompt: str, answer: str) -> None:
    assert askpass(tmp_path, prompt) == (0, answer)


@pytest.mark.parametrize(
    "prompt",
    [
        "Username for 'https://git.example.org': ",
        "Username for 'http://git.example.org:8443': ",
        "Username for 'https://git.example.org:8443.evil.test': ",
        "Password for 'https://pharos-run@git.example.org:8443.evil.test': ",
        "Password for 'https://u@git.example.org.evil.test': ",
        "Password for 'https://other@git.example.org:8443': ",
        "Username for 'https://evil.test': ",
        "Password for 'https://pharos-run@evil.test/@git.example.org:8443': ",
        "Enter passphrase for key: ",
        "",
    ],
)
def test_k03_askpass_answers_nobody_else(tmp_path: Path, prompt: str) -> None:
    assert askpass(tmp_path, prompt) == (1, "")


def test_s4_names_are_of_attempt_and_material_and_the_drop_is_nobodys_to_guess() -> None:
    first = grant_of(COMMAND.attempt_id, origin_of(URL), b"ca", "salt")
    assert first == grant_of(COMMAND.attempt_id, origin_of(URL), b"ca", "salt")
    assert first.name.startswith(f"{COMMAND.attempt_id}-")
    other = grant_of(COMMAND.attempt_id, origin_of(URL), b"another ca", "another salt")
    assert other.name != first.name and other.drop != first.drop
