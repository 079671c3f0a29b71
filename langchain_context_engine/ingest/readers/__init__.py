"""Readers of files: one format each; `ingest/reading.py` names them."""
