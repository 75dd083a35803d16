// The parts a machine is made of, as their data sheets describe them.
#pragma once

#include "platforms/gpu_kernels.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/schema.hpp"
#include "sim/cost/gpu_vendor.hpp"
#include "sim/cost/precision.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

inline constexpr PresetKind kGpuKind{"gpu", "platforms/data/gpus"};
inline constexpr PresetKind kCpuKind{"cpu", "platforms/data/cpus"};
inline constexpr PresetKind kNicKind{"nic", "platforms/data/nics"};
inline constexpr PresetKind kFabricKind{"fabric", "platforms/data/fabrics"};
inline constexpr PresetKind kDiskKind{"disk", "platforms/data/disks"};

/// Of a part that tells none.
inline constexpr int kPcieGeneration = 3;

/// How well kernels of one precision use the device; see sim/cost/roofline.hpp.
struct PrecisionRate {
  FlopsPerSecond peak;           // data sheet
  double dense_efficiency = 0.5; // fraction of peak that large convolutions and GEMMs reach
  /// For GPUs without a table of products: what the best of them reach at the clock that long
  /// runs keep. 0: not known.
  double product_efficiency = 0;
};

/// How well the kernels of an older generation of libraries do.
struct Generation {
  std::string library; // "cudnn-7.0"
  sim::Precision precision = sim::Precision::fp32;
  double dense_efficiency = 0.5; // as in PrecisionRate
};

/// What a collective on the same GPU does to kernels, beyond the multiprocessors that it holds.
///
/// Defaults: kernels of a recommender at the same place of a step with and without NCCL beside them
/// (trace hta-recsys-2xV100-rank1; 2 of 80 multiprocessors held): 1.21 (1.17 to 1.26) below 10 us,
/// 1.10 (1.04 to 1.19) products, 1.05 (1.03 to 1.07) others above 10 us.
struct BesideCollective {
  Seconds per_kernel{0.65e-6}; // added to each kernel
  double products = 1.065;     // factor on the time of convolutions and products
  double memory_bound = 1.022; // factor on that of all others
};

struct Gpu {
  std::string name;
  Bytes memory;
  BytesPerSecond memory_bandwidth;
  double memory_efficiency = 0.8; // of streaming kernels and device copies
  int multiprocessors = 1;
  /// Of the time that GPUs of one kind take for the same work. Manufacturing and power management
  /// make 8 % between the fastest and the slowest, outliers apart, on average over clusters and
  /// applications (Sinha et al., Not All GPUs Are Created Equal, SC 2022): 5.4 standard deviations.
  double speed_variation = 0.015;
  sim::GpuVendor vendor = sim::GpuVendor::nvidia;
  /// Number of the architecture, as CUDA tells it, or HIP for AMD's (gfx942: 9.4): what a library
  /// of collectives goes by. What it means beside is the vendor's.
  double compute_capability = 7;
  std::optional<PrecisionRate> fp32, tf32, fp16, bf16, fp8, fp4, int8;
  std::optional<GpuKernels> kernels; // what measured tables of single kernels say
  std::vector<Generation> generations;
  BesideCollective beside_collective;
  Seconds kernel_launch{4e-6}; // from one small kernel's start to the next one's, as frameworks
                               // launch them
  /// The same where launches are far ahead: 0.82 us between kernels and 1.25 us for the shortest
  /// one, medians of a V100 (trace hta-resnet50-1xV100).
  Seconds kernel_floor{2e-6};
  BytesPerSecond nvlink_brick; // raw, one direction; zero without NVLink
  int nvlink_bricks = 0;
  double nvlink_copy_efficiency = 0.94;       // payload share of raw, copy engine
  double nvlink_collective_efficiency = 0.84; // payload share of raw, collective library kernels
  double nvlink_in_switch_efficiency = 0.85;  // what is left of that when the switch adds (NVLS)
  int pcie_generation = kPcieGeneration;
  int pcie_lanes = 16;
  BytesPerSecond host_link;         // to its CPU beside PCIe, one direction; zero: PCIe alone
  Seconds copy_latency{3.6e-6};     // a small copy inside the device
  Seconds peer_latency{3.0e-6};     // added when the other end is a peer's memory
  Seconds host_hop_latency{7.4e-6}; // added for each crossing of PCIe in a staged copy

