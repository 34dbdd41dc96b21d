"""ldap3 without the parts that no component uses: 1.5 MB less for every process that speaks LDAP (S10).

ldap3 imports all it has with its package: Active Directory's and eDirectory's extensions (which bring
ctypes), an object mapper, schema tables, servers that are mocks. While the package is imported, the modules
of `LEFT_OUT` are answered for by empty ones; a name taken from them is a class that cannot be made, so using
a part that is not there is an error and never a silent nothing.
"""

from __future__ import annotations

import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LEFT_OUT = frozenset(
    {
        "ldap3.abstract",
        "ldap3.extend.microsoft",
        "ldap3.extend.novell",
        "ldap3.protocol.microsoft",
        "ldap3.protocol.novell",
        "ldap3.protocol.oid",
        "ldap3.protocol.rfc4512",
        "ldap3.strategy.asyncStream",
        "ldap3.strategy.ldifProducer",
        "ldap3.strategy.mockAsync",
        "ldap3.strategy.mockBase",
        "ldap3.strategy.mockSync",
        "ldap3.strategy.restartable",
        "ldap3.strategy.reusable",
        "ldap3.strategy.safeRestartable",
    }
)
# Names that are looked into as they are: what object identifiers mean, told with an answer's controls.
EMPTY: dict[str, dict[str, object]] = {"ldap3.protocol.oid": {"Oids": {}}}


class _LeftOut(ModuleType):
    """Stands for a module; each name in it is a class of its own that refuses to be made."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_: object, **__: object) -> None:
            raise NotImplementedError(
                f"{self.__name__}.{name} is left out (site_bundle.directory.ldap3_parts)"
            )

        made = type(name, (), {"__init__": refuse})
        setattr(self, name, made)
        return made


class _Finder:
    """Finder and loader (importlib's protocols) of the modules that are left out."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        out = name in LEFT_OUT or any(name.startswith(f"{part}.") for part in LEFT_OUT)
        return ModuleSpec(name, self, is_package=True) if out else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _LeftOut(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it but what is looked into."""
        vars(module).update(EMPTY.get(module.__name__, {}))


def load_ldap3() -> Any:
    """ldap3, imported on first use: 79 ms and 6 MB that `--version` and `status` do not need. A process that
    imported the whole of it before keeps that.
    """
    if "ldap3" in sys.modules:
        return sys.modules["ldap3"]
    finder: Any = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        with warnings.catch_warnings():
            # ldap3 2.9.1 reads two old names of pyasn1 while it is imported.
            warnings.filterwarnings("ignore", "(tagMap|typeMap) is deprecated", DeprecationWarning)
            import ldap3
    finally:
        sys.meta_path.remove(finder)
    return ldap3
