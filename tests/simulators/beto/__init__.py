"""Beto as central meets it: its own truth, real encoded events, snapshots and decisions, and faults on
demand.

`truth` is what is so; `beto` says it: events through the Broker port (dropped, doubled, reordered,
delayed), answers to questions in docs/wire.md's form, strictly; `memory_broker` carries messages without a
database. Nothing here imports the view it is used to test.
"""
