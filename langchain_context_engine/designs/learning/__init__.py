"""The learning design; its main file reads from top to bottom as the document does."""
