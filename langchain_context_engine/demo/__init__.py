"""The demo: a fictional company's memories, chat, experiences and repository, and three questions.

The data stand in `data/`; what shows them stands in `commands`. Begin with `load.py`.
"""

from __future__ import annotations

from langchain_context_engine.demo.load import WORKSPACE_ID, DemoCollections, load_demo, require_demo
from langchain_context_engine.demo.questions import DEMO_QUESTIONS, DemoQuestion
from langchain_context_engine.demo.repository import create_demo_repository

__all__ = [
    "DEMO_QUESTIONS",
    "WORKSPACE_ID",
    "DemoCollections",
    "DemoQuestion",
    "create_demo_repository",
    "load_demo",
    "require_demo",
]
