# Structured learning from cheap data.


rule evaluate_partial_bound:
    output:
        values="data/results/partial_bound/values.json",
        curves="data/results/partial_bound/curves.csv",
    log:
        "logs/evaluate_partial_bound.log",
    benchmark:
        "logs/benchmarks/evaluate_partial_bound.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/scripts/evaluate_partial_bound.py"),
        seed=config["seed"],
        problems=config["partial_bound"]["problems"],
        draws=config["partial_bound"]["draws"],
    message:
        "Evaluate: the generalisation bound of partial annotations on simulated problems"
    script:
        "../scripts/evaluate_partial_bound.py"