  // A worker that is not a device of its own but cores of the host, as in training on CPUs.
  double host_cores = 0;          // cores that its kernels keep busy; 0: a real GPU
  Bytes cache{};                  // of a core, where what fits is read faster; 0: not modelled
  BytesPerSecond cache_bandwidth; // for what fits into it
  Seconds function_time{};        // one evaluation of an elementary function (tanh); 0: hidden
  bool on_host() const { return host_cores > 0; }
};

/// Who makes a CPU: libraries have limits by it.
enum class CpuVendor { intel, amd, other };
constexpr auto choices(CpuVendor)
{
  return std::to_array<Choice<CpuVendor>>(
      {{CpuVendor::intel, "Intel"}, {CpuVendor::amd, "AMD"}, {CpuVendor::other, "other"}});
}

struct Cpu {
  std::string name;
  CpuVendor vendor = CpuVendor::intel;
  int cores = 1;
  double threads_per_core = 1; // that the operating system shows: frameworks count them as cores
  Hertz clock;
  BytesPerSecond memory_bandwidth; // of one socket, data sheet
  double memory_efficiency = 0.8;
  BytesPerSecond socket_link;       // to the other socket, one direction, usable
  BytesPerSecond root_port_duplex;  // both directions together through one x16 root port
  BytesPerSecond copy_rate{10.5e9}; // one core copying memory (Cai et al., SIGCOMM 2021)
  // Share of root_port_duplex that kernels reach when they, not copy engines, move data through
  // host memory. Calibrated: nccl-4v100-pcie-1n above 1 MiB, 7.2 GB/s each way on one port.
  double kernel_staging = 0.706;
  Bytes peer_packet{64}; // payload of a PCIe packet of peer traffic through the host bridge
  std::optional<int> pcie_generation; // of its lanes; none: as of what is plugged into them
};

/// What an adapter speaks.
enum class LinkLayer { ethernet, infiniband };
constexpr auto choices(LinkLayer)
{
  return std::to_array<Choice<LinkLayer>>(
      {{LinkLayer::ethernet, "ethernet"}, {LinkLayer::infiniband, "infiniband"}});
}

struct Nic {
  std::string name;
  BytesPerSecond rate; // line rate, one direction
  BytesPerSecond line; // the same where no switch's ports are slower (limit_to_ports)
  int ports = 1;       // of a switch; more where several are joined
  int pcie_generation = kPcieGeneration;
  int pcie_lanes = 16;
  LinkLayer link = LinkLayer::ethernet;
  bool rdma = false;
  Seconds latency{1e-6};       // through both adapters, without switches
  bool tunnel_offload = false; // segments and checks what VXLAN and the like carry
  Bytes burst{};               // shaped: what it sends at once after a pause, on top of the rate
  bool joined = false;         // the library spreads each message over all beside a GPU
  bool in_order = true;        // data arrives in the order it was sent: flags in it can be trusted
  // Of a channel of NCCL's over sockets, by the adapter's vendor:
  int socket_threads = 0;
  int sockets_per_thread = 1;
  // Of what it writes to GPU memory:
  Seconds flush{};      // until it is seen there: the receiver reads back through the adapter
  Bytes eager{};        // longest message that is sent at once when no other one is under way
  Seconds rendezvous{}; // of longer ones, which are announced, and read by the receiver
  // Of each operation, in the adapter and until its completion has been seen.
  Seconds completion{};

  /// Of what a message to GPU memory needs beside one operation, while others are under way: the
  /// flush; the announcement, and the word to the sender that the receiver has read.
  Seconds handling_beyond_one() const
  {
    return ((flush.value() > 0 ? 1 : 0) + (rendezvous.value() > 0 ? 2 : 0)) * completion;
  }
};

