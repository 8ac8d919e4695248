"""docs/reproduction.md: tables and figures of the five papers, ours beside the print, from stored results.

python benchmarks/reproduction.py                  run what is not current, then write the page
python benchmarks/reproduction.py --part ripley    one part, or several: --part ripley --part usps
python benchmarks/reproduction.py --stored         only write the page
python benchmarks/reproduction.py --quick          small versions of all parts, and a page of them, in build/quick
python benchmarks/reproduction.py --list           parts, whether their results are current, and minutes
"""

import page
import reproduction_tables as tables
from page import Page, Section
from parts import Part

SATIMAGE = Part(
    "satimage",
    (("satimage_tyings.py", "--partitions", "10"),),
    "satimage_tyings",
    12,
    figures=("satimage_error_reject.png",),
)
USPS = Part("usps", (("usps_subset.py", "--seeds", "5"),), "usps_subset", 10, figures=("usps_error_reject.png",))
PATENTS = tuple(
    Part(
        f"patents-{section.lower()}",
        (("hierarchies.py", "--only", f"cpc_{section}", "--methods", *methods),),
        "_".join(["hierarchies", "cpc", section, *methods]),
        minutes,
    )
    for section, methods, minutes in (("D", ("F1", "H1", "F2", "H2"), 4), ("E", ("F1", "H1", "H2"), 4))
)
PATENT_SECONDS = (
    Part(
        "patent-seconds",
        (("hierarchy_cost.py", "--only", "wipo", "--sections", *"ABCDEFGH"),),
        "hierarchy_cost_wipo",
        8,
    ),
    Part(
        "patent-folds",
        (("hierarchy_cost.py", "--only", "wipo", "--learn", "--sections", "D"),),
        "hierarchy_cost_wipo_learn",
        2,
    ),
)
RIPLEY = Part(
    "ripley",
    (("ripley_contours.py",),),
    "ripley_contours",
    2,
    figures=("ripley_model.png", "ripley_contours.png", "ripley_slices.png"),
)
RAETSCH = Part("raetsch", (("raetsch.py", "--no-peer"),), "raetsch", 12)
TRAINING_TIMES = Part("training-times", (("smo.py",),), "smo", 3)
LEARNING_CURVES = Part(
    "learning-curves", (("learning_curves.py",),), "learning_curves", 5, figures=("learning_curves.png",)
)
KERNEL_GRADIENT = Part(
    "kernel-gradient", (("kernel_gradient.py",),), "kernel_gradient", 8, figures=("kernel_gradient.png",)
)
FAST_SUMS = Part("fast-sums", (("fast_sums.py",),), "fast_sums", 10)

OPENING = """
# Reproduction of the papers

Five papers describe the methods behind logikern. This page reproduces all of their tables and figures for which data
are available, and shows our values next to the published values. It is generated from the files in
`benchmarks/results`; the last section lists the command, the date, the commit and the machine for each result.

    make reproduce                  run the parts whose results are out of date, then write this page
    make reproduce PART=ripley      run only one part (PART="ripley usps" for several parts)
    make reproduce AGAIN=1          also run the parts whose results are up to date
    make reproduce STORED=1         run nothing, and write this page from the stored results
    make reproduce-quick            run small versions of all parts in under a minute, and write to build/quick

A result is up to date if it was computed with the current code and settings; changes to comments and documentation do
not count. If a run is interrupted, the next run continues with the parts that are out of date. The data are read from
the folder that the environment variable `LOGIKERN_DATA` names; they are not part of the repository. All random
choices are seeded. Times depend on the machine and its load; scores do not.

| paper | table or figure | section of this page |
|---|---|---|
| Seeger (2008) | Figures 1 and 2, Table 3 | not reproduced: drawings and notation |
| | Section 6.2, Figure 3 (satimage) | [satimage](#satimage-seeger-2008-section-62) |
| | Section 6.3, Figure 4 (USPS) | [usps](#usps-seeger-2008-section-63) |
| | Table 1 (patents, scores) | \
[sections D and E, with other texts](#patents-scores-seeger-2008-table-1); the texts of WIPO-alpha are not available |
| | Table 2 (patents, running times) | \
[the same trees with random words](#patents-running-times-seeger-2008-table-2) |
| Seeger (2007) | Section 6.1 (satimage) | [satimage](#satimage-seeger-2008-section-62) |
| | Tables 1 and 2 | the same as in Seeger (2008) |
| Cawley & Talbot (2008) | Figures 1 to 3 | [Ripley's data](#ripleys-data-cawley-and-talbot-2008-figures-1-to-3) |
| | Tables 1 to 3 | [seven of the thirteen data sets](#raetschs-data-sets-cawley-and-talbot-2008-tables-1-to-3); \
breast cancer, german, image, ringnorm, splice and twonorm are not available |
| Memisevic (2006) | Tables 1 and 2, letter | \
[wine, glass, segment, letter](#training-times-memisevic-2006-tables-1-and-2); vehicle is not available |
| | Figure 1 | [learning curves](#learning-curves-memisevic-2006-figure-1) |
| Ratliff & Bagnell (2007) | Figure 1, left and right; Table 1 | \
[iterations](#iterations-ratliff-and-bagnell-2007-figure-1-and-table-1); the numbers \
are missing from our copy of the paper; spam and soil are not available |
| | Figure 1, third column (KD-trees) | [fast sums](#fast-sums-ratliff-and-bagnell-2007-figure-1), on other data |

Some formulas in the papers contain misprints; [notation](notation.md) lists them.
"""

PAGE = Page(
    "reproduction.md",
    "reproduce",
    OPENING,
    (
        Section("satimage: Seeger (2008), Section 6.2", (SATIMAGE,), tables.satimage),
        Section("usps: Seeger (2008), Section 6.3", (USPS,), tables.usps),
        Section("Patents, scores: Seeger (2008), Table 1", PATENTS, tables.patents),
        Section("Patents, running times: Seeger (2008), Table 2", PATENT_SECONDS, tables.patent_seconds),
        Section("Ripley's data: Cawley and Talbot (2008), Figures 1 to 3", (RIPLEY,), tables.ripley),
        Section("Raetsch's data sets: Cawley and Talbot (2008), Tables 1 to 3", (RAETSCH,), tables.raetsch),
        Section("Training times: Memisevic (2006), Tables 1 and 2", (TRAINING_TIMES,), tables.training_times),
        Section("Learning curves: Memisevic (2006), Figure 1", (LEARNING_CURVES,), tables.learning_curves),
        Section(
            "Iterations: Ratliff and Bagnell (2007), Figure 1 and Table 1", (KERNEL_GRADIENT,), tables.kernel_gradient
        ),
        Section("Fast sums: Ratliff and Bagnell (2007), Figure 1", (FAST_SUMS,), tables.fast_sums),
    ),
)


if __name__ == "__main__":
    page.main(PAGE, __doc__)
