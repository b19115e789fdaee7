# Section 3.2: structured output ranking.


rule evaluate_ranking_oracle:
    output:
        values="data/results/ranking_oracle/values.json",
        timings="data/results/ranking_oracle/timings.json",
    log:
        "logs/evaluate_ranking_oracle.log",
    benchmark:
        "logs/benchmarks/evaluate_ranking_oracle.tsv"
    # All threads, so that nothing else runs while it measures.
    threads: workflow.cores
    resources:
        mem_mb=8000,
        runtime=20,
    params:
        library=library_digest("workflow/scripts/evaluate_ranking_oracle.py"),
        seed=config["seed"],
        largest=config["ranking_oracle"]["largest"],
        levels=config["ranking_oracle"]["levels"],
        training=config["ranking_oracle"]["training"],
        problems=config["ranking_oracle"]["problems"],
    message:
        "ranking oracle against brute force, numpy's sort and the clock"
    script:
        "../scripts/evaluate_ranking_oracle.py"


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
