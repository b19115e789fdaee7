"""What the Snakemake workflow needs beside the methods: configuration, digests, notebooks, logs."""
