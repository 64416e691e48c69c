# Most datasets have a folder of their own; those that need the same archives share one.
DOWNLOAD_FOLDERS = one_of({dataset.folder for dataset in DATASETS} | set(load.dataset_names(CONFIG)))


def download_slice(wildcards):
    return told(plan.shared_download_slice)(DATASETS, wildcards.dataset, wildcards.file)


# What people put into by_hand/ beside it, from the local mirror that the variable WORDORDER_MIRROR names, or from its
# URL; what is put at the output itself, Snakemake takes for finished. Always on the machine that runs Snakemake:
# compute nodes rarely have internet.
rule download_file:
    output:
        "resources/downloads/{dataset}/{file}",
    log:
        "logs/download_file/{dataset}/{file}.log",
    wildcard_constraints:
        dataset=DOWNLOAD_FOLDERS,
    localrule: True
    params:
        slice=download_slice,
    shell:
        "wordorder download --config {params.slice:q} --output {output:q} 2>&1 | logged {log:q}"


# What only people can get is asked for before the first job: what needs it may come after days of training.
def check_files_by_hand(jobs):
    from wordorder.config.datasets import Download
    from wordorder.data.download import missing

    mirror = os.environ.get("WORDORDER_MIRROR")
    said = [
        missing(load.slice_argument(job.params.slice, Download), job.output[0], mirror=mirror)
        for job in jobs
        if job.rule.name in ("download_file", "download_gold")
    ]
    if any(said):
        raise WordorderError("\n".join(sorted(filter(None, said))))


onstart:
    told(check_files_by_hand)(workflow.dag.needrun_jobs())