struct Fabric {
  std::string name;
  int ports = 36;           // of one switch
  BytesPerSecond port_rate; // line rate, one direction; 0: that of the adapters
  Seconds switch_latency{1e-7};
  double oversubscription = 1; // leaf to spine, once the nodes need more than one switch
  bool reduces = false;        // switches add streams of any length (SHARP v2)
  std::optional<BytesPerSecond> flow_rate{}; // most of one flow of TCP, in a cloud that caps them
  std::optional<LinkLayer> link{};           // what its ports speak; none: whatever the adapters do
};

struct Disk {
  std::string name;
  BytesPerSecond read;
  BytesPerSecond write;
  PerSecond read_operations; // random 4 KiB reads
  Seconds latency{1e-4};
};

/// So many disks as one (RAID 0): rates add up.
inline Disk striped(Disk disk, int count)
{
  disk.read *= count;
  disk.write *= count;
  disk.read_operations *= count;
  return disk;
}

template <class V>
void describe(V& v, PrecisionRate& s)
{
  v.required("peak", s.peak, "peak rate of the data sheet", positive());
  v.optional("dense_efficiency", s.dense_efficiency,
             "share of the peak that layers' convolutions and products reach in whole waves of "
             "large tiles (of transformers: product_efficiency); above 1 where libraries do fewer "
             "multiplications than are counted",
             between(0.01, 2));
  v.optional("product_efficiency", s.product_efficiency,
             "for a GPU without a table of products (kernels): share of the peak that the best "
             "products of transformers on tensor cores reach at the clock that long runs keep "
             "(sustained_clock); 0: not known, and 0.8 is taken, as of most GPUs that were "
             "measured, or dense_efficiency where that is more",
             between(0, 1));
}

template <class V>
void describe(V& v, Generation& s)
{
  v.required("library", s.library, "generation of the library of kernels, like cudnn-7.0");
  v.required("precision", s.precision, "arithmetic",
             one_of({"fp32", "tf32", "fp16", "bf16", "int8"}));
  v.required("dense_efficiency", s.dense_efficiency, "as the GPU's own for the precision",
             between(0.01, 2));
}

template <class V>
void describe(V& v, BesideCollective& s)
{
  v.optional("per_kernel", s.per_kernel, "added to each kernel", non_negative());
  v.optional("products", s.products, "factor on the time of convolutions and products",
             at_least(1));
  v.optional("memory_bound", s.memory_bound, "factor on the time of all other kernels",
             at_least(1));
}

