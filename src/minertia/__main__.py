"""`python -m minertia`: the command line."""

import sys

from minertia.cli import main

sys.exit(main())
