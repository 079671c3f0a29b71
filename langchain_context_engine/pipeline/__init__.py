"""The stages, one verb a file. Each takes the items of the stage before and returns new ones.

collect and expand ask the world; from rank on everything is pure. Nothing here opens a store or a
journal. Begin with `collect.py` and read on in the order of `engine.py`.
"""
