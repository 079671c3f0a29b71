"""The demo: a fictional company's memories, chat, experiences and repository, and questions about them.

The data stand in `data/`; what shows them is a command. Begin with `load.py`.
"""

from __future__ import annotations

from langchain_context_engine.demo.load import WORKSPACE_ID, DemoCollections, load_demo, require_demo
from langchain_context_engine.demo.questions import COMPANY, DEMO_QUESTIONS, NEXT_QUESTIONS, DemoQuestion
from langchain_context_engine.demo.repository import create_demo_repository

__all__ = [
    "COMPANY",
    "DEMO_QUESTIONS",
    "NEXT_QUESTIONS",
    "WORKSPACE_ID",
    "DemoCollections",
    "DemoQuestion",
    "create_demo_repository",
    "load_demo",
    "require_demo",
]
