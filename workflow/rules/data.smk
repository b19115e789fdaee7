# Acquire: each data set goes to data/raw/<dataset>, with a receipt that says where it came from.


rule acquire_dataset:
    output:
        receipt="data/receipts/{dataset}.json",
    log:
        "logs/acquire_dataset/{dataset}.log",
    benchmark:
        "logs/benchmarks/acquire_dataset/{dataset}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/acquire/run.py"),
        row=lambda wildcards: asdict(registry[wildcards.dataset]),
        simulator=lambda wildcards: function_digest(registry[wildcards.dataset].simulator),
        policy=config["data"],
        seed=config["seed"],
        size=config["scale"],
    message:
        "the data set {wildcards.dataset}"
    script:
        "../reproduction/acquire/run.py"
