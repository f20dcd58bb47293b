"""``python -m fairbound`` is the command line."""

import sys

from fairbound.cli import main

if __name__ == "__main__":
    sys.exit(main())
