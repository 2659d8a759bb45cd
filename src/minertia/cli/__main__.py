"""`python -m minertia.cli`."""

import sys

from minertia.cli.root import main

sys.exit(main())
