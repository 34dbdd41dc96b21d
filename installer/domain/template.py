"""Unit templates: plain ``{{ name }}`` substitution, nothing else; an undefined or malformed name is an
error.
"""

import re
from collections.abc import Mapping

_NAME = re.compile(r"\{\{ ([a-z][a-z0-9_]*) \}\}")
_BRACES = re.compile(r"\{\{|\}\}|\{%|%\}|\{#|#\}")


class TemplateError(ValueError):
    """The template asks for what is not there, or uses what this language does not have."""


def render(template: str, values: Mapping[str, str]) -> str:
    """``template`` with each ``{{ name }}`` replaced. A value may hold no line break, control character or
    brace.

    Raises TemplateError.
    """
    for name, value in values.items():
        if not value.isprintable() or _BRACES.search(value):
            raise TemplateError(f"the value of {name} has characters a unit file cannot carry")
    rest = _BRACES.search(_NAME.sub("", template))
    if rest is not None:
        raise TemplateError(f"{rest.group()} outside of {{{{ name }}}}")
    missing = sorted({name for name in _NAME.findall(template) if name not in values})
    if missing:
        raise TemplateError(f"no value for {', '.join(missing)}")
    return _NAME.sub(lambda match: values[match.group(1)], template)
