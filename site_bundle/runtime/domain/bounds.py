"""What this Site lets central name at all, whatever central says: the host's own rules (S2, I7, X11).

1. The user's number is in the members' range: no service of this host, no administrator, no root.
2. The account is the platform's parent account or stands below it.
3. The token speaks for the user of the command and for nobody else: Slurm itself checks neither issuer nor
   audience, and obeys a token that names root.
"""

from __future__ import annotations

OUTSIDE = "identity_outside_site"
