"""Run a section's notebook with papermill (rules narrate_*)."""

from reproduction.pipeline.logs import output_to
from reproduction.pipeline.notebook import run_notebook

if "snakemake" in globals():
    with output_to(snakemake.log.text):
        run_notebook(
            snakemake.input.notebook,
            snakemake.output.notebook,
            snakemake.params.parameters,
            log=snakemake.log.notebook,
        )
