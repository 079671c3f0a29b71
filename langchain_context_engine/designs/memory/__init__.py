"""The memory design: `MemoryEngine`. `engine.py` reads from top to bottom as the document does."""
