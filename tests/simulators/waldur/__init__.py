"""Waldur 8.1.3's API as far as a provider meets it: `python -m tests.simulators.waldur --help`.

Strict, with a truth of its own (X8): rows, roles and rules stand in `model.py` and the modules beside it,
which do no I/O and take the time; `server.py` is HTTP, `control.py` the steering, `process.py` what a test
holds.
"""
