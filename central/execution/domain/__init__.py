"""Pure: what a Run is, how it moves, who may move it. No I/O, no clock."""
