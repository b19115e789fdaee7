"""A SLURM cluster of one node, for as long as a command or a test needs it.

    python tests/workflow/slurm_cluster.py snakemake --workflow-profile profiles/slurm

starts munged, slurmctld and slurmd (Debian: slurm-wlm, munge), runs the command with the cluster's sbatch,
squeue and so on in its PATH, and stops all. Everything lives in one temporary folder and listens on free
ports, so /etc stays untouched, several clusters can run side by side, and neither systemd nor cgroups are
needed.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
CLIENTS = ("sacct", "sacctmgr", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun", "sshare")
# Debian keeps daemons here, and the PATH of a user often leaves it out.
SYSTEM_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

# The size of the node is given, not found (config_overrides): every rule fits, however small the machine.
CONFIGURATION = """\
ClusterName=ermlab
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=64000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class ClusterError(RuntimeError):
    """A daemon of the cluster has ended, or does not answer."""


def why_not() -> str | None:
    """Say why a cluster cannot run on this machine, or None if it can."""
    missing = [name for name in (*DAEMONS, "sbatch", "setpriv") if not shutil.which(name, path=SYSTEM_PATH)]
    if missing:
        return f"{', '.join(missing)} not found (Debian: apt install slurm-wlm munge)"
    if os.geteuid() != 0:
        return "SLURM's daemons must be started by root"
    return None


class SlurmCluster:
    """Handle of a running cluster.

    Attributes
    ----------
    folder
        Holds the configuration, the state and the logs ``munged.log``, ``slurmctld.log``, ``slurmd.log``.
    environment
        Environment in which the commands of SLURM speak to this cluster.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"PATH": f"{folder}/bin{os.pathsep}{SYSTEM_PATH}"}
        self._daemons: list[subprocess.Popen] = []

    def start(self) -> None:
        """Start the daemons and wait until the node takes jobs."""
        self._write_files()
        # --force: munged takes a folder below a shared one for unsafe; this one belongs to root alone.
        munge = ["--key-file", "munge.key", "--socket", "munge.socket", "--pid-file", "munge.pid"]
        munge += ["--seed-file", "munge.seed", "--log-file", "munged.log"]
        paths = [argument if argument.startswith("--") else f"{self.folder}/{argument}" for argument in munge]
        self._spawn("munged", "--foreground", "--force", *paths)
        self._wait_until((self.folder / "munge.socket").exists)
        for name in ("slurmctld", "slurmd"):
            self._spawn(name, "-D", "-f", f"{self.folder}/slurm.conf", "-L", f"{self.folder}/{name}.log")
        self._wait_until(lambda: self._ask("sinfo", "--noheader", "--format=%t") == "idle")

    def stop(self) -> None:
        """Cancel what still runs and end every process that the cluster started."""
        self._ask("scancel", "--user", "root")
        with contextlib.suppress(ClusterError):
            self._wait_until(lambda: self._ask("squeue", "--noheader") == "", seconds=20)
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        # Steps of jobs outlive slurmd by design; all carry this folder in their environment.
        while left := list(self.processes()):
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)

    def log(self, daemon: str) -> str:
        """Return what a daemon has logged so far."""
        path = self.folder / f"{daemon}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def completed_jobs(self) -> set[int]:
        """Return the ids of the jobs that the controller saw end with exit status 0."""
        pattern = r"_job_complete: JobId=(\d+) WEXITSTATUS 0"
        return {int(job) for job in re.findall(pattern, self.log("slurmctld"))}

    def processes(self) -> Iterator[int]:
        """Yield the processes, other than this one, that were started with the cluster's environment."""
        mark = os.fsencode(self.folder)
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if int(entry.name) != os.getpid() and mark in (entry / "environ").read_bytes():
                    yield int(entry.name)

    def _write_files(self) -> None:
        self.folder.chmod(0o755)
        for name in ("bin", "spool", "state"):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        controller_port, node_port = free_ports(2)
        text = CONFIGURATION.format(
            host=socket.gethostname().split(".")[0],
            folder=self.folder,
            controller_port=controller_port,
            node_port=node_port,
            cpus=max(4, os.cpu_count() or 1),
        )
        (self.folder / "slurm.conf").write_text(text)
        for name in CLIENTS:
            self._wrap(name)

    def _wrap(self, name: str) -> None:
        """Give a command its configuration: Snakemake's job steps drop SLURM_CONF from their environment."""
        command = shutil.which(name, path=SYSTEM_PATH)
        if command:
            wrapper = self.folder / "bin" / name
            wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {command} "$@"\n')
            wrapper.chmod(0o755)

    def _spawn(self, name: str, *arguments: str) -> None:
        # A daemon ends with the process that started it, even if that is killed.
        command = ["setpriv", "--pdeathsig", "TERM", name, *arguments]
        with (self.folder / f"{name}.out").open("wb") as output:
            daemon = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.environment
            )
        self._daemons.append(daemon)

    def _ask(self, *command: str) -> str:
        """Return what a client says, or nothing where the controller does not answer."""
        try:
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=20)
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.strip()

    def _wait_until(self, ready: Callable[[], bool], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            ended = any(daemon.poll() is not None for daemon in self._daemons)
            if ended or time.monotonic() > deadline:
                raise ClusterError(f"SLURM does not answer:\n{self._what_daemons_said()}")
            time.sleep(0.2)

    def _what_daemons_said(self) -> str:
        files = [self.folder / f"{name}.{ending}" for name in DAEMONS for ending in ("out", "log")]
        said = {file.name: file.read_text(errors="replace") for file in files if file.exists()}
        return "\n".join(f"{name}: {text}" for name, text in said.items())


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def slurm_cluster() -> Iterator[SlurmCluster]:
    """Give a running cluster; stop it and remove its folder at the end, also after an error."""
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        cluster = SlurmCluster(Path(folder))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


def main(command: list[str]) -> int:
    """Run a command on a cluster of its own and return its exit status."""
    if not command:
        sys.exit(f"usage: {sys.argv[0]} command [argument ...]")
    reason = why_not()
    if reason:
        sys.exit(f"no SLURM here: {reason}")
    with slurm_cluster() as cluster:
        return subprocess.run(command, env=cluster.environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
