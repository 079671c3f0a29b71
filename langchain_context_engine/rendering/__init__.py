"""How passages look: templates, citation markers, order, layout, and rewriting shorter.

What is written and counted is decided here; what is written of is decided by pack. Begin with
`templates.py`, then `layout.py`, which puts a whole text together.
"""
