"""`python -m minertia.cli`."""

import sys

from minertia.cli import main

sys.exit(main())
