"""A Slurm of one node on this machine: munged, slurmctld and slurmd in a folder, of which nothing is left behind.

Programs are those installed, or else those of Debian's packages, unpacked into the folder. Needs neither root nor
systemd; changes nothing outside the folder.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client")
LIBRARIES = pathlib.Path("usr/lib/x86_64-linux-gnu")
CONFIGURATION = """ClusterName=foretrain
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=cpu Nodes={host} Default=YES State=UP
"""


class NoSlurm(Exception):
    """Why there can be none here."""


def shell(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120, **more)


def unpacked(folder):
    """Debian's packages and what they need that is not installed, unpacked; root of the tree."""
    if not shutil.which("apt-get"):
        raise NoSlurm("Slurm is not installed, and this is no Debian")
    apt = ["apt-get", "-qq", "--no-install-recommends", "-o", "Debug::NoLocking=1"]
    listed = shell(*apt, "--simulate", "install", *PACKAGES)
    if listed.returncode != 0 and os.getuid() == 0 and shell("apt-get", "-qq", "update").returncode == 0:
        listed = shell(*apt, "--simulate", "install", *PACKAGES)
    names = re.findall(r"^Inst (\S+)", listed.stdout, re.MULTILINE)
    if listed.returncode != 0 or not names:
        raise NoSlurm("no packages: " + listed.stderr.strip()[-200:])
    fetched = shell(*apt, "download", *names, cwd=folder)
    if fetched.returncode != 0:
        raise NoSlurm("packages cannot be fetched: " + fetched.stderr.strip()[-200:])
    for package in folder.glob("*.deb"):
        shell("dpkg-deb", "-x", package, folder / "root")
    return folder / "root"


def two_ports():
    with socket.socket() as a, socket.socket() as b:
        for one in (a, b):
            one.bind(("127.0.0.1", 0))
        return a.getsockname()[1], b.getsockname()[1]


class Slurm:
    """`with Slurm(folder, cpus) as slurm`: commands of its users run with `slurm.environment`."""

    def __init__(self, folder, cpus):
        self.folder, self.daemons = folder, []
        folder.mkdir(mode=0o755)
        installed = all(pathlib.Path("/usr/sbin", x).exists() for x in ("munged", "slurmctld", "slurmd"))
        self.root = pathlib.Path("/") if installed else unpacked(folder)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        self.host = socket.gethostname().split(".")[0]
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=folder, host=self.host, user=shell("id", "-un").stdout.strip(), ports=two_ports(), cpus=cpus,
            plugins=self.root / LIBRARIES / "slurm-wlm"))
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"),
                            "PATH": f"{self.root / 'usr/bin'}:{os.environ['PATH']}"}
        if not installed:
            self.environment["LD_LIBRARY_PATH"] = f"{self.root / LIBRARIES}:{self.root / LIBRARIES / 'slurm-wlm'}"

    def run(self, *words):
        return shell(*words, env=self.environment)

    def daemon(self, name, *options):
        at = next(p for p in (self.root / "usr/sbin" / name, self.root / f"usr/sbin/{name}-wlm") if p.exists())
        with open(self.folder / f"{name}.out", "w") as log:
            self.daemons.append(subprocess.Popen([str(at), *map(str, options)], stdout=log, stderr=log,
                                                 stdin=subprocess.DEVNULL, env=self.environment))

    def __enter__(self):
        f = self.folder
        self.daemon("munged", "--foreground", "--force", "--key-file", f / "munge.key", "--socket", f / "munge.socket",
                    "--pid-file", f / "munge.pid", "--log-file", f / "munge.log", "--seed-file", f / "munge.seed")
        wait(lambda: (f / "munge.socket").exists(), 20)
        self.daemon("slurmctld", "-D", "-c")
        step = next(p for n in ("slurmstepd", "slurmstepd-wlm") if (p := self.root / "usr/sbin" / n).exists())
        self.daemon("slurmd", "-D", "-d", step)
        try:
            wait(lambda: "idle" in self.run("sinfo", "--noheader", "-o", "%t").stdout, 30)
        except TimeoutError:
            logs = "\n".join((f / f"{n}.out").read_text()[-500:] for n in ("munged", "slurmctld", "slurmd"))
            self.__exit__()
            raise RuntimeError("Slurm does not come up:\n" + logs) from None
        return self

    def __exit__(self, *_):
        self.run("scancel", "--full", "-u", str(os.getuid()))
        try:
            wait(lambda: not self.run("squeue", "--noheader").stdout.strip(), 15)
        except TimeoutError:
            pass
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def states(self, job):
        """State of each task of a job, by its number in the array (None for a job that is none)."""
        told = self.run("squeue", "--noheader", "--array", "--states=all", "--jobs", job, "-o", "%K %T").stdout
        return {None if k == "N/A" else int(k): state for k, state in (line.split() for line in told.splitlines())}

    def ended(self, job):
        return not {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING"} & set(self.states(job).values())


def wait(until, seconds):
    """Until the condition holds; what it returned. Throws TimeoutError."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if told := until():
            return told
        time.sleep(0.05)
    raise TimeoutError
