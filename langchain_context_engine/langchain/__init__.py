"""The LangChain faces: retriever, runnable, tool and middleware over anything that builds contexts.

What a call may ask is checked in `calls.py`, for all of them. Nothing here ranks or packs. Begin with
`runnable.py`.
"""
