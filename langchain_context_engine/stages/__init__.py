"""The stages, one verb a file. Each takes the items of the stage before and returns new ones."""
