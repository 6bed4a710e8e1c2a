"""``python -m host`` and the console script ``agent-host``."""

import sys

from host.cli import main

if __name__ == "__main__":
    sys.exit(main())
