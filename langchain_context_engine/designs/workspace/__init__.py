"""The workspace design: `WorkspaceContextBuilder`. `builder.py` reads from top to bottom as the document does."""
