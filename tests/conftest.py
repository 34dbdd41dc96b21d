"""Rules of every test: no settings of the product leak in, units open no sockets, order is random by a
printed seed, no property has a time to keep to.
"""

import os
import random
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pytest_socket import disable_socket, enable_socket

from tests import long

_HERE = Path(__file__).parent
_SHUFFLED = ("unit", "postgres", "architecture")
_PRODUCT = ("PHAROS_", "RESOURCE_PROVISIONING_")
_KEPT = "PHAROS_TEST_"


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--seed N`` repeats an order that a run printed."""
    parser.addoption("--seed", type=int, default=None, help="seed of order and cases (default: a new one)")
    parser.addoption("--soak", action="store_true", help="run the long suites whole, not their first minute")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed, Hypothesis's too; drop every setting of the product and the umask, whoever started the
    run.
    """
    os.umask(0o022)  # as the installer does first
    usual = settings.get_profile("default")  # whatever the machine calls itself
    slow = [HealthCheck.too_slow]
    settings.register_profile("pharos", usual, deadline=None, suppress_health_check=slow)
    settings.load_profile("pharos")
    if config.getoption("--seed") is None:
        shared: dict[str, int] = getattr(config, "workerinput", {})
        config.option.seed = shared.get("seed", random.SystemRandom().randrange(1_000_000))
    if getattr(config.option, "hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(config.option.seed)
    long.SOAK, long.SEED = config.getoption("--soak"), config.option.seed
    for name in [name for name in os.environ if name.startswith(_PRODUCT) and not name.startswith(_KEPT)]:
        del os.environ[name]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """The workers of one run (``-n``) share its order."""
    node.workerinput["seed"] = node.config.option.seed


def pytest_report_header(config: pytest.Config) -> str:
    """Print the seed."""
    return f"order and cases: --seed {config.getoption('--seed')}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle modules and the tests inside each; journeys and the lab keep their order."""
    order = random.Random(config.getoption("--seed"))
    fixed = [item for item in items if not item.path.is_relative_to(_HERE) or _part(item) not in _SHUFFLED]
    groups = [list(group) for _, group in groupby(items, key=lambda item: item.path)]
    shuffled = [group for group in groups if group[0] not in fixed]
    for group in shuffled:
        order.shuffle(group)
    order.shuffle(shuffled)
    items[:] = [item for group in shuffled for item in group] + fixed


def _part(item: pytest.Item) -> str:
    return item.path.relative_to(_HERE).parts[0]


@pytest.fixture(autouse=True)
def _no_sockets(request: pytest.FixtureRequest) -> Iterator[None]:
    """Unit tests reach no network; Unix sockets stay open (sd_notify, ldapi stand-ins)."""
    if _part(request.node) != "unit":
        yield
        return
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()
