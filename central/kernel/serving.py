"""Runs one HTTP process under gunicorn (X13; F10, G02–G06)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flask import Flask


@dataclass(frozen=True, slots=True)
class Service:
    """What a composition root builds inside the worker: the application and how to stop what it opened.

    ``stopping`` is called at the first stop signal (parked polls answer), ``close`` after the last request.
    """

    app: Flask
    stopping: Callable[[], None]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Where and how to listen; ``threads`` = sites × pollers + 16 for the Site API."""

    host: str
    port: int
    threads: int
    workers: int = 1
    certificate: Path | None = None
    key: Path | None = None
    timeout_seconds: int = 90
    graceful_seconds: int = 20
    trusted_proxies: tuple[str, ...] = ()


def serve(build: Callable[[], Service], options: ServingOptions) -> int:
    """Serve until stopped; ``build`` runs in each worker after the fork. Returns the exit code."""
    raise NotImplementedError
