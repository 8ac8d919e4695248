"""A fit with a checkpoint whose every evaluation takes a while and is told: to be killed by a test.

Usage: python -m tests.tuning.slow_search CHECKPOINT [ON_INTERRUPT]
"""

import signal
import sys
import time

from sklearn.datasets import load_iris

from logikern import KernelLogisticClassifier
from logikern.criteria.cross_validation import CrossValidation

INPUTS, SPECIES = load_iris(return_X_y=True)
PAUSE = 0.04


def model(checkpoint=None, on_interrupt="raise"):
    settings = {"tying": "separate", "ard": True, "random_state": 3}
    return KernelLogisticClassifier(**settings, checkpoint=checkpoint, on_interrupt=on_interrupt)


def slow(evaluate):
    def wrapped(*arguments):
        sys.stdout.write("evaluation\n")
        sys.stdout.flush()
        time.sleep(PAUSE)
        return evaluate(*arguments)

    return wrapped


def main():
    # A shell that runs the tests in the background has them ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    CrossValidation.evaluate = slow(CrossValidation.evaluate)
    fitted = model(*sys.argv[1:]).fit(INPUTS, SPECIES)
    sys.stdout.write(f"score {fitted.score(INPUTS, SPECIES):.3f}\n")


if __name__ == "__main__":
    main()
