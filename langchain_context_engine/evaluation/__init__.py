"""Questions with known answers: figures, comparisons, tuning from judgments, a pytest fixture.

Everything here asks engines and never changes one. Begin with `evaluate.py`; `metrics.py` holds
the formulas, `tune.py` learns weights, `not_offered.py` says of one record why a question did not get it.
"""
