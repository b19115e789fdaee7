"""Tools of the Snakemake workflow: configuration, digests, notebooks, logs."""
