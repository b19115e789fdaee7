# Acquire: each data set goes to data/raw/<dataset>, with a receipt that says where it came from.


def attempt(wildcards):
    """Tell Snakemake to acquire again what it could not get last time, or what has since vanished."""
    receipt = Path(f"data/receipts/{wildcards.dataset}.json")
    if not receipt.exists():
        return None
    folder = read_json(receipt)["folder"]
    return None if folder and Path(folder).is_dir() else receipt.stat().st_mtime_ns


rule acquire_dataset:
    output:
        receipt="data/receipts/{dataset}.json",
    log:
        "logs/acquire_dataset/{dataset}.log",
    benchmark:
        "logs/benchmarks/acquire_dataset/{dataset}.tsv"
    params:
        library=library_digest("workflow/scripts/acquire_dataset.py"),
        row=lambda wildcards: asdict(registry[wildcards.dataset]),
        policy=config["data"],
        seed=config["seed"],
        size=config["scale"],
        attempt=attempt,
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    message:
        "Acquire the data set {wildcards.dataset}"
    script:
        "../scripts/acquire_dataset.py"
