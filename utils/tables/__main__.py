"""`python -m utils.tables PAGE ...`: writes the figures of stored reports into pages."""

from __future__ import annotations

import sys

from utils.tables import main

sys.exit(main())
