"""Verifies an archive and builds the controller environment, before anything is installed: standard library
only.
"""
