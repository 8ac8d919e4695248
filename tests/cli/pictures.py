"""Pictures with any number of labels."""

import numpy as np
import pandas as pd

LABELS = ["sea", "sky", "city"]


def pictures(n_rows=60, seed=0):
    random = np.random.default_rng(seed)
    inputs = random.standard_normal((n_rows, 2))
    latent = np.column_stack([inputs[:, 0], inputs[:, 0] + inputs[:, 1], inputs[:, 1]])
    present = (latent + 0.7 * random.logistic(size=(n_rows, 3)) > 0).astype(int)
    frame = pd.DataFrame(inputs.round(3), columns=["blue", "grey"]).assign(place=random.choice(["a", "b"], n_rows))
    return frame.assign(**dict(zip(LABELS, present.T, strict=True)))
