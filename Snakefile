# snakemake STUDY                                  everything that the study config/studies/STUDY.yaml asks for, and its
#                                                  companions
# snakemake train_all --config study=STUDY         a part of it: prepare_all, train_all, decode_all, score_all, tables,
#                                                  figures, analyses
# snakemake … --config config_dir=FOLDER           another configuration folder than config/
# snakemake STUDY --report results/STUDY/report.html   Snakemake's report, beside the page results/STUDY/index.html
#
# What is to be run, and the slice of the configuration that each job gets, comes from wordorder.workflow; what runs is the
# command line of wordorder. One file of rules a stage:

from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/common.smk"
include: "workflow/rules/cluster.smk"


report: str(CAPTIONS / "workflow.rst")


rule all:
    input:
        partial(target_outputs, STUDY),
    localrule: True


include: "workflow/rules/download.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/reorder.smk"
include: "workflow/rules/positions.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/decode.smk"
include: "workflow/rules/score.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/page.smk"


# Milestones, of the study given by --config study=NAME.


rule prepare_all:
    input:
        prepared_outputs,
    localrule: True


rule train_all:
    input:
        trained_outputs,
    localrule: True


rule decode_all:
    input:
        decoded_outputs,
    localrule: True


rule score_all:
    input:
        scored_outputs,
    localrule: True


rule tables:
    input:
        partial(table_outputs, STUDY),
    localrule: True


rule figures:
    input:
        partial(figure_outputs, STUDY),
    localrule: True


rule analyses:
    input:
        partial(analysis_outputs, STUDY),
    localrule: True


# A study's target bears its name. The study is read when its target is asked for, so one with a mistake hinders no
# other, and neither does one with the name of a rule, which 'wordorder check' refuses.
for study_name in load.study_names(CONFIG):
    if not workflow.is_rule(study_name):

        rule:
            name:
                study_name
            input:
                partial(target_outputs, study_name),
            localrule: True
