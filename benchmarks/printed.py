"""Figures as the five papers print them, with which reproductions are compared.

Seeger (2007) prints the same tables as Seeger (2008), which is quoted. The text of Ratliff & Bagnell (2007) that is
at hand has lost its digits, so it has no figures here.
"""

from dataclasses import dataclass

# Seeger (2008), Section 6.2, and Seeger (2007), Section 6.1: test error on satimage in percent. The names are ours;
# in the papers: mc-sep, mc-tied, mc-semi and 1rest. In brackets is the spread that the paper prints.
SATIMAGE = {
    "separate": ("7.95 (0.15)", "7.81"),
    "shared": ("8.35 (0.20)", "8.37"),
    "scaled": ("8.10 (0.13)", "-"),
    "one against rest": ("8.00 (0.10)", "8.01"),
}
# Seeger (2008), Section 6.3: test error on usps, over five runs.
USPS = "4.77 (0.18)"

PATENT_METHODS = ("F1", "H1", "F2", "H2")
PATENT_SCORES = ("acc %", "prec %", "taxo", "taxo[0-1]", "pacc %", "pacc[0-1] %")
# Seeger (2008), Table 1: for each method the scores above.
PATENTS = {
    "D": {
        "F1": (40.0, 52.4, 1.19, 1.20, 64.6, 63.5),
        "H1": (40.6, 54.1, 1.11, 1.12, 67.0, 67.1),
        "F2": (39.7, 52.2, 1.18, 1.22, 64.4, 62.6),
        "H2": (40.8, 54.3, 1.11, 1.12, 67.1, 67.0),
    },
    "E": {
        "F1": (33.0, 45.1, 1.39, 1.43, 56.0, 54.0),
        "H1": (34.2, 47.1, 1.31, 1.33, 59.1, 58.2),
        "F2": (32.8, 45.0, 1.38, 1.44, 56.2, 53.5),
        "H2": (34.1, 47.1, 1.31, 1.34, 59.2, 57.9),
    },
}


@dataclass(frozen=True)
class PatentSeconds:
    """Seeger (2008), Table 2: seconds of the final fit and of one fold of an evaluation, by method."""

    final: dict[str, float]
    fold: dict[str, float]


PATENT_SECONDS = {
    "A": PatentSeconds({"F1": 2030.0, "H1": 3873.0}, {"F1": 573.0, "H1": 598.0}),
    "B": PatentSeconds({"F1": 3751.0, "H1": 8657.0}, {"F1": 873.0, "H1": 1720.0}),
    "C": PatentSeconds({"F1": 4237.0, "H1": 7422.0}, {"F1": 719.0, "H1": 1326.0}),
    "D": PatentSeconds({"F1": 56.3, "H1": 118.5}, {"F1": 9.32, "H1": 20.2}),
    "E": PatentSeconds({"F1": 131.5, "H1": 203.4}, {"F1": 32.2, "H1": 49.6}),
    "F": PatentSeconds({"F1": 1202.0, "H1": 2871.0}, {"F1": 426.0, "H1": 568.0}),
    "G": PatentSeconds({"F1": 1342.0, "H1": 2947.0}, {"F1": 232.0, "H1": 579.0}),
    "H": PatentSeconds({"F1": 971.7, "H1": 1052.0}, {"F1": 146.0, "H1": 230.0}),
}

