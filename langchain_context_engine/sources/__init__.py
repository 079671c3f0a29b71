"""What a question can be asked of: a source has a name and `fetch(request)`.

Begin with `chroma.py`, or with `given.py` for a short one; `asking.py` says who is asked for how much.
"""
