"""An owner of accepted work as central meets it: its own truth, real encoded events, inventories, and faults
on demand. Nothing here imports the context it is used to test.
"""
