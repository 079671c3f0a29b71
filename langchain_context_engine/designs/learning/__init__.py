"""The learning design: `LearningMemoryAssembler`. `assembler.py` reads from top to bottom as the document does."""
