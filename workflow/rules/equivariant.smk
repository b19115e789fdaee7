# The equivariant structured SVM.


rule evaluate_vicinal_risk:
    output:
        values="data/results/vicinal_risk/values.json",
        example="data/results/vicinal_risk/example.csv",
        spreads="data/results/vicinal_risk/spreads.csv",
    log:
        "logs/evaluate_vicinal_risk.log",
    benchmark:
        "logs/benchmarks/evaluate_vicinal_risk.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/vicinal_risk/evaluate.py"),
        seed=config["seed"],
        trials=config["vicinal_risk"]["trials"],
    message:
        "losses whose supremum bounds the vicinal risk"
    script:
        "../reproduction/experiments/vicinal_risk/evaluate.py"
