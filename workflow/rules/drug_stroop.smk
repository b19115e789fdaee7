# Contrast maps of two groups, which sections 4.2 and 4.3 learn from: the drug Stroop study and the Wager maps.

stroop = config["drug_stroop"]


rule prepare_contrast_part:
    input:
        receipt="data/receipts/drug_stroop.json",
    output:
        part=temp("data/processed/drug_stroop/part_{part}.npz"),
    log:
        "logs/prepare_contrast_part/{part}.log",
    benchmark:
        "logs/benchmarks/prepare_contrast_part/{part}.tsv"
    threads: 1
    resources:
        mem_mb=3000,
        runtime=120,
    params:
        library=library_digest("workflow/reproduction/experiments/fmri_studies/prepare_contrast_part.py"),
        arguments={"parts": stroop["parts"], "fwhm": stroop["fwhm"]},
    message:
        "contrast maps of the drug Stroop study, part {wildcards.part}"
    script:
        "../reproduction/experiments/fmri_studies/prepare_contrast_part.py"


rule prepare_contrast_maps:
    input:
        parts=expand("data/processed/drug_stroop/part_{part}.npz", part=range(stroop["parts"])),
    output:
        contrasts="data/processed/drug_stroop/contrasts.npz",
    log:
        "logs/prepare_contrast_maps.log",
    benchmark:
        "logs/benchmarks/prepare_contrast_maps.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        library=library_digest("workflow/reproduction/experiments/fmri_studies/prepare_contrast_maps.py"),
    message:
        "contrast maps of the drug Stroop study"
    script:
        "../reproduction/experiments/fmri_studies/prepare_contrast_maps.py"


rule prepare_group_studies:
    input:
        stroop="data/processed/drug_stroop/contrasts.npz",
        wager="data/receipts/wager2008_contrasts.json",
    output:
        stroop="data/processed/group_studies/stroop_groups.npz",
        wager="data/processed/group_studies/wager_groups.npz",
    log:
        "logs/prepare_group_studies.log",
    benchmark:
        "logs/benchmarks/prepare_group_studies.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/fmri_studies/prepare_group_studies.py"),
        pool=config["ksupport"]["pool"],
    message:
        "contrast maps of two groups as rows of voxels"
    script:
        "../reproduction/experiments/fmri_studies/prepare_group_studies.py"
