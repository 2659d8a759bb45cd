"""`python -m minertia.cli`."""

import sys

from minertia.cli.app import main

sys.exit(main())
