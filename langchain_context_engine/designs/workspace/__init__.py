"""The workspace design: `WorkspaceContextBuilder`. `builder.py` reads top to bottom as the document."""
