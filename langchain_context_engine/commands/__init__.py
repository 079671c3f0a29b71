"""The commands of `context-engine`, one file each; `cli.py` gathers them.

Each loads what it needs when it runs, so that `--help` answers at once.
"""
