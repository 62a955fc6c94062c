"""``python -m rankwright`` is the ``rankwright`` command."""

import sys

from rankwright.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
