"""Run the command line as ``python -m wordorder.cli``."""

import sys

from wordorder.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
