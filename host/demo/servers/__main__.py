"""``python -m host.demo.servers NAME``: the console script without an installation."""

import sys

from host.demo.servers import main

if __name__ == "__main__":
    sys.exit(main())
