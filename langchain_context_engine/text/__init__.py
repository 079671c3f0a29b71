"""What can be said of one text: its words, sentences, pieces, tokens, what it is like, where it is cut.

Pure functions of a text. Nothing here knows of candidates' scores, templates or stores. Begin with
`units.py`, the pieces that pack chooses from, and `truncate.py`.
"""
