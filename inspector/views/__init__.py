"""One file a page: each calls a pure function and draws its rows. Streamlit runs them, nothing imports."""
