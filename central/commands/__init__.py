"""Groups of `pharos-central`'s commands. Each module imports click alone until a command runs."""
