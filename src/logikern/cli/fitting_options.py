"""The options of `logikern fit`."""

from typing import Annotated

import typer

from logikern.cli.options import CriterionName, KernelName, OperatorName, Precision, Tying

_COLUMNS, _MODEL, _LEARNING, _COMPUTATION = "Columns", "Model", "Learning", "Computation"

OutOption = Annotated[
    str | None, typer.Option("--out", "-o", help="The model file to write (default: DATA with the suffix .skops).")
]
TargetOption = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COL", help="The column with the classes.")
]
TextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COL",
        help="Prose: tf-idf, and a linear kernel. Repeatable.",
        rich_help_panel=_COLUMNS,
    ),
]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COL",
        help="Take numbers as levels. Repeatable.",
        rich_help_panel=_COLUMNS,
    ),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="COL", help="Leave a column out. Repeatable.", rich_help_panel=_COLUMNS),
]
WeightOption = Annotated[
    str | None,
    typer.Option("--weight", metavar="COL", help="Weights of the rows.", rich_help_panel=_COLUMNS),
]
DropOption = Annotated[
    bool,
    typer.Option("--drop-missing-target", help="Leave out rows without target.", rich_help_panel=_COLUMNS),
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COL",
        help="Rows of one group are held out together (patients, documents); no input.",
        rich_help_panel=_COLUMNS,
    ),
]
KernelOption = Annotated[
    KernelName | None,
    typer.Option(
        "--kernel",
        metavar="NAME",
        help=f"{', '.join(KernelName)} (default: gaussian; linear for text and wide svmlight).",
        rich_help_panel=_MODEL,
    ),
]
HierarchyOption = Annotated[
    str,
    typer.Option(
        "--hierarchy",
        metavar="auto|none|FILE",
        help="The tree of the classes: from targets such as 'science/physics', or from a file of child and parent.",
        rich_help_panel=_MODEL,
    ),
]
TyingOption = Annotated[
    Tying | None,
    typer.Option(
        "--tying", help="How classes share kernels; level and subtree are for trees.", rich_help_panel=_MODEL
    ),
]
RateOption = Annotated[
    float | None,
    typer.Option("--rate", help="Inverse squared length scale of the kernel.", rich_help_panel=_MODEL),
]
VarianceOption = Annotated[
    float | None,
    typer.Option("--variance", help="Prior variance of the latent functions.", rich_help_panel=_MODEL),
]
BiasVarianceOption = Annotated[
    float | None,
    typer.Option("--bias-variance", help="Prior variance of the class biases.", rich_help_panel=_MODEL),
]
ClassWeightOption = Annotated[
    str | None,
    typer.Option("--class-weight", help="'balanced' or LABEL=WEIGHT,...", rich_help_panel=_MODEL),
]
FixedOption = Annotated[
    bool,
    typer.Option("--fixed", help="Learn no hyperparameters: as given, else by rule.", rich_help_panel=_LEARNING),
]
CriterionOption = Annotated[
    CriterionName | None,
    typer.Option(
        "--criterion",
        help="Learn by cross-validation, by leave-one-out, or by the cheaper one (default: cv).",
        rich_help_panel=_LEARNING,
    ),
]
MaxTimeOption = Annotated[
    float | None,
    typer.Option(
        "--max-time",
        metavar="SECONDS",
        help="Search no longer; the best by then is used.",
        rich_help_panel=_LEARNING,
    ),
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="PATH",
        help="Write the search down as it goes; a fit that was killed resumes from it.",
        rich_help_panel=_LEARNING,
    ),
]
FoldsOption = Annotated[
    int | None,
    typer.Option("--cv", metavar="N", help="Folds of the cross-validation (default: 5).", rich_help_panel=_LEARNING),
]
RelevanceOption = Annotated[
    bool | None,
    typer.Option("--ard/--no-ard", help="A rate per input (default: if it helps).", rich_help_panel=_LEARNING),
]
SharpenOption = Annotated[
    bool | None,
    typer.Option(
        "--sharpen/--no-sharpen",
        help="Learn how sharp probabilities should be (default: for text).",
        rich_help_panel=_LEARNING,
    ),
]
LearnBiasOption = Annotated[
    bool, typer.Option("--learn-bias", help="Learn the variance of the biases too.", rich_help_panel=_LEARNING)
]
SearchSizeOption = Annotated[
    str | None,
    typer.Option(
        "--search-size",
        metavar="N",
        help="Rows that the search sees at most, or 'all' (default: 2000). The final fit has all.",
        rich_help_panel=_LEARNING,
    ),
]
StartsOption = Annotated[
    int | None, typer.Option("--n-starts", help="Starts of the search (default: 1).", rich_help_panel=_LEARNING)
]
SolverOption = Annotated[
    str | None, typer.Option("--solver", help="auto, newton, exact, kcg or smo.", rich_help_panel=_COMPUTATION)
]
OperatorOption = Annotated[
    OperatorName | None,
    typer.Option("--operator", help="How kernel products are computed.", rich_help_panel=_COMPUTATION),
]
PrecisionOption = Annotated[
    Precision | None,
    typer.Option("--precision", help="Of the kernel products.", rich_help_panel=_COMPUTATION),
]
JobsOption = Annotated[
    int | None,
    typer.Option("--n-jobs", help="Most threads (default: all that the BLAS may use).", rich_help_panel=_COMPUTATION),
]
MemoryLimitOption = Annotated[
    str | None,
    typer.Option("--memory-limit", help="For example 1GB.", rich_help_panel=_COMPUTATION),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of every random choice.", rich_help_panel=_COMPUTATION)]
TestFractionOption = Annotated[
    float | None,
    typer.Option("--test-fraction", help="Hold out this share of the rows and report on it."),
]
