"""Records what a version of Slurm calls its rejections: ``python3 record_rejections.py LIBSLURMFULL``.

The library is that of the version's own package (``libslurmfull.so``), loaded where its libc is: on a lab
host for those of a newer distribution. One line a number, ``<number> <text>`` of slurm_strerror(3), into
``recorded/rejections-<version>.txt``.
"""

from __future__ import annotations

import ctypes
import os
import sys

# slurm_errno.h: SLURM_ERROR, the authentication error, and those a submission may be answered with.
NUMBERS = (
    -1, 1007, 2000, 2002, 2003, 2005, 2006, 2010, 2014, 2015, 2044, 2045, 2050, 2051, 2066, 2069, 2070, 2072,
    2178,
)  # fmt: skip


def main(library: str) -> int:
    """Prints the lines."""
    told = ctypes.CDLL(library, mode=os.RTLD_LAZY).slurm_strerror
    told.restype = ctypes.c_char_p
    for number in NUMBERS:
        print(number, told(number).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
