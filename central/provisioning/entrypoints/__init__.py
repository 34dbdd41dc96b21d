"""The Site intake: wire in, wire out."""
