# Structured learning from cheap data.


rule evaluate_cccp_precision:
    output:
        values="data/results/cccp_precision/values.json",
        curves="data/results/cccp_precision/curves.csv",
        paths="data/results/cccp_precision/paths.csv",
        starts="data/results/cccp_precision/starts.csv",
        dimensions="data/results/cccp_precision/dimensions.csv",
    log:
        "logs/evaluate_cccp_precision.log",
    benchmark:
        "logs/benchmarks/evaluate_cccp_precision.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=15,
    params:
        library=library_digest("workflow/reproduction/experiments/cccp_precision/evaluate.py"),
        seed=config["seed"],
        starts=config["cccp_precision"]["starts"],
        repeats=config["cccp_precision"]["repeats"],
    message:
        "CCCP with fixed and adaptive precision on functions of one variable and more"
    script:
        "../reproduction/experiments/cccp_precision/evaluate.py"


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
        library=library_digest("workflow/reproduction/experiments/partial_bound/evaluate.py"),
        seed=config["seed"],
        problems=config["partial_bound"]["problems"],
        draws=config["partial_bound"]["draws"],
    message:
        "the generalisation bound of partial annotations on simulated problems"
    script:
        "../reproduction/experiments/partial_bound/evaluate.py"
