"""`python -m hub` is the `hub` command."""

import sys

from hub.cli.command import main

sys.exit(main())