template <class V>
void describe(V& v, Gpu& s)
{
  v.format("foretrain.gpu/1");
  v.required("name", s.name, "marketing name");
  v.required("memory", s.memory, "device memory", positive());
  v.required("memory_bandwidth", s.memory_bandwidth, "data sheet bandwidth", positive());
  v.optional("memory_efficiency", s.memory_efficiency,
             "fraction of it that streaming kernels reach", between(0.01, 1));
  v.optional(
      "vendor", s.vendor,
      "who makes it: its kernels are CUDA's and its collectives NCCL's, or ROCm's and RCCL's");
  v.required("multiprocessors", s.multiprocessors,
             "number of multiprocessors (SMs; AMD: compute units)", at_least(1));
  v.optional("speed_variation", s.speed_variation,
             "coefficient of variation of the time that GPUs of this kind take for the same work",
             between(0, 1));
  v.optional(
      "compute_capability", s.compute_capability,
      "number of the architecture, as CUDA or HIP tells it (gfx942: 9.4): libraries have limits "
      "by it",
      positive());
  v.optional("fp32", s.fp32, "rates in single precision");
  v.optional("tf32", s.tf32, "rates in TF32");
  v.optional("fp16", s.fp16, "rates in half precision with single-precision masters");
  v.optional("bf16", s.bf16, "rates in bfloat16");
  v.optional("fp8", s.fp8, "rates in fp8");
  v.optional("fp4", s.fp4, "rates in fp4, with a scale for each 16 or 32 values");
  v.optional("kernels", s.kernels, "what measured tables of products and attention say");
  v.optional("int8", s.int8, "rates in 8-bit integers, for inference");
  v.optional("generations", s.generations, "efficiency with older libraries of kernels");
  v.optional("beside_collective", s.beside_collective,
             "what a collective does to kernels on the same GPU, beyond multiprocessors held");
  v.optional("kernel_floor", s.kernel_floor,
             "from one small kernel's start to the next one's where launches are far ahead of the "
             "GPU; no more than kernel_launch counts",
             non_negative());
  v.optional("kernel_launch", s.kernel_launch, "shortest time from one kernel to the next",
             non_negative());
  v.optional("nvlink_brick", s.nvlink_brick,
             "raw bandwidth of one NVLink or xGMI link, one direction", non_negative());
  v.optional("nvlink_bricks", s.nvlink_bricks, "number of them", non_negative());
  v.optional("nvlink_copy_efficiency", s.nvlink_copy_efficiency,
             "payload share of the raw NVLink rate for the copy engine", between(0.01, 1));
  v.optional("nvlink_collective_efficiency", s.nvlink_collective_efficiency,
             "payload share of the raw NVLink rate for collective kernels", between(0.01, 1));
  v.optional("nvlink_in_switch_efficiency", s.nvlink_in_switch_efficiency,
             "what is left of that when the switch adds (NVLS)", between(0.01, 1));
  v.optional("pcie_generation", s.pcie_generation, "PCIe generation", between(1, 6));
  v.optional("pcie_lanes", s.pcie_lanes, "PCIe lanes", between(1, 16));
  v.optional("host_link", s.host_link,
             "to its CPU beside PCIe, one direction (NVLink-C2C); zero: PCIe alone",
             non_negative());
  v.optional("copy_latency", s.copy_latency, "a small copy inside the device", latency());
  v.optional("peer_latency", s.peer_latency, "added by a peer's memory", latency());
  v.optional("host_hop_latency", s.host_hop_latency, "added per PCIe crossing of a staged copy",
             latency());
  v.optional("host_cores", s.host_cores,
             "for training on CPUs: cores of the host that its kernels keep busy, shared with "
             "everything else that runs there; 0 for a real GPU",
             non_negative());
  v.optional("cache", s.cache,
             "for training on CPUs: the cache of a core; what does not fit moves at "
             "memory_bandwidth x memory_efficiency",
             non_negative());
  v.optional("cache_bandwidth", s.cache_bandwidth, "rate at which what fits into it moves",
             non_negative());
  v.optional("function_time", s.function_time,
             "for training on CPUs: one evaluation of tanh; 0 where many units hide it",
             non_negative());
}

template <class V>
void describe(V& v, Cpu& s)
{
  v.format("foretrain.cpu/1");
  v.required("name", s.name, "marketing name");
  v.optional("vendor", s.vendor, "libraries have limits by it");
  v.required("cores", s.cores, "cores of one socket", at_least(1));
  v.optional("threads_per_core", s.threads_per_core,
             "that the operating system shows, and frameworks count where they start a thread for "
             "each core",
             between(1, 8));
  v.required("clock", s.clock, "base clock", positive());
  v.required("memory_bandwidth", s.memory_bandwidth, "of one socket, data sheet", positive());
  v.optional("memory_efficiency", s.memory_efficiency, "fraction of it that copies reach",
             between(0.01, 1));
  v.optional("socket_link", s.socket_link,
             "to the other socket, one direction, usable; needed where a node has several sockets "
             "(NCCL takes 6 GB/s of Xeons before 2017, 9 GB/s of those since, 22 GB/s since 2023, "
             "16 GB/s of EPYC)",
             non_negative());
  v.optional("pcie_generation", s.pcie_generation,
             "of its lanes: what is plugged into them is no faster; default no limit",
             between(1, 6));
  v.required(
      "root_port_duplex", s.root_port_duplex,
      "both directions together through one x16 gen3 root port; on no data sheet: 20.4 GB/s was "
      "measured on a C4140's Xeon, and where nothing is held presets take 26 GB/s, twice one "
      "direction",
      positive());
  v.optional("copy_rate", s.copy_rate, "one core copying memory", positive());
  v.optional("kernel_staging", s.kernel_staging,
             "share of root_port_duplex that collective kernels reach through host memory",
             between(0.01, 1));
  v.optional("peer_packet", s.peer_packet,
             "payload per PCIe packet when the host bridge forwards peer-to-peer traffic",
             positive());
}

