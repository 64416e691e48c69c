def download_slice(wildcards):
    return plan.download_slice(dataset_of(wildcards.dataset), wildcards.file)


# From the local mirror that the variable WORDORDER_MIRROR names, or from its URL. Always on the machine that runs
# Snakemake: compute nodes rarely have internet.
rule download_file:
    output:
        "resources/downloads/{dataset}/{file}",
    log:
        "logs/download_file/{dataset}/{file}.log",
    localrule: True
    params:
        slice=download_slice,
    shell:
        "wordorder download --config {params.slice:q} --output {output:q} 2>&1 | logged {log:q}"
