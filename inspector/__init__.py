"""The inspector: see in one look why a context is as it is, turn the weights, and see what would change.

`app.py` is what Streamlit runs. The modules beside it compute rows, charts and texts and know nothing of
Streamlit, `state.py` and `cards.py` excepted; `views/` has one file a page, and a page only draws.
"""
