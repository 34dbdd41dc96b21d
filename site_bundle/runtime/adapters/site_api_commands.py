"""The commands half of the Site API over one client (docs/wire.md). What breaks a rule of the page is
unavailable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from site_bundle.kernel.https import PeerRefusedError, malformed_answer
from site_bundle.kernel.site_api import SITE_API, SiteApi
from site_bundle.runtime.adapters.wire_commands import CommandsBody
from site_bundle.runtime.adapters.wire_words import ReceiptBody, TokenBody, encode_token_request
from site_bundle.runtime.application.ports import MemberToken, Word
from site_bundle.runtime.domain.feed import Page, PositionUnknownError

T = TypeVar("T")

PEER = replace(
    SITE_API,
    remedies={**SITE_API.remedies, 403: "the grant must have the scope commands, and the member the right"},
)
_PREFIX = "/v1/site/commands"


class SiteApiCommands:
    """The port CommandsApi."""

    def __init__(self, api: SiteApi) -> None:
        self._api = api

    def commands(self, *, after: int, wait: int, limit: int) -> Page:
        path = f"{_PREFIX}?after={after}&wait={wait}&limit={limit}"
        try:
            body = self._api.get(path, CommandsBody, wait_seconds=wait)
        except PeerRefusedError as error:
            # Every history knows its beginning: said of 0 it is a fault of central's, not a history.
            if error.status == 409 and error.code == "feed_position_unknown" and after > 0:
                raise PositionUnknownError from error
            raise
        return _page(body, after, limit)

    def unacknowledged(self, *, after: int, limit: int) -> Page:
        path = f"{_PREFIX}/unacknowledged?after={after}&limit={limit}"
        return _page(self._api.get(path, CommandsBody), after, limit)

    def member_token(self, command_id: UUID, attempt_id: UUID) -> MemberToken:
        body = self._api.post(
            f"{_PREFIX}/{command_id}/member-token", encode_token_request(attempt_id), TokenBody
        )
        return _checked(body.member_token)

    def send(self, word: Word) -> None:
        receipt = self._api.post(f"{_PREFIX}/{word.command_id}/{word.kind}", word.body, ReceiptBody)
        if receipt.command_id != word.command_id:
            raise malformed_answer("a receipt for another command")

    def state_maintenance(self, body: bytes) -> None:
        self._api.put(f"{_PREFIX}/maintenance", body)


def _page(body: CommandsBody, after: int, limit: int) -> Page:
    if body.after != after or len(body.commands) > limit:
        raise malformed_answer("an answer to another question")
    return _checked(body.page)


def _checked(make: Callable[[], T]) -> T:
    try:
        return make()
    except ValueError as error:
        raise malformed_answer(str(error)) from error
