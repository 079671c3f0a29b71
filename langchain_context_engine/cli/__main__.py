"""`python -m langchain_context_engine.cli`, where the command itself is not on the path."""

from __future__ import annotations

import sys

from langchain_context_engine.cli import main

sys.exit(main())
