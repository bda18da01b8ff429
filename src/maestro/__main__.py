"""`python -m maestro`, where the script is not installed."""

import sys

from maestro.cli import main

sys.exit(main())
