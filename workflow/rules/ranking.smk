# Section 3.2: structured output ranking.


rule evaluate_ranking_bounds:
    output:
        values="data/results/ranking_bounds/values.json",
        excess="data/results/ranking_bounds/excess.csv",
        ratios="data/results/ranking_bounds/ratios.csv",
        changes="data/results/ranking_bounds/changes.csv",
    log:
        "logs/evaluate_ranking_bounds.log",
    benchmark:
        "logs/benchmarks/evaluate_ranking_bounds.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/scripts/evaluate_ranking_bounds.py"),
        seed=config["seed"],
        trials=config["ranking_bounds"]["trials"],
    message:
        "generalisation bounds of ranking, and measured stability against them"
    script:
        "../scripts/evaluate_ranking_bounds.py"
