"""`python -m hub` is the `hub` command."""

import sys

from hub.cli import main

sys.exit(main())
