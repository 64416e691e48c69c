"""A full disk, for any user: the kernel refuses to let a file grow beyond a limit.

Python 3.11 keeps compiled modules that it could not write completely, and later processes fail to read them. Processes
with a limit therefore keep none.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_KEEPS_NONE = "PYTHONDONTWRITEBYTECODE"
_LIMITED = """
import resource, sys; sys.dont_write_bytecode = True
from wordorder.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1)); sys.exit(main(sys.argv[2:]))
"""


def limited(words: list[str], size: int) -> subprocess.CompletedProcess[str]:
    """Run 'wordorder' in a separate process that cannot write beyond ``size`` bytes of a file."""
    command = [sys.executable, "-c", _LIMITED, str(size), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """Let writes beyond ``size`` bytes of a file fail with EFBIG inside the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    keeps_none = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    os.environ[_KEEPS_NONE] = "1"  # for processes that start inside the block
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = keeps_none
        del os.environ[_KEEPS_NONE]
