"""A Git server over HTTPS with LFS, around Git's `git-http-backend`: `python -m tests.simulators.git`."""
