"""Refusals of the operators' page."""

from typing import Final

from central.kernel.problems import ProblemSpec, problem_table

HOST_REFUSED: Final = ProblemSpec(
    "host_refused",
    421,
    "Not a loopback name",
    "The Host header names neither localhost nor a loopback address: a page of another site may have asked.",
    "Open the page as http://localhost:PORT/ or http://127.0.0.1:PORT/, through SSH forwarding from afar.",
)
PROBLEMS: Final = problem_table(HOST_REFUSED)
