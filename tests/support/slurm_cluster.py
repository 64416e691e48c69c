"""A real SLURM on this machine: one or two nodes with emulated GPUs, with or without accounting, for a test.

``python tests/support/slurm_cluster.py`` starts one and stops it at Ctrl-C. It needs root, the packages that
tests/install_slurm installs, and no /etc/slurm/slurm.conf: a SLURM that is configured there is never touched. What a
killed test left there is removed.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PROGRAMS = ["munged", "slurmctld", "slurmd", "slurmdbd", "mariadbd", "mariadb-install-db", "sbatch", "squeue", "sacct"]
ETC = Path("/etc/slurm")
HOST = socket.gethostname().partition(".")[0]
GPUS = 2  # of all nodes together
CPUS = 8  # of each; more than there may be: what jobs ask for is under test, not their speed
MEMORY = 16_000  # MB, likewise

# Made for tests: it looks for work every second, kills at once what exceeds its memory, and gives a lost node up soon.
SLURM_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1,batch_sched_delay=0,default_queue_depth=1000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
ReturnToService=2
MinJobAge=300
KillWait=2
SlurmdTimeout=10
GresTypes=gpu
PartitionName=main Nodes=ALL Default=YES PriorityTier=1
PartitionName=gpu Nodes=ALL PriorityTier=1
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF
{accounting}
"""
NODE_CONF = """
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} CoresPerSocket={cpus} \
RealMemory={memory} Gres=gpu:tesla:{gpus}
"""
ACCOUNTING = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={ports[1]}
AccountingStoragePass={folder}/munge/socket
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
"""
SLURMDBD_CONF = """
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
LogFile={folder}/log/slurmdbd.log
PidFile={folder}/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports[2]}
StorageUser=slurm
StoragePass=slurm
CommitDelay=1
"""


def why_not() -> str | None:
    """Return why no cluster can be started here, as a sentence, or None."""
    missing = [program for program in PROGRAMS if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")]
    if missing:
        return f"SLURM is not installed ({', '.join(missing)} missing); tests/install_slurm installs it on Debian."
    if os.geteuid() != 0:
        return "Starting a SLURM needs root."
    _remove_leftovers()
    if os.path.lexists(ETC / "slurm.conf"):
        return f"{ETC}/slurm.conf belongs to a SLURM that is installed or another test; it is not touched."
    return None


class Cluster:
    """A cluster that runs inside ``with Cluster() as cluster`` and leaves no process, file or job."""

    def __init__(self, *, accounting: bool = True, nodes: int = 1) -> None:
        self.accounting = accounting
        self.nodes = [HOST] if nodes == 1 else [f"{HOST}-{number}" for number in range(1, nodes + 1)]

    def __enter__(self) -> Cluster:
        # A short path: a Unix socket's is limited to 108 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.folder.chmod(0o755)
        self.lock = _try_lock(self.folder)
        for name in ("munge", "state", "spool", "run", "log", "dev"):
            (self.folder / name).mkdir()
        values = {
            "folder": self.folder,
            "host": HOST,
            "ports": _free_ports(3 + len(self.nodes)),
        }
        try:
            self._start_munge()
            if self.accounting:
                self._start_accounting(values)
            self._configure("slurm.conf", self._slurm_conf(values))
            # A character device each, since SLURM wants a device file of its own for every GPU: like /dev/null.
            for number in range(GPUS):
                os.mknod(self.folder / f"dev/gpu{number}", 0o666 | 0o020000, os.makedev(1, 3))
            each = GPUS // len(self.nodes)
            self._configure(
                "gres.conf",
                "".join(
                    f"NodeName={node} Name=gpu Type=tesla File={self.folder}/dev/gpu{number * each + gpu}\n"
                    for number, node in enumerate(self.nodes)
                    for gpu in range(each)
                ),
            )
            self._run("slurmctld")
            wait_until("slurmctld", lambda: "UP" in self.tell("scontrol", "ping"))
            self.start_slurmd()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(subprocess.CalledProcessError, FileNotFoundError, TimeoutError):
            self.cancel_all()
        for name in (*self.nodes, "slurmctld", "slurmdbd", "mariadbd", "munged"):
            self._stop(name)
        _remove_configuration(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.lock is not None:
            os.close(self.lock)

    # ------------------------------------------------------------------------------------------- what tests do

    def tell(self, *command: str | int) -> str:
        """Run a command, usually of SLURM, and return its output."""
        arguments = [str(part) for part in command]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, f"{arguments}: {done.stderr}")
        return done.stdout.strip()

    def jobs(self, rule: str = "", state: str = "all") -> dict[int, str]:
        """Return job numbers and comments ('rule_train_model_wildcards_…') of a rule or group, oldest first."""
        listed = self.tell("squeue", "--noheader", f"--states={state}", "--sort=i", "--format=%i %k").splitlines()
        rows = (line.split(maxsplit=1) for line in listed)
        return {int(number): comment for number, comment in rows if rule in comment}

    def field(self, job: int, name: str) -> str:
        """Return the fields of ``scontrol show job``: 'JobState', 'Restarts', 'TRES', …"""
        fields = dict(part.partition("=")[::2] for part in self.tell("scontrol", "show", "job", job).split())
        return fields[name]

    def start_at_once(self, job: int) -> None:
        """Skip the two minutes that a requeued job waits."""
        wait_until(f"job {job} to be requeued", lambda: self.field(job, "JobState") == "PENDING")
        self.tell("scontrol", "update", f"jobid={job}", "StartTime=now")

    def cancel_all(self) -> None:
        self.tell("scancel", "--user", "root")
        wait_until("the jobs to end", lambda: not self.tell("squeue", "--noheader"))

    def lose_node(self) -> None:
        """Simulate a power failure: kill the node's daemons and all processes of its jobs."""
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                daemon = (process / "comm").read_text().strip() in {"slurmd", "slurmstepd"}
                if daemon or b"SLURM_JOB_ID=" in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)

    def restart_slurmctld(self) -> None:
        """Restart slurmctld as an administrator does: it saves its state and reads it again."""
        self._stop("slurmctld")
        self._run("slurmctld")
        wait_until("slurmctld", lambda: "UP" in self.tell("scontrol", "ping"))

    @contextlib.contextmanager
    def silent_scheduler(self) -> Iterator[None]:
        """Stop slurmctld from answering inside the block."""
        pid = int((self.folder / "run/slurmctld.pid").read_text())
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def start_slurmd(self) -> None:
        for node in self.nodes:
            self._run("slurmd", "-N", node)
        there = {"idle", "mixed", "allocated"}
        wait_until("the nodes", lambda: set(self.tell("sinfo", "--noheader", "--format=%T").split()) <= there)

    # -------------------------------------------------------------------------------------------------- daemons

    def _start_munge(self) -> None:
        key = self.folder / "munge/key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        self._run(
            "munged",
            "--force",  # the folder lies in one that all may write to
            f"--key-file={key}",
            f"--seed-file={self.folder}/munge/seed",
            f"--socket={self.folder}/munge/socket",
            f"--pid-file={self.folder}/run/munged.pid",
            f"--log-file={self.folder}/log/munged.log",
        )

    def _start_accounting(self, values: dict[str, object]) -> None:
        data = self.folder / "mysql"
        data.mkdir()
        shutil.chown(data, "mysql", "mysql")
        options = ["--no-defaults", "--user=mysql", f"--datadir={data}"]
        self._run("mariadb-install-db", *options, "--auth-root-authentication-method=normal", "--skip-test-db")
        ports = values["ports"]
        assert isinstance(ports, list)
        options += [f"--socket={data}/socket", "--bind-address=127.0.0.1", f"--port={ports[2]}", "--skip-log-bin"]
        options += [f"--pid-file={data}/pid", f"--log-error={data}/log", "--innodb-flush-log-at-trx-commit=0"]
        with (self.folder / "log/mariadbd.log").open("w") as log:
            server = subprocess.Popen(["mariadbd", *options], env=_environment(), stdout=log, stderr=log)
        (self.folder / "run/mariadbd.pid").write_text(str(server.pid))
        client = ["mariadb", "--no-defaults", f"--socket={data}/socket", "--user=root", "--execute"]
        grant = "create user slurm@'127.0.0.1' identified by 'slurm'; grant all on *.* to slurm@'127.0.0.1'"
        wait_until("mariadb", lambda: bool(self.tell(*client, "select 1")))
        self.tell(*client, grant)
        self._configure("slurmdbd.conf", SLURMDBD_CONF.format(**values))
        (self.folder / "slurmdbd.conf").chmod(0o600)
        # slurmdbd's clients ask slurm.conf where it is, so there must be one already.
        self._configure("slurm.conf", self._slurm_conf(values))
        self._run("slurmdbd")
        wait_until("slurmdbd", lambda: bool(self.tell("sacctmgr", "--immediate", "add", "cluster", "test")))
        for entity in (["account", "project"], ["user", "root", "account=project"]):
            self.tell("sacctmgr", "--immediate", "add", *entity)

    def _slurm_conf(self, values: dict[str, object]) -> str:
        accounting = ACCOUNTING.format(**values) if self.accounting else ""
        ports = values["ports"]
        assert isinstance(ports, list)
        nodes = [
            NODE_CONF.format(node=node, host=HOST, port=port, cpus=CPUS, memory=MEMORY, gpus=GPUS // len(self.nodes))
            for node, port in zip(self.nodes, ports[3:], strict=True)
        ]
        return SLURM_CONF.format(**values, accounting=accounting) + "".join(nodes)

    def _configure(self, name: str, text: str) -> None:
        """Install the configuration at SLURM's default path, because Snakemake's plugin drops SLURM_CONF in jobs."""
        (self.folder / name).write_text(text)
        ETC.mkdir(exist_ok=True)
        (ETC / name).unlink(missing_ok=True)
        (ETC / name).symlink_to(self.folder / name)

    def _run(self, program: str, *arguments: str) -> None:
        log = self.folder / f"log/{program}.start"
        with log.open("w") as file:
            done = subprocess.run([program, *arguments], env=_environment(), stdout=file, stderr=file, check=False)
        assert done.returncode == 0, f"{program} does not start: {log.read_text()}"

    def _stop(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
            pid = int((self.folder / f"run/{name}.pid").read_text())
            os.kill(pid, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                wait_until(f"{name} to end", lambda: not _alive(pid), seconds=10)
            os.kill(pid, signal.SIGKILL)


def _remove_leftovers() -> None:
    """Remove what a killed test left of its cluster: daemons, the folder and the links in /etc/slurm."""
    conf = ETC / "slurm.conf"
    if not conf.is_symlink() or not conf.readlink().parent.name.startswith("slurm-"):
        return
    folder = conf.readlink().parent
    if folder.exists():
        lock = _try_lock(folder)
        if lock is None:
            return
        for file in folder.glob("run/*.pid"):
            with contextlib.suppress(OSError, ValueError):
                pid = int(file.read_text())
                if Path(f"/proc/{pid}/comm").read_text().strip() in PROGRAMS:  # not another one with the same number
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
    _remove_configuration(folder)


def _try_lock(folder: Path) -> int | None:
    """Lock a cluster's folder until this process ends, and return the lock, or None if another process has it."""
    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _remove_configuration(folder: Path) -> None:
    for name in ("slurm.conf", "gres.conf", "slurmdbd.conf"):
        if (ETC / name).is_symlink() and (ETC / name).readlink().parent == folder:
            (ETC / name).unlink()


def _alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}


def wait_until(what: str, done: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.CalledProcessError):
            if done():
                return
        time.sleep(0.05)
    raise TimeoutError(f"Gave up waiting for {what} after {seconds} s.")


def _free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--no-accounting", action="store_true", help="without slurmdbd: sacct has nothing to tell")
    options.add_argument("--nodes", type=int, choices=(1, 2), default=1, help="(default: 1)")
    chosen = options.parse_args()
    if reason := why_not():
        sys.exit(reason)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Cluster(accounting=not chosen.no_accounting, nodes=chosen.nodes) as running:
        print(f"A cluster runs in {running.folder}; Ctrl-C stops it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
