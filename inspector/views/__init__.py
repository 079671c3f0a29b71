"""The pages: one a file, each with the function `show` that draws it."""
