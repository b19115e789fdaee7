"""Train and test the trackers of table 1.1 on more films of a laboratory (rule train_trackers_on_films)."""

from ast import literal_eval

import pandas as pd

from ermlab.tracking.films import CellFilm
from reproduction.experiments.tracking.measures import average_losses
from reproduction.experiments.tracking.protocol import Settings, Tuning, run_trackers, successive_studies
from reproduction.experiments.tracking.train import error_table
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, cell_type: str, pairs: int | None, settings: Settings) -> None:
    """Write the loss of each tracker, with the parameters that were chosen on the first training film.

    Each film but the last is the training film of a repetition, and the next one its test film.

    Parameters
    ----------
    inputs, outputs : mapping
        Films, and the tuning of the first one of the laboratory; the file of losses.
    cell_type : {"nuclei", "migration"}
        Which of the weights set by hand are used.
    pairs : int or None
        Maximum number of pairs of frames of either part.
    settings : Settings
        Accuracy of training.
    """
    tuning = read_tuning(inputs["tuning"])
    losses = []
    for number, study in enumerate(successive_studies(map(CellFilm.read, inputs["films"]), pairs)):
        errors = error_table(study, run_trackers(study, cell_type, settings, tuning, peer=False))
        of_film = average_losses(errors[errors["part"] == "test"]).rename("loss").rename_axis("method")
        losses.append(of_film.reset_index().assign(repetition=number))
        print(of_film.round(3).to_dict(), flush=True)
    pd.concat(losses).to_csv(outputs["losses"], index=False, lineterminator="\n")


def read_tuning(path: str) -> Tuning:
    """Read the held-out errors that the training on the first film has written."""
    rows = pd.read_csv(path, dtype={"parameter": str}).to_dict("records")
    return Tuning([{**row, "parameter": literal_eval(row["parameter"])} for row in rows])


if "snakemake" in globals():
    run_stage(main, snakemake)
