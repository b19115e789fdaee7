# Acquire: each data set goes to data/raw/<dataset>, with a receipt that says where it came from.


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
