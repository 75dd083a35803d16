# Two test hosts made of network namespaces; sourced, not run. Needs root (or CAP_NET_ADMIN).
#
#   pod0 -- cni0 -- [host0: wire0] ======= [host1: wire1] -- cni0 -- pod1
#
# wire: a veth pair, shaped by tc to a rate. Three ways from one side to the other:
#   host     host0 to host1, the wire's own addresses              (docker --net=host, 10.1.0.0/24)
#   route    pod0 to pod1, plain routing over the wire             (flannel host-gw,   10.2.x.0/24)
#   vxlan    pod0 to pod1 through a VXLAN device on each host      (flannel vxlan,     10.2.x.0/24)
# Everything lives in namespaces named $HOSTS-*, and goes with them: hosts_down.

HOSTS=${HOSTS:-realrun$$}
VXLAN_HEADER=50 # outer Ethernet 14 + IP 20 + UDP 8 + VXLAN 8, as flannel counts it

hosts_down() {
  local name
  for name in host0 host1 pod0 pod1; do
    ip netns pids "$HOSTS-$name" 2>/dev/null | xargs -r kill -9 2>/dev/null
    ip netns del "$HOSTS-$name" 2>/dev/null
  done
  return 0
}

# hosts_up PATH MTU RATE OFFLOAD
#   PATH host|route|vxlan; MTU of the wire in bytes; RATE in Mbit/s, 0 unshaped;
#   OFFLOAD on|off: whether the wire takes segments larger than the MTU (a NIC's TSO) or real packets
hosts_up() {
  local path=$1 mtu=$2 rate=$3 offload=$4 side other pod_mtu=$2
  hosts_down
  for side in host0 host1 pod0 pod1; do ip netns add "$HOSTS-$side" || return 1; done
  ip -n "$HOSTS-host0" link add wire type veth peer name wire netns "$HOSTS-host1" || return 1
  [ "$path" = vxlan ] && pod_mtu=$((mtu - VXLAN_HEADER))
  for side in 0 1; do
    other=$((1 - side))
    ip -n "$HOSTS-host$side" link set lo up
    ip -n "$HOSTS-host$side" addr add "10.1.0.$((side + 1))/24" dev wire
    ip -n "$HOSTS-host$side" link set wire mtu "$mtu" up
    if [ "$offload" = off ]; then
      ip netns exec "$HOSTS-host$side" ethtool -K wire tso off gso off gro off \
        tx-udp_tnl-segmentation off >/dev/null 2>&1 ||
        ip netns exec "$HOSTS-host$side" ethtool -K wire tso off gso off gro off >/dev/null
    fi
    [ "$rate" != 0 ] && shape "$side" "$rate"
    ip netns exec "$HOSTS-host$side" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    [ "$path" = host ] && continue
    add_pod "$side" "$pod_mtu"
    if [ "$path" = vxlan ]; then
      add_vxlan "$side" "$other" "$pod_mtu"
    else
      ip -n "$HOSTS-host$side" route add "10.2.$other.0/24" via "10.1.0.$((other + 1))"
    fi
  done
  wait_reachable "$path"
}

# Token bucket on what host SIDE sends; the bucket holds 2 ms of line rate, at least 64 KiB.
shape() {
  local burst=$(($2 * 1000000 / 8 / 500))
  [ "$burst" -lt 65536 ] && burst=65536
  tc -n "$HOSTS-host$1" qdisc add dev wire root tbf rate "$2mbit" burst "$burst" latency 20ms
}

add_pod() {
  local side=$1 mtu=$2
  ip -n "$HOSTS-host$side" link add cni0 type bridge
  ip -n "$HOSTS-host$side" link set cni0 mtu "$mtu" up
  ip -n "$HOSTS-host$side" addr add "10.2.$side.1/24" dev cni0
  ip -n "$HOSTS-host$side" link add pod mtu "$mtu" type veth peer name eth0 netns "$HOSTS-pod$side"
  ip -n "$HOSTS-host$side" link set pod master cni0 up
  ip -n "$HOSTS-pod$side" link set lo up
  ip -n "$HOSTS-pod$side" addr add "10.2.$side.2/24" dev eth0
  ip -n "$HOSTS-pod$side" link set eth0 mtu "$mtu" up
  ip -n "$HOSTS-pod$side" route add default via "10.2.$side.1"
}

# flannel's data path: one VXLAN device per host, the other hosts' pod networks routed to it, the
# forwarding entries written by hand (nolearning) as flanneld does.
add_vxlan() {
  local side=$1 other=$2 mtu=$3
  ip -n "$HOSTS-host$side" link add flannel.1 address "02:00:00:00:00:0$side" type vxlan id 1 \
    dev wire local "10.1.0.$((side + 1))" dstport 8472 nolearning
  ip -n "$HOSTS-host$side" link set flannel.1 mtu "$mtu" up
  ip -n "$HOSTS-host$side" addr add "10.2.$side.0/32" dev flannel.1
  ip -n "$HOSTS-host$side" neigh add "10.2.$other.0" lladdr "02:00:00:00:00:0$other" dev flannel.1 \
    nud permanent
  bridge -n "$HOSTS-host$side" fdb add "02:00:00:00:00:0$other" dev flannel.1 dst \
    "10.1.0.$((other + 1))"
  ip -n "$HOSTS-host$side" route add "10.2.$other.0/24" via "10.2.$other.0" dev flannel.1 onlink
}

# Prints the namespace and the address of side 0 or 1 for a path.
space_of() { [ "$1" = host ] && echo "$HOSTS-host$2" || echo "$HOSTS-pod$2"; }
address_of() { [ "$1" = host ] && echo "10.1.0.$(($2 + 1))" || echo "10.2.$2.2"; }
# on PATH SIDE COMMAND...
on() {
  local space
  space=$(space_of "$1" "$2")
  shift 2
  ip netns exec "$space" "$@"
}

# A TCP connection from side 0 to side 1 must come about, or the path is broken.
wait_reachable() {
  local path=$1 tries=40 answer
  while [ $tries -gt 0 ]; do
    # "Connection refused" is an answer of the other side: the path works.
    answer=$(on "$path" 0 timeout 1 bash -c "exec 3<>/dev/tcp/$(address_of "$path" 1)/9" 2>&1)
    case $answer in *refused*) return 0 ;; esac
    tries=$((tries - 1))
    sleep 0.1
  done
  echo "no way from side 0 to side 1 over $path: $answer" >&2
  return 1
}

# Packets and bytes that host 0 and host 1 put on the wire so far, on one line.
wire_count() {
  local packets=0 bytes=0 side
  for side in 0 1; do
    packets=$((packets + $(ip netns exec "$HOSTS-host$side" cat /sys/class/net/wire/statistics/tx_packets)))
    bytes=$((bytes + $(ip netns exec "$HOSTS-host$side" cat /sys/class/net/wire/statistics/tx_bytes)))
  done
  echo "$packets $bytes"
}
