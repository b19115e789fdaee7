# ermlab: every figure and table of the three works, from the data to the book.
#
#   snakemake                   the whole report, reports/html/index.html
#   snakemake T-fig-2.1         one exhibit (the ids stand in config/exhibits.yaml)
#   snakemake --config scale=smoke
#
# The stages of every experiment: acquire -> prepare -> train -> evaluate -> narrate -> check -> publish.

from snakemake.utils import min_version

min_version("9.20")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"


rule all:
    default_target: True
    input:
        "reports/html/index.html",
        "reports/claims.json",


include: "workflow/rules/data.smk"
include: "workflow/rules/foundations.smk"
include: "workflow/rules/joint_kernel_support.smk"
include: "workflow/rules/ranking.smk"
include: "workflow/rules/movie_watching.smk"
include: "workflow/rules/laplacian_kcca.smk"
include: "workflow/rules/drug_stroop.smk"
include: "workflow/rules/ksupport.smk"
include: "workflow/rules/graph_kernels.smk"
include: "workflow/rules/own_fmri.smk"
include: "workflow/rules/subwindow_search.smk"
include: "workflow/rules/taxonomies.smk"
include: "workflow/rules/flowers_taxonomy.smk"
include: "workflow/rules/text_taxonomy.smk"
include: "workflow/rules/equivariant.smk"
include: "workflow/rules/equivariant_toy.smk"
include: "workflow/rules/aerial_cars.smk"
include: "workflow/rules/pedestrians.smk"
include: "workflow/rules/cell_films.smk"
include: "workflow/rules/tracking.smk"
include: "workflow/rules/cheap_data.smk"
include: "workflow/rules/transfer.smk"
include: "workflow/rules/active_learning.smk"
include: "workflow/rules/partial_annotation.smk"
include: "workflow/rules/report.smk"


library.keep()  # the rules have asked for all digests by now


onstart:
    guard_jobs()
    lift_job_rate_limit()


onsuccess:
    write_workflow_report()
