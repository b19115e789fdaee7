# Chapter 2: what structured learning minimises.


rule evaluate_structured_losses:
    output:
        values="data/results/structured_losses/values.json",
        curves="data/results/structured_losses/curves.csv",
    log:
        "logs/evaluate_structured_losses.log",
    benchmark:
        "logs/benchmarks/evaluate_structured_losses.tsv"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        library=library_digest("workflow/reproduction/experiments/structured_losses/evaluate.py"),
        points=config["structured_losses"]["points"],
    message:
        "the two rescaled hinge losses against the step loss"
    script:
        "../reproduction/experiments/structured_losses/evaluate.py"
