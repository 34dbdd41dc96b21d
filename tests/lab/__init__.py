"""A real HPC host on this machine: built once, booted in two seconds, thrown away after.

The lab plays the site's administrators. Accounts, directory policy, logins, Slurm and its
database are theirs and stand in ``seed/``; what is under test only finds them (I9).
"""

from tests.lab.errors import LabError
from tests.lab.host import LabHost
from tests.lab.reclaim import reclaim
from tests.lab.tree import HostTree, ensure_tree

__all__ = ["HostTree", "LabError", "LabHost", "ensure_tree", "reclaim"]