template <class V>
void describe(V& v, Nic& s)
{
  v.format("foretrain.nic/1");
  v.required("name", s.name, "marketing name");
  v.required("rate", s.rate, "line rate, one direction", positive());
  v.optional("pcie_generation", s.pcie_generation, "PCIe generation", between(1, 6));
  v.optional("pcie_lanes", s.pcie_lanes, "PCIe lanes", between(1, 16));
  v.optional("link", s.link, "what it speaks");
  v.optional("rdma", s.rdma, "whether it can do RDMA");
  v.optional("latency", s.latency, "through both adapters, without switches", latency());
  v.optional(
      "joined", s.joined,
      "the network plug-in spreads each message over all such adapters beside a GPU: several "
      "in one place count as one of their rates together");
  v.optional("tunnel_offload", s.tunnel_offload,
             "it segments, checks and spreads what tunnels (VXLAN, GENEVE) carry");
  v.optional("burst", s.burst,
             "for a rate made by a token bucket: bytes it lets through at once after a pause",
             non_negative());
  v.optional("in_order", s.in_order,
             "data arrives in the order it was sent; where not, collectives cannot use protocols "
             "with flags in the data (LL, LL128)");
  v.optional("socket_threads", s.socket_threads,
             "threads that NCCL by default starts at either end of a channel over sockets, by the "
             "adapter's vendor; 0: none, the rank's own thread moves the bytes of all its channels",
             between(0, 16));
  v.optional("sockets_per_thread", s.sockets_per_thread,
             "connections of each of these threads, likewise", between(1, 64));
  v.optional(
      "flush", s.flush,
      "after a message to GPU memory, until the GPU sees it: the receiver reads back through "
      "the adapter",
      non_negative());
  v.optional("eager", s.eager,
             "longest message to GPU memory that is sent at once when no other one is under way",
             non_negative());
  v.optional("rendezvous", s.rendezvous,
             "added to the latency of longer ones: announced first, then read by the receiver",
             non_negative());
  v.optional("completion", s.completion,
             "of each operation, in the adapter and until its completion has been seen; a message "
             "takes one, one more with a flush, and two more with a rendezvous",
             non_negative());
}

template <class V>
void describe(V& v, Fabric& s)
{
  v.format("foretrain.fabric/1");
  v.required("name", s.name, "name of the switch or fabric");
  v.optional("ports", s.ports, "ports of one switch", at_least(2));
  v.optional("port_rate", s.port_rate,
             "line rate of a port, one direction; default that of the adapters", positive());
  v.optional("switch_latency", s.switch_latency, "port to port", latency());
  v.optional("oversubscription", s.oversubscription,
             "leaf to spine, once more than one switch is needed", at_least(1));
  v.optional("reduces", s.reduces, "switches add what passes through them (SHARP v2)");
  v.optional("flow_rate", s.flow_rate,
             "most that one TCP connection gets on the wire, in a cloud that caps flows; absent: "
             "no cap",
             positive());
  v.optional("link", s.link,
             "what its ports speak; a job over an adapter that speaks another is told so; absent: "
             "whatever the adapters do");
}

template <class V>
void describe(V& v, Disk& s)
{
  v.format("foretrain.disk/1");
  v.required("name", s.name, "marketing name");
  v.required("read", s.read, "sequential read", positive());
  v.required("write", s.write, "sequential write", positive());
  v.optional("read_operations", s.read_operations, "random 4 KiB reads", positive());
  v.optional("latency", s.latency, "of one read", latency());
}

} // namespace foretrain::platforms
