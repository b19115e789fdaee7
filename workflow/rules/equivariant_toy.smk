# Rings in the plane, learned from one point each.


rule evaluate_equivariant_toy:
    output:
        values="data/results/equivariant_toy/values.json",
        triples="data/results/equivariant_toy/triples.csv",
        degrees="data/results/equivariant_toy/degrees.csv",
        points="data/results/equivariant_toy/points.csv",
        regions="data/results/equivariant_toy/regions.npz",
    log:
        "logs/evaluate_equivariant_toy.log",
    benchmark:
        "logs/benchmarks/evaluate_equivariant_toy.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        **config["equivariant_toy"],
        library=library_digest("workflow/reproduction/experiments/equivariant_toy/evaluate.py"),
        seed=config["seed"],
    message:
        "three classes from one point each, with growing ranges of rotation"
    script:
        "../reproduction/experiments/equivariant_toy/evaluate.py"
