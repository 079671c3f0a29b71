"""The record of an answer: `Context`, assembling it, writing it, why, replay, diff, what-if.

What was recorded is answered from here without a store. Sources and engines are not known. Begin with
`assemble.py`, then `context.py`; `replay.py` replays, `explain.py` tells, `what_if.py` tries.
"""
