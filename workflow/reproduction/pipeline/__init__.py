"""What the Snakemake workflow needs: configuration, digests, notebooks, logs."""
