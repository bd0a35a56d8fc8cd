"""`python -m hub` is the `hub` command."""

import sys

from hub.cli.main import main

sys.exit(main())
