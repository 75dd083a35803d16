# CPU, disk and placement limits for measured tenants; sourced, not run. cgroup v1 or v2.
# prefix_for sets the array `prefix`: words to put before a tenant's command.

CGROUP=${CGROUP:-realrun$$}

limits_down() {
  local group
  for group in /sys/fs/cgroup/{cpu,blkio,.}/"$CGROUP"-*; do
    [ -d "$group" ] && rmdir "$group" 2>/dev/null
  done
  return 0
}

# in_group CONTROLLER NAME: makes the cgroup and prints its folder; fails where that is not allowed.
in_group() {
  local controller=$1 folder
  if [ -d "/sys/fs/cgroup/$controller" ]; then
    folder=/sys/fs/cgroup/$controller/$CGROUP-$2 # v1
  else
    [ "$controller" = blkio ] && controller=io
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || return 1
    folder=/sys/fs/cgroup/$CGROUP-$2
  fi
  mkdir -p "$folder" 2>/dev/null || return 1
  echo "$folder"
}

# The block device under a folder, as MAJOR:MINOR of the whole disk.
disk_of() {
  local device
  device=$(findmnt --noheadings --output MAJ:MIN --target "$1" | tr -d ' ')
  [ -e "/sys/dev/block/$device/partition" ] && device=$(cat "$(realpath "/sys/dev/block/$device")/../dev")
  echo "$device"
}

# prefix_for ISOLATION TENANT [DATA]
#   unpinned | pinned (a CPU each) | same-core (all on CPU 0) | quota50 (half a CPU each)
#   disk:BYTES (all tenants together read at most BYTES/s from the disk that holds DATA)
prefix_for() {
  local isolation=$1 tenant=$2 data=${3:-} folder
  prefix=()
  case $isolation in
  unpinned) ;;
  pinned) prefix=(taskset -c "$((tenant % $(nproc)))") ;;
  same-core) prefix=(taskset -c 0) ;;
  quota50)
    folder=$(in_group cpu "tenant$tenant") || return 1
    if [ -e "$folder/cpu.max" ]; then
      echo "50000 100000" >"$folder/cpu.max" || return 1
    else
      echo 100000 >"$folder/cpu.cfs_period_us" && echo 50000 >"$folder/cpu.cfs_quota_us" || return 1
    fi
    enter "$folder"
    ;;
  disk:*)
    folder=$(in_group blkio disk) || return 1
    if [ -e "$folder/io.max" ]; then
      echo "$(disk_of "$data") rbps=${isolation#disk:}" >"$folder/io.max" || return 1
    else
      echo "$(disk_of "$data") ${isolation#disk:}" >"$folder/blkio.throttle.read_bps_device" || return 1
    fi
    enter "$folder"
    ;;
  *) return 1 ;;
  esac
}

enter() { prefix=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$1"); }
