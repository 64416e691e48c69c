# Files are looked for in by_hand/, where people put them, in the local mirror that WORDORDER_MIRROR names, and at their
# URL. This always happens on the machine that runs Snakemake, because compute nodes rarely have internet access. Most
# datasets have a folder of their own; those that need the same archives share one.
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
