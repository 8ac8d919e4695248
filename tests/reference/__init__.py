"""A second implementation, to check the first one by: dense, slow, in double precision.

It shares no code with `logikern` and imports nothing from it. It follows the definitions in the docstrings there, by
the most direct formula: distances from differences, one matrix for all classes, refits instead of closed forms.
"""
