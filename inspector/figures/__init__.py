"""Figures that only the pages show, worked out of a trace by pure functions."""
