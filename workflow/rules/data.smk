# Acquire: each data set goes to data/raw/<dataset>, with a receipt that says where it came from.


def registered(wildcards):
    """Return what decides about the content of a data set: its row of the registry, and its simulator."""
    row = registry[wildcards.dataset]
    return {"row": asdict(row), "simulator": library.function_digest(row.simulator)}


rule acquire_dataset:
    output:
        receipt="data/receipts/{dataset}.json",
    resources:
        runtime=60,
    params:
        dataset="{dataset}",
        policy=config["data"],
        size=config["scale"],
        tracked=registered,
    message:
        "the data set {wildcards.dataset}"
    script:
        "../reproduction/acquire/run.py"
