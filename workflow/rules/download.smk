# Each file is searched in by_hand/, which users fill manually, then in the local mirror of WORDORDER_MIRROR, then at its
# URL. Downloads always run on the machine that runs Snakemake, because compute nodes rarely have internet access. Most
# datasets have their own download folder; datasets that need the same archives share one.
rule download_file:
    output:
        "resources/downloads/{folder}/{file}",
    log:
        "logs/download_file/{folder}/{file}.log",
    localrule: True
    params:
        slice=plan.data.download_slice,
    shell:
        "wordorder stage download --config {params.slice:q} --output {output:q} 2>&1 | logged {log:q}"


rule download_gold:
    output:
        "resources/downloads/gold_alignments/{gold}/{file}",
    log:
        "logs/download_gold/{gold}/{file}.log",
    localrule: True
    params:
        slice=plan.data.gold_download_slice,
    shell:
        "wordorder stage download --config {params.slice:q} --output {output:q} 2>&1 | logged {log:q}"
