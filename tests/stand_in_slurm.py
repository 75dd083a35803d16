"""A stand-in for Slurm's sbatch, where a test is about what is submitted and not about Slurm."""
# Runs here and at once what Slurm would queue.
SBATCH = """#!/usr/bin/env bash
array=""
for word in "$@"; do
  case $word in --array=*) array=${word#--array=};; esac
  script=$word
done
if [ -n "$array" ]; then
  for task in $(seq ${array/-/ }); do SLURM_ARRAY_TASK_ID=$task bash "$script" >&2; done
  echo 41
else
  bash "$script" >&2
  echo "42;cluster"
fi
"""


def write(folder):
    """Puts it into a folder, which is made, for PATH."""
    folder.mkdir()
    (folder / "sbatch").write_text(SBATCH)
    (folder / "sbatch").chmod(0o755)
