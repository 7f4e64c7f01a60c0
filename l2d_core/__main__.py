"""python -m l2d_core: hands over to the command line."""

import sys

from l2d_core.cli.commands import main

if __name__ == "__main__":
    sys.exit(main())
