"""What the stored results of tables.py say: tables in markdown, and a figure of ratios by set."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from report import Report, Row
from table_peers import METHODS, NATIVE, OURS
from table_runs import Record, load_records

# Ours counts as far behind from this ratio to the best peer on.
FAR_BEHIND = 1.3
# Below this log loss the ratio of two methods is that of two certainties, and says nothing about their use.
CERTAIN = 1e-3
RESAMPLES = 10_000
INTERVAL = (2.5, 97.5)


@dataclass(frozen=True, eq=False)
class Results:
    """Stored results that belong together.

    Parameters
    ----------
    ours : str
        Label of the version that is compared.
    others : sequence of str
        Labels of further versions of ours.
    peers : sequence of str
    sets : sequence of str
        Those on which ours has results.
    seeds : dict of set to set of int
        Those of ours: a method that lacks one of them counts as missing there.
    records : dict of (set, column) to list of Record
    """

    ours: str
    others: Sequence[str]
    peers: Sequence[str]
    sets: Sequence[str]
    seeds: dict[str, set[int]]
    records: dict[tuple[str, str], list[Record]]

    def mean(self, name: str, column: str, key: str) -> float:
        """Over seeds; NaN where a seed is missing."""
        values = [
            record[key] for record in self.records.get((name, column), []) if record["seed"] in self.seeds[name]
        ]
        return float(np.mean(values)) if len(values) == len(self.seeds[name]) else np.nan

    def means(self, column: str, key: str = "log_loss") -> np.ndarray:
        """(sets,)."""
        return np.array([self.mean(name, column, key) for name in self.sets])

    def best_peers(self) -> tuple[np.ndarray, list[str]]:
        """Log loss and name of the best peer on every set."""
        table = np.array([self.means(peer) for peer in self.peers])  # (peers, sets)
        table[np.isnan(table)] = np.inf
        return table.min(axis=0), [self.peers[place] for place in table.argmin(axis=0)]


def collect(chosen: argparse.Namespace) -> Results:
    """Results of the sets and seeds that were asked for.

    Without `--native`, a peer's results are those on the matrix. Where a version of ours has results on frames and on
    the matrix, those on frames count.
    """
    records: dict[tuple[str, str], dict[int, Record]] = {}
    for run, record in sorted(load_records(chosen.store).items(), key=lambda item: item[0].inputs):
        wanted = "raw" if chosen.native and run.method in NATIVE else "prepared"
        known = run.seed in chosen.seeds and (not chosen.only or run.set in chosen.only)
        if known and "failure" not in record and (run.method == OURS or run.inputs == wanted):
            records.setdefault((run.set, run.label or run.method), {})[run.seed] = record
    columns = {column for _, column in records}
    peers = [method for method in METHODS if method in columns and method != OURS and method in chosen.methods]
    others = sorted(columns - set(METHODS) - {chosen.label})
    seeds = {name: set(by_seed) for (name, column), by_seed in records.items() if column == chosen.label}
    if not seeds or not peers:
        raise SystemExit(f"nothing to compare: {chosen.store} has no result with label {chosen.label!r}, or no peer.")
    listed = {key: list(by_seed.values()) for key, by_seed in records.items()}
    return Results(chosen.label, others, peers, sorted(seeds), seeds, listed)


def geometric_mean(ratios: np.ndarray) -> tuple[float, float, float]:
    """With an interval of 95 % by drawing sets with replacement."""
    logs = np.log(ratios)
    drawn = logs[np.random.default_rng(0).integers(len(logs), size=(RESAMPLES, len(logs)))].mean(axis=1)
    low, high = np.exp(np.percentile(drawn, INTERVAL))
    return float(np.exp(logs.mean())), float(low), float(high)


def summarise(chosen: argparse.Namespace) -> None:
    """results/NAME.md and results/NAME.json, where NAME is that of the store."""
    results = collect(chosen)
    n_seeds = {len(seeds) for seeds in results.seeds.values()}
    report = Report(chosen.store.stem)
    report.say(
        f"{len(results.sets)} sets, {'/'.join(map(str, sorted(n_seeds)))} seeds each; scores are means over seeds. "
        f"Ours is the version with label {results.ours!r}. Ratios are log losses of ours over those of the peer: "
        "below 1, ours is better. Every fit had one thread; seconds are CPU seconds, tuning included."
    )
    report.table("Ours against each peer", [against(results, peer) for peer in (*results.peers, *results.others)])
    report.table("Every method", [method_row(results, column) for column in columns_of(results)])
    report.say(verdict(results))
    report.say(f"Versions: {', '.join(versions(results))}.")
    report.table("Log loss by set, best in bold", [set_row(results, name) for name in results.sets])
    report.table("Failures", failures(chosen))
    report.write()


def versions(results: Results) -> list[str]:
    """Packages of ours and of the peers with all versions that occur among the results."""
    wanted = {results.ours, *results.peers}
    found: dict[str, set[str]] = {}
    for (_, column), own in results.records.items():
        for record in own if column in wanted else []:
            for package, version in record["versions"].items():
                found.setdefault(package, set()).add(version)
    return [f"{package} {' and '.join(sorted(found[package]))}" for package in sorted(found)]


def columns_of(results: Results) -> list[str]:
    return [results.ours, *results.others, *results.peers]


def against(results: Results, peer: str) -> Row:
    """Wins, ratio and seconds over the sets on which both have all seeds."""
    ours, theirs = results.means(results.ours), results.means(peer)
    both = ~np.isnan(theirs)
    plain = geometric_mean(ours[both] / theirs[both])
    bounded = geometric_mean(np.maximum(ours[both], CERTAIN) / np.maximum(theirs[both], CERTAIN))
    error, their_error = results.means(results.ours, "error")[both], results.means(peer, "error")[both]
    seconds = [results.means(column, "cpu_seconds")[both].sum() for column in (results.ours, peer)]
    return {
        "peer": peer,
        "sets": int(both.sum()),
        "ours lower": int((ours < theirs)[both].sum()),
        "ratio": f"{plain[0]:.3f} [{plain[1]:.3f}, {plain[2]:.3f}]",
        f"ratio, losses >= {CERTAIN:g}": f"{bounded[0]:.3f} [{bounded[1]:.3f}, {bounded[2]:.3f}]",
        "fewer errors": f"{(error < their_error).sum()} (equal {(error == their_error).sum()})",
        "seconds, ours : theirs": f"{seconds[0]:.0f} : {seconds[1]:.0f}",
    }


def method_row(results: Results, column: str) -> Row:
    """Means over the sets; seconds of one seed of all sets together."""
    found = {key: results.means(column, key) for key in ("log_loss", "error", "brier", "cpu_seconds", "seconds")}
    return {
        "method": column,
        "sets": int((~np.isnan(found["log_loss"])).sum()),
        "best of all": int((found["log_loss"] <= lowest(results)).sum()),
        "log loss": float(np.nanmean(found["log_loss"])),
        "error %": 100 * float(np.nanmean(found["error"])),
        "Brier": float(np.nanmean(found["brier"])),
        "CPU seconds": float(np.nansum(found["cpu_seconds"])),
        "wall seconds": float(np.nansum(found["seconds"])),
    }


def lowest(results: Results) -> np.ndarray:
    """Smallest log loss on every set among ours and the peers; other versions of ours do not count."""
    return np.minimum(results.means(results.ours), results.best_peers()[0])


def verdict(results: Results) -> str:
    """Ours against the best peer on each set, which is a different one from set to set."""
    ours, (best, _) = results.means(results.ours), results.best_peers()
    sentences = [f"Ours has the lowest log loss on {int((ours < best).sum())} of {len(ours)} sets."]
    for bound, words in ((CERTAIN, f"losses below {CERTAIN:g} counted as that"), (0.0, "losses as they are")):
        ratios = np.maximum(ours, bound) / np.maximum(best, bound)
        far = [place for place in np.argsort(-ratios) if ratios[place] > FAR_BEHIND]
        mean, low, high = geometric_mean(ratios)
        sentences.append(
            f"Ours over the best peer of each set, {words}: geometric mean {mean:.3f} [{low:.3f}, {high:.3f}], "
            f"median {np.median(ratios):.3f}, above {FAR_BEHIND:g} on {len(far)} sets: "
            f"{', '.join(f'{results.sets[place]} ({ratios[place]:.2f})' for place in far) or 'none'}."
        )
    return "\n".join(f"- {sentence}" for sentence in sentences)


def set_row(results: Results, name: str) -> Row:
    losses = {column: results.mean(name, column, "log_loss") for column in columns_of(results)}
    ranked = [losses[column] for column in (results.ours, *results.peers)]
    best, best_peer = np.nanmin(ranked), np.nanmin(ranked[1:])
    example = results.records[name, results.ours][0]
    return {
        "set": name,
        "rows": example["rows"],
        "classes": example["classes"],
        **{column: _bold(loss, best) for column, loss in losses.items()},
        "ours / best peer": f"{losses[results.ours] / best_peer:.2f}",
        "best peer": results.peers[int(np.nanargmin(ranked[1:]))],
    }


def _bold(loss: float, best: float) -> str:
    if np.isnan(loss):
        return "-"
    text = f"{loss:.4f}" if loss >= CERTAIN else f"{loss:.1e}"
    return f"**{text}**" if loss <= best else text


def failures(chosen: argparse.Namespace) -> list[Row]:
    """Time-outs and errors among the stored results."""
    stored = load_records(chosen.store).items()
    return [{"run": str(run), "why": record["failure"]} for run, record in stored if "failure" in record]
