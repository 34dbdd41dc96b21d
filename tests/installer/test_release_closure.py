"""The closure proof: complete for the target, nothing unneeded, exactly the recorded overrides (I5, replay
B8).
"""

from dataclasses import dataclass, replace

import pytest

from installer.domain.manifest import Override
from release.closure import Target, prove, reachable
from release.errors import ReleaseError

TARGET = Target("3.13", "x86_64")


@dataclass(frozen=True, slots=True)
class Dist:
    """A distribution of a closure test."""

    name: str
    version: str = "1.0"
    requires: tuple[str, ...] = ()
    requires_python: str = ""


def refused(members: list[Dist], overrides: tuple[Override, ...] = (), **roots: set[str]) -> str:
    with pytest.raises(ReleaseError) as caught:
        prove(members, roots or {"app": set()}, TARGET, overrides)
    assert caught.value.code == "closure_incomplete"
    return caught.value.found


def test_B8_a_wheel_that_needs_setuptools_without_it() -> None:
    assert "app 1.0 needs setuptools, which is missing" in refused([Dist("app", requires=("setuptools",))])


def test_closure_with_extras_markers_and_transitive_needs() -> None:
    members = [
        Dist(
            "app",
            requires=('web[tls]; extra == "site"', 'never; python_version < "3.13"', 'win; os_name == "nt"'),
        ),
        Dist("web", requires=('ssl-thing>=2; extra == "tls"', 'other; extra == "never"', "base")),
        Dist("ssl-thing", "2.1"),
        Dist("base"),
    ]
    assert prove(members, {"app": {"site"}}, TARGET) == set()
    assert reachable([*members, Dist("left-over")], {"app": {"site"}}, TARGET) == {
        "app",
        "web",
        "ssl-thing",
        "base",
    }
    assert "left-over is needed by nothing" in refused([*members, Dist("left-over")], app={"site"})
    assert "ssl-thing>=2" in refused([m for m in members if m.name != "ssl-thing"], app={"site"})
    assert "ssl-thing is needed by nothing" in refused(members, app=set())


def test_closure_versions_pythons_and_doubles() -> None:
    assert "which is 1.0" in refused([Dist("app", requires=("lib>=2",)), Dist("lib")])
    assert "needs Python <3.13" in refused([Dist("app", requires_python="<3.13")])
    assert "app twice: 1.0 and 2.0" in refused([Dist("app"), Dist("app", "2.0")])
    assert "app is missing" in refused([])
    assert "app" in refused([Dist("app", requires=("not a requirement !",))])


def test_closure_accepts_exactly_the_recorded_override() -> None:
    members = [Dist("app", requires=("lib<2",)), Dist("lib", "2.1")]
    right = Override("App", "lib<2", "lib==2.1", "2.1 keeps what app calls")
    assert prove(members, {"app": set()}, TARGET, [right]) == {right}
    for wrong in (
        replace(right, field="lib<3"),
        replace(right, recorded="lib==2.2"),
        replace(right, package="other"),
    ):
        assert "app 1.0 needs lib<2, which is 2.1" in refused(members, (wrong,))


def test_cyclic_needs_end() -> None:
    members = [
        Dist("app", requires=("a",)),
        Dist("a", requires=("b[x]",)),
        Dist("b", requires=('a; extra == "x"',)),
    ]
    assert prove(members, {"app": set()}, TARGET) == set()
