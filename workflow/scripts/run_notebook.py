"""Run a section's notebook with papermill (rules narrate_*)."""

from ermlab.workflow.logs import output_to
from ermlab.workflow.notebook import run_notebook

if "snakemake" in globals():
    with output_to(snakemake.log.text):
        run_notebook(
            snakemake.input.notebook,
            snakemake.output.notebook,
            snakemake.params.parameters,
            log=snakemake.log.notebook,
        )
