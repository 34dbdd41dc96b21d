"""What an answer other than success means, for each peer of the site's components (X1, X5, RFC 9110)."""

from __future__ import annotations

import ssl

import pytest

from site_bundle.kernel.errors import CODES as SITE_API_CODES
from site_bundle.kernel.https import (
    Answer,
    HttpsLimits,
    HttpsOrigin,
    Peer,
    PeerRefusedError,
    PeerUnavailableError,
    failure,
)
from site_bundle.kernel.site_api import SITE_API
from site_bundle.reporter.adapters.intake import INTAKE
from site_bundle.reporter.adapters.waldur_resources import WALDUR
from site_bundle.reporter.errors import CODES

LIMITS = HttpsLimits()
STATUS = [
    (SITE_API, 401, "site_api_unauthorized"),
    (SITE_API, 403, "site_api_forbidden"),
    (SITE_API, 400, "site_api_refused"),
    (SITE_API, 503, "site_api_unavailable"),
    (INTAKE, 401, "intake_unauthorized"),
    (INTAKE, 403, "intake_forbidden"),
    (INTAKE, 400, "intake_refused"),
    (INTAKE, 307, "intake_redirect"),
    (INTAKE, 429, "intake_unavailable"),
    (WALDUR, 401, "waldur_unauthorized"),
    (WALDUR, 403, "waldur_forbidden"),
    (WALDUR, 400, "waldur_refused"),
    (WALDUR, 301, "waldur_redirect"),
    (WALDUR, 502, "waldur_unavailable"),
]


@pytest.mark.parametrize(("peer", "status", "code"), STATUS)
def test_x1_status_without_a_code_of_its_own(peer: Peer, status: int, code: str) -> None:
    error = failure(peer, Answer(status, {}, b""), LIMITS)
    later = status >= 500 or status in {408, 425, 429}
    assert error.code == code and isinstance(error, PeerUnavailableError if later else PeerRefusedError)
    assert error.remedy and code in CODES | SITE_API_CODES


@pytest.mark.parametrize(
    ("text", "seconds"), [("7", 7.0), ("86400", 600.0), ("soon", 0.0), ("-1", 0.0), ("", 0.0), ("1.5", 0.0)]
)
def test_x1_retry_after_is_bounded_seconds(text: str, seconds: float) -> None:
    error = failure(WALDUR, Answer(429, {"retry-after": text}, b""), LIMITS)
    assert isinstance(error, PeerUnavailableError) and error.retry_after == seconds


@pytest.mark.parametrize(
    ("peer", "tls", "unreachable", "slow"),
    [
        (INTAKE, "intake_tls", "intake_unreachable", "intake_slow"),
        (WALDUR, "waldur_tls", "waldur_unreachable", "waldur_slow"),
    ],
)
def test_x1_faults_of_the_way(peer: Peer, tls: str, unreachable: str, slow: str) -> None:
    origin = HttpsOrigin(peer=peer, origin="https://127.0.0.1:1", ca_file=None, limits=LIMITS)
    assert origin._unreachable(ssl.SSLError(1, "no")).code == tls
    assert origin._unreachable(ConnectionRefusedError(111, "Connection refused")).code == unreachable
    assert slow in CODES
