"""The learning design: `LearningMemoryAssembler`. `assembler.py` reads top to bottom as the document."""