# Cawley & Talbot (2008), Tables 1 to 3, each mean with its standard error: test error in percent, seconds of model
# selection, information in bits. The papers' Diabetes is `diabetis` here.
RAETSCH_COLUMNS = ("LOO-KLR", "KLR", "L-GPC", "EP-GPC")
RAETSCH_FURTHER = ("LOO-KFD", "SVM", "KFD")
RAETSCH_ERRORS = {
    "banana": ((10.6, 0.05), (10.5, 0.05), (10.4, 0.05), (10.4, 0.05), (10.4, 0.04), (11.5, 0.07), (10.8, 0.05)),
    "breast_cancer": (
        (26.6, 0.47),
        (26.5, 0.49),
        (26.5, 0.48),
        (26.5, 0.49),
        (26.3, 0.42),
        (26.0, 0.47),
        (25.8, 0.46),
    ),
    "diabetis": ((23.4, 0.18), (23.5, 0.16), (23.3, 0.18), (23.3, 0.18), (23.1, 0.18), (23.5, 0.17), (23.2, 0.16)),
    "flare_solar": ((34.3, 0.17), (34.2, 0.16), (34.2, 0.18), (34.2, 0.21), (34.2, 1.16), (32.4, 0.18), (33.2, 0.17)),
    "german": ((23.5, 0.21), (23.5, 0.21), (23.4, 0.21), (23.4, 0.21), (23.6, 0.20), (23.6, 0.21), (23.7, 0.22)),
    "heart": ((16.6, 0.31), (16.6, 0.31), (16.4, 0.28), (16.7, 0.29), (15.9, 0.35), (16.0, 0.33), (16.1, 0.34)),
    "image": ((3.1, 0.13), (3.1, 0.11), (2.8, 0.10), (2.8, 0.12), (4.0, 0.06), (3.0, 0.06), (3.3, 0.06)),
    "ringnorm": ((1.6, 0.02), (1.6, 0.01), (5.9, 0.08), (4.4, 0.06), (1.4, 0.08), (1.7, 0.01), (1.5, 0.01)),
    "splice": ((11.2, 0.18), (11.2, 0.17), (12.3, 0.18), (11.6, 0.18), (10.8, 0.07), (10.9, 0.07), (10.5, 0.06)),
    "thyroid": ((4.3, 0.21), (4.7, 0.21), (4.5, 0.21), (4.4, 0.22), (4.5, 0.20), (4.8, 0.22), (4.2, 0.21)),
    "titanic": ((22.6, 0.10), (22.6, 0.09), (22.6, 0.13), (22.6, 0.13), (22.3, 0.12), (22.4, 0.10), (23.2, 0.20)),
    "twonorm": ((2.9, 0.03), (2.9, 0.03), (3.1, 0.04), (3.1, 0.03), (2.7, 0.02), (3.0, 0.02), (2.6, 0.02)),
    "waveform": ((9.9, 0.04), (9.9, 0.04), (10.0, 0.04), (10.1, 0.05), (9.7, 0.04), (9.9, 0.04), (9.9, 0.04)),
}
RAETSCH_SECONDS = {
    "banana": ((37.5, 1.231), (199.1, 7.995), (44.6, 0.587), (916.9, 20.51)),
    "breast_cancer": ((5.4, 0.210), (28.7, 1.030), (16.0, 0.269), (126.2, 1.919)),
    "diabetis": ((37.9, 0.939), (201.9, 5.803), (111.5, 1.746), (1129.2, 22.10)),
    "flare_solar": ((90.1, 4.703), (429.6, 22.33), (273.7, 3.610), (3108.9, 75.08)),
    "german": ((99.5, 2.687), (531.8, 12.03), (566.9, 6.853), (3760.4, 67.04)),
    "heart": ((3.1, 0.092), (18.2, 0.645), (18.5, 0.227), (116.6, 2.177)),
    "image": ((832.6, 94.82), (4537.5, 168.0), (3643.6, 378.3), (25764.9, 2314)),
    "ringnorm": ((60.9, 1.948), (359.9, 6.555), (216.8, 3.825), (1544.7, 43.35)),
    "splice": ((237.4, 10.84), (1325.7, 74.08), (4054.2, 122.72), (12653.7, 1480)),
    "thyroid": ((5.2, 0.348), (21.6, 0.839), (9.0, 0.278), (133.4, 4.049)),
    "titanic": ((3.3, 0.192), (11.5, 0.447), (5.1, 0.053), (83.8, 2.669)),
    "twonorm": ((46.7, 1.218), (270.0, 7.240), (245.6, 3.722), (1302.0, 45.05)),
    "waveform": ((46.5, 0.998), (260.2, 6.509), (222.0, 2.263), (1145.2, 35.38)),
}
RAETSCH_INFORMATION = {
    "banana": ((0.648, 0.002), (0.653, 0.001), (0.647, 0.001), (0.655, 0.001)),
    "breast_cancer": ((0.222, 0.007), (0.223, 0.007), (0.228, 0.006), (0.227, 0.007)),
    "diabetis": ((0.306, 0.003), (0.306, 0.003), (0.312, 0.003), (0.311, 0.003)),
    "flare_solar": ((0.172, 0.002), (0.172, 0.002), (0.174, 0.002), (0.174, 0.002)),
    "german": ((0.294, 0.004), (0.296, 0.004), (0.297, 0.004), (0.298, 0.004)),
    "heart": ((0.421, 0.007), (0.424, 0.007), (0.425, 0.007), (0.421, 0.008)),
    "image": ((0.876, 0.005), (0.875, 0.005), (0.671, 0.010), (0.881, 0.004)),
    "ringnorm": ((0.930, 0.002), (0.932, 0.001), (0.613, 0.001), (0.757, 0.003)),
    "splice": ((0.613, 0.004), (0.613, 0.004), (0.532, 0.001), (0.589, 0.003)),
    "thyroid": ((0.806, 0.023), (0.837, 0.012), (0.708, 0.012), (0.858, 0.006)),
    "titanic": ((0.182, 0.011), (0.242, 0.004), (0.257, 0.002), (0.256, 0.002)),
    "twonorm": ((0.885, 0.001), (0.886, 0.001), (0.872, 0.001), (0.880, 0.001)),
    "waveform": ((0.675, 0.001), (0.675, 0.001), (0.654, 0.001), (0.668, 0.001)),
}


@dataclass(frozen=True)
class TrainingTimes:
    """Memisevic (2006), Tables 1 and 2, for one set: size, kernel, test error and seconds by lambda / N."""

    n_train: int
    n_test: int
    n_inputs: int
    n_classes: int
    sigma_squared: float
    error: float
    gradient_seconds: tuple[float, ...]
    smo_seconds: tuple[float, ...]


LAMBDAS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # over the number of rows
TRAINING_TIMES = {
    "wine": TrainingTimes(
        *(120, 58, 13, 3, 10.0, 1.72),
        (26.47, 13.92, 4.66, 1.46, 1.08, 0.70, 0.44),
        (12.39, 6.50, 1.44, 0.39, 0.38, 0.26, 0.24),
    ),
    "glass": TrainingTimes(
        *(130, 84, 9, 7, 10.0, 20.24),
        (38.37, 23.96, 1.12, 4.02, 1.66, 1.36, 0.89),
        (93.03, 7.64, 0.93, 0.58, 0.30, 0.30, 0.28),
    ),
    "segment": TrainingTimes(
        # The paper prints 0.0395, a share where the other sets have percent.
        *(1500, 810, 19, 7, 0.1, 3.95),
        (1169.4, 782.7, 681.4, 441.5, 259.5, 237.5, 186.9),
        (39.33, 63.56, 27.70, 28.06, 28.41, 27.53, 27.90),
    ),
}
# Memisevic (2006), Section 5: test error on letter, in percent, after a little over two days.
LETTER_ERROR = 4.7
# Memisevic (2006), Figure 1: learning curves on 5000 digits.
CURVE_LAMBDAS = (0.01, 0.1, 1.0)
CURVE_ROWS, CURVE_SIGMA_SQUARED = 5000, 128.0
