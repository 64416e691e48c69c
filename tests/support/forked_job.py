"""Let the process of ``forked.py`` that FORKED_JOBS names run a job, and end with its exit status.

This program imports little, because it starts once per job.
"""

import json
import os
import socket
import sys

if __name__ == "__main__":
    request = {"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as jobs:
        jobs.connect(os.environ["FORKED_JOBS"])
        socket.send_fds(jobs, [b" "], [0, 1, 2])
        jobs.sendall(json.dumps(request).encode())
        jobs.shutdown(socket.SHUT_WR)
        sys.exit(int(jobs.makefile().read()))
