// Software between a job and the hardware: how the host is virtualised and how bytes cross the
// network. Each is described by causes; nothing here is a percentage of a result.
#pragma once

#include "platforms/guest_quality.hpp"
#include "platforms/transport.hpp"

namespace foretrain::platforms {

inline constexpr PresetKind kHostKind{"host", "platforms/data/hosts"};

/// What keeps two tenants of a node apart.
enum class Isolation { none, cgroup, vm };
constexpr auto choices(Isolation)
{
  return std::to_array<Choice<Isolation>>(
      {{Isolation::none, "none"}, {Isolation::cgroup, "cgroup"}, {Isolation::vm, "vm"}});
}

/// What the host layer takes away or adds.
struct Host {
  std::string name;
  bool peer_to_peer = true; // GPUs reach each other over PCIe
  bool pcie_acs = false;    // traffic between devices passes the host bridge
  bool nvlink = true;       // the guest sees NVLink
  bool gpudirect_rdma = true;
  bool container_per_gpu = false;  // no process sees another one's GPU, memory or name of the host
  std::vector<GuestClass> quality; // what a guest may be; none: no guest
  double cpu_overhead = 1;         // core-seconds needed per core-second of work on bare metal
  Seconds kernel_launch;           // added to each kernel launch
  Seconds network_latency;         // added to each message, both ends together
  Seconds cpu_per_packet;     // core time per packet that the layer itself handles (virtio, bridge)
  double pageable_copies = 1; // core time of copies out of pageable memory, on top of cpu_overhead
  double memory_copies = 0;   // copies per network byte that the layer adds
  Seconds disk_latency;       // added to each request to a local disk
  Seconds cpu_per_disk_request;          // core time for each request to a local disk
  Isolation isolation = Isolation::none; // how two tenants are kept apart: none, cgroup, vm
  Seconds start;                         // from launch to the first instruction of the job
  Value guest_network;    // transport whose layers TCP of a guest passes; none: no guest
  Value on_guests;        // the layer that is left of it on a platform told as its guests see it
  std::string assumption; // what the layer takes for granted, told with each answer
};

struct Stack {
  Host host;
  Transport transport;
  std::vector<std::string> assumed{}; // what nobody said and the host layer implies, for people
};

/// Whether adapters reach GPU memory by themselves where the topology lets them.
bool uses_gpudirect(const Stack& stack);

/// The transport as it is on this host: in a guest its packets pass the guest's virtual adapter,
/// unless the adapter itself, or a virtual function of it, was passed through.
Stack make_stack(Host host, Transport transport);

/// Core time of a payload byte at one end of a connection, with what the host layer adds.
ByteWork network_work(const Stack& stack, const Framing& framing);
/// The same of all threads together.
double cpu_seconds_per_byte(const Stack& stack, const Framing& framing);
/// Whether the thread serves one guest, not all that the node runs.
bool serves_one_guest(const Stack& stack, const ThreadWork& work);
/// Bytes per second of so many connections when each is the work of one core, whatever threads that
/// they share can do; no cap without work.
double connection_cap(const Stack& stack, const Framing& framing, int connections);

Host load_host(const Value& reference);

template <class V>
void describe(V& v, Host& s)
{
  v.format("foretrain.host/1");
  v.required("name", s.name, "name of the layer");
  v.optional("peer_to_peer", s.peer_to_peer, "GPUs may reach each other over PCIe");
  v.optional("pcie_acs", s.pcie_acs,
             "traffic between devices of one guest is translated by the IOMMU: PCIe switches send "
             "it up to the host bridge and back (no direct translated peer-to-peer, no ATS)");
  v.optional("nvlink", s.nvlink, "NVLink is visible");
  v.optional("gpudirect_rdma", s.gpudirect_rdma, "adapters may reach GPU memory");
  v.optional(
      "container_per_gpu", s.container_per_gpu,
      "each GPU is in a container of its own: to a library of collectives each is a machine, "
      "and GPUs of one node exchange as those of two do");
  v.optional("cpu_overhead", s.cpu_overhead, "core time per core time of bare metal",
             between(1, 10));
  v.optional("quality", s.quality,
             "kinds of guests that it may be: how much slower each is than bare metal, beside what "
             "the other keys say; kernels and their launches are those of the one in the middle, "
             "intervals hold the others");
  v.optional("pageable_copies", s.pageable_copies,
             "core time of copies out of pageable memory, on top of cpu_overhead", between(1, 10));
  v.optional("kernel_launch", s.kernel_launch, "added to each kernel launch", non_negative());
  v.optional("network_latency", s.network_latency, "added to each message", latency());
  v.optional("cpu_per_packet", s.cpu_per_packet, "core time per packet in the layer",
             non_negative());
  v.optional("memory_copies", s.memory_copies, "copies per network byte added", non_negative());
  v.optional("disk_latency", s.disk_latency, "added to each request to a local disk", latency());
  v.optional("cpu_per_disk_request", s.cpu_per_disk_request,
             "core time for each request to a local disk", non_negative());
  v.optional("isolation", s.isolation, "what keeps two tenants apart");
  v.optional("start", s.start, "from launch to the job's first instruction", non_negative());
  v.optional("guest_network", s.guest_network,
             "in a virtual machine: the virtual adapter that TCP passes, unless the transport says "
             "\"passthrough\"",
             preset("network"));
  v.optional(
      "on_guests", s.on_guests,
      "of a virtual machine: the layer that stands for it on platforms that are told as their "
      "guests see them",
      preset("host"));
  v.optional("assumption", s.assumption, "what it takes for granted, told with each answer");
}

} // namespace foretrain::platforms
