"""Questions with known answers: figures, comparisons, tuning from judgments, a pytest fixture.

Everything here measures engines and never changes one. Begin with `evaluate.py`; `metrics.py` holds
the formulas, `tune.py` learns weights.
"""
