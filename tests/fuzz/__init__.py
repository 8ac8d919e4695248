"""Random data and settings against tests/reference. Every case is a function of its seed.

python -m tests.fuzz.run --seed 12345     repeats one case
python -m tests.fuzz.run --minutes 20     runs new ones
"""
