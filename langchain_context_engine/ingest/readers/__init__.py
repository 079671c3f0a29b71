"""Readers of files: one format each; `ingest/formats.py` names them."""
