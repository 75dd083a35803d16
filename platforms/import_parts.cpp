#include "platforms/import_parts.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

namespace foretrain::platforms {

std::string checked_preset(const std::string& name, const PresetKind& kind)
{
  resolve_preset(name, kind);
  const bool path = name.find('/') != std::string::npos || is_file_name(name);
  return path ? std::filesystem::absolute(name).lexically_normal().string() : name;
}

namespace {

// PCI ID database (pci.ids, 2023-04; H200 and B200 of later ones), vendor 10de.
constexpr std::pair<int, const char*> kGpuDevices[] = {
    {0x102d, "k80"},
    {0x15f8, "p100-pcie-16gb"},
    {0x15f9, "p100-sxm2-16gb"},
    {0x1b00, "titanx-pascal"},
    {0x1b06, "gtx1080ti"},
    {0x1b38, "p40"},
    {0x1b80, "gtx1080"},
    {0x1bb3, "p4"},
    {0x1db1, "v100-sxm2-16gb"},
    {0x1db4, "v100-pcie-16gb"},
    {0x1db5, "v100-sxm2-32gb"},
    {0x1db8, "v100-sxm3-32gb"},
    {0x1df6, "v100s-pcie-32gb"},
    {0x1e04, "rtx2080ti"},
    {0x1e07, "rtx2080ti"},
    {0x1eb8, "t4"},
    {0x20b0, "a100-sxm4-40gb"},
    {0x20b2, "a100-sxm4-80gb"},
    {0x20b5, "a100-pcie-80gb"},
    {0x20b7, "a30"},
    {0x20f1, "a100-pcie-40gb"},
    {0x2204, "rtx3090"},
    {0x2230, "a6000"},
    {0x2231, "a5000"},
    {0x2235, "a40"},
    {0x2236, "a10"},
    {0x2237, "a10g"},
    {0x2330, "h100-sxm5-80gb"},
    {0x2331, "h100-pcie"},
    {0x2335, "h200-sxm-141gb"},
    {0x2684, "rtx4090"},
    {0x26b1, "rtx6000-ada"},
    {0x26b5, "l40"},
    {0x27b8, "l4"},
    {0x2901, "b200-sxm-180gb"},
};

// Compute capability (CUDA C++ Programming Guide) to the bundled GPU nearest to it, with NVLink
// and without.
struct Capability {
  int sm;
  const char* with_nvlink;
  const char* without;
};
constexpr Capability kCapabilities[] = {
    {37, nullptr, "k80"},
    {60, "p100-sxm2-16gb", "p100-pcie-16gb"},
    {61, nullptr, "gtx1080"},
    {70, "v100-sxm2-16gb", "v100-pcie-16gb"},
    {75, nullptr, "rtx2080ti"},
    {80, "a100-sxm4-40gb", "a100-pcie-40gb"},
    {86, nullptr, "a40"},
    {89, nullptr, "l40s"},
    {90, "h100-sxm5-80gb", "h100-pcie"},
    {100, "b200-sxm-180gb", nullptr},
    {120, nullptr, "rtx5090"},
};

// Number of NVLinks of a GPU on a board with several peers: P100, V100, A100, H100 white papers.
constexpr std::pair<int, const char*> kBrickCounts[] = {
    {4, "p100-sxm2-16gb"},
    {6, "v100-sxm2-16gb"},
    {12, "a100-sxm4-40gb"},
    {18, "h100-sxm5-80gb"},
};

[[noreturn]] void ask(const FoundNode& found, const std::string& problem, const char* option,
                      const PresetKind& kind)
{
  throw ConfigError(found.file, "", problem,
                    fmt::format("give {}: {}", option, joined(preset_names(kind))));
}

bool any_nvlink(const FoundNode& found)
{
  for (std::size_t g = 0; g < found.gpus.size(); ++g)
    if (bricks_of(found, g) > 0)
      return true;
  return found.nvswitch.value_or(false);
}

// The GPU by its NVLinks, where a matrix is all there is.
std::string by_bricks(const FoundNode& found, Notes& notes)
{
  int most = 0;
  int largest = 0;
  int fewest_peers = kMostGpus;
  for (std::size_t g = 0; g < found.gpus.size(); ++g) {
    most = std::max(most, bricks_of(found, g));
    const auto& row = found.bricks[g];
    largest = std::max(largest, *std::max_element(row.begin(), row.end()));
    fewest_peers = std::min(
        fewest_peers,
        static_cast<int>(std::count_if(row.begin(), row.end(), [](int b) { return b > 0; })));
  }
  const int per_gpu = most > kBrickCounts[3].first ? largest : most; // a switch reaches all peers
  for (const auto& [bricks, name] : kBrickCounts)
    if (bricks == per_gpu && fewest_peers >= 2) {
      notes.insert(fmt::format("gpu: {} was assumed, as the bundled GPU with {} NVLinks; the file "
                               "does not name the model (--gpu)",
                               name, per_gpu));
      return name;
    }
  ask(found, "does not tell the GPU model", "--gpu", kGpuKind);
}

void same_model(const FoundNode& found)
{
  for (std::size_t g = 1; g < found.gpus.size(); ++g) {
    const auto& first = found.gpus.front();
    const auto& other = found.gpus[g];
    if (other.compute_capability != first.compute_capability || other.device != first.device)
      throw ConfigError(found.file, "",
                        fmt::format("GPU {} (sm {}, device 0x{:04x}) differs from GPU 0 (sm {}, "
                                    "device 0x{:04x}); the GPUs of a platform are of one type",
                                    g, other.compute_capability, other.device,
                                    first.compute_capability, first.device));
  }
}

} // namespace

int bricks_of(const FoundNode& node, std::size_t gpu)
{
  return std::accumulate(node.bricks[gpu].begin(), node.bricks[gpu].end(), 0);
}

bool is_device_name(const std::string& text)
{
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), allowed);
}

std::string gpu_preset(const FoundNode& found, const ImportOptions& options, Notes& notes)
{
  same_model(found);
  if (!options.gpu.empty())
    return checked_preset(options.gpu, kGpuKind);
  const FoundGpu& gpu = found.gpus.front();
  for (const auto& [device, name] : kGpuDevices)
    if (gpu.device == device)
      return name;
  if (gpu.compute_capability == 0)
    return by_bricks(found, notes);
  const bool nvlink = any_nvlink(found);
  for (const Capability& it : kCapabilities) {
    const char* name = nvlink ? it.with_nvlink : it.without;
    if (it.sm != gpu.compute_capability || name == nullptr)
      continue;
    notes.insert(fmt::format("gpu: {} was assumed, as the bundled GPU nearest to sm {} {} NVLink "
                             "(--gpu)",
                             name, it.sm, nvlink ? "with" : "without"));
    return name;
  }
  ask(found,
      fmt::format("no bundled GPU is of sm {} {} NVLink", gpu.compute_capability,
                  nvlink ? "with" : "without"),
      "--gpu", kGpuKind);
}

namespace {

// CPUID family and model as NCCL writes them (AMD: extended family times 16 plus 15; some files
// give the family as the kernel does, 23 for 143); models from the Linux kernel,
// arch/x86/include/asm/intel-family.h and arch/x86/kernel/cpu/amd.c. `exact`: the preset is of this
// generation.
struct CpuModel {
  const char* vendor;
  int family;
  int model; // -1: any
  const char* preset;
  bool exact;
};
constexpr CpuModel kCpuModels[] = {
    {"GenuineIntel", 6, 45, "xeon-e5-2690v3", false},      // Sandy Bridge-EP
    {"GenuineIntel", 6, 62, "xeon-e5-2690v3", false},      // Ivy Bridge-EP
    {"GenuineIntel", 6, 63, "xeon-e5-2690v3", true},       // Haswell-EP
    {"GenuineIntel", 6, 79, "xeon-e5-2698v4", true},       // Broadwell-EP
    {"GenuineIntel", 6, 86, "xeon-e5-2698v4", false},      // Broadwell-DE
    {"GenuineIntel", 6, 85, "xeon-gold-6148", true},       // Skylake-SP, Cascade Lake
    {"GenuineIntel", 6, 106, "xeon-platinum-8380", true},  // Ice Lake-SP
    {"GenuineIntel", 6, 108, "xeon-platinum-8380", false}, // Ice Lake-D
    {"GenuineIntel", 6, 143, "xeon-platinum-8480c", true}, // Sapphire Rapids
    {"GenuineIntel", 6, 207, "xeon-platinum-8570", true},  // Emerald Rapids
    {"GenuineIntel", 6, 173, "xeon-platinum-8570", false}, // Granite Rapids
    {"GenuineIntel", 6, 174, "xeon-platinum-8570", false}, // Granite Rapids-D
    {"GenuineIntel", 6, 94, "i5-6600", true},              // Skylake client
    {"GenuineIntel", 6, -1, "i5-6600", false},             // other clients: Kaby Lake and later
    {"AuthenticAMD", 23, 49, "epyc-7742", true},           // Rome
    {"AuthenticAMD", 23, -1, "epyc-7742", false},          // Naples, Zen+
    {"AuthenticAMD", 25, 1, "epyc-7763", true},            // Milan
    {"AuthenticAMD", 25, 17, "epyc-9654", true},           // Genoa
    {"AuthenticAMD", 25, 160, "epyc-9654", true},          // Bergamo, Siena
    {"AuthenticAMD", 25, -1, "epyc-7763", false},          // Threadripper Pro, clients
    {"AuthenticAMD", 26, 2, "epyc-9575f", true},           // Turin
    {"AuthenticAMD", 26, 17, "epyc-9575f", true},          // Turin Dense
    {"AuthenticAMD", 26, -1, "epyc-9575f", false},
    {"HygonGenuine", 24, -1, "epyc-7742", false}, // Dhyana, a Naples
};

// The family as the kernel counts it.
int kernel_family(const FoundSocket& socket)
{
  return socket.family > 15 && (socket.family & 15) == 15 ? 15 + (socket.family >> 4)
                                                          : socket.family;
}

void compare_cores(const FoundNode& found, const std::string& name, Notes& notes)
{
  const int cores = read_as<Cpu>(resolve_preset(name, kCpuKind)).cores;
  for (const FoundSocket& socket : found.sockets)
    if (socket.logical_cpus > 0 && socket.logical_cpus != cores && socket.logical_cpus != 2 * cores)
      notes.insert(fmt::format("cpu: the file counts {} logical CPUs on a socket, {} has {} cores",
                               socket.logical_cpus, name, cores));
}

} // namespace

namespace {

// What bundled platforms have beside GPUs of PCIe generation 3, 4 and 5.
const char* beside(const Gpu& gpu, const std::array<const char*, 3>& by_generation)
{
  return by_generation[static_cast<std::size_t>(std::clamp(gpu.pcie_generation, 3, 5) - 3)];
}

// The generation of the fastest link of a socket that the file tells; 0: it tells none.
int fastest_link(const FoundNode& found)
{
  int fastest = 0;
  const auto look = [&](const std::string& on, const FoundLink& link) {
    if (on.starts_with("socket"))
      fastest = std::max(fastest, link.generation.value_or(0));
  };
  for (const FoundGpu& gpu : found.gpus)
    look(gpu.on, gpu.link);
  for (const FoundNic& nic : found.nics)
    look(nic.on, nic.link);
  for (const FoundSwitch& it : found.switches)
    look(it.on, it.uplink);
  return fastest;
}

// A CPU whose lanes are slower than what the file says of links is another one in that.
Json with_links(const std::string& preset, const FoundNode& found, Notes& notes)
{
  const Cpu cpu = read_as<Cpu>(resolve_preset(preset, kCpuKind));
  const int fastest = fastest_link(found);
  if (!cpu.pcie_generation || *cpu.pcie_generation >= fastest)
    return preset;
  notes.insert(fmt::format("cpu: PCIe generation {} instead of {}'s {}, as the file says of links",
                           fastest, preset, *cpu.pcie_generation));
  return {{"extends", preset}, {"pcie_generation", fastest}};
}

} // namespace

Json cpu_part(const FoundNode& found, const Gpu& gpu, const ImportOptions& options, Notes& notes)
{
  if (!options.cpu.empty()) {
    const std::string cpu = checked_preset(options.cpu, kCpuKind);
    const Cpu told = read_as<Cpu>(resolve_preset(cpu, kCpuKind));
    if (told.pcie_generation && *told.pcie_generation < fastest_link(found))
      notes.insert(fmt::format("cpu: PCIe generation {} of {} limits links that the file says run "
                               "at generation {}",
                               *told.pcie_generation, cpu, fastest_link(found)));
    return cpu;
  }
  const FoundSocket& socket = found.sockets.front();
  if (socket.vendor.empty()) {
    const char* name = beside(gpu, {"xeon-gold-6148", "epyc-7742", "xeon-platinum-8480c"});
    notes.insert(fmt::format("cpu: {} was assumed, as in bundled platforms with PCIe generation {} "
                             "GPUs; the file does not name the CPU (--cpu)",
                             name, gpu.pcie_generation));
    return with_links(name, found, notes);
  }
  for (const CpuModel& it : kCpuModels)
    if (socket.vendor == it.vendor && kernel_family(socket) == it.family &&
        (it.model < 0 || socket.model == it.model)) {
      notes.insert(fmt::format("cpu: {} was assumed, as the bundled CPU {} family {} model {} "
                               "(--cpu)",
                               it.preset, it.exact ? "of" : "nearest to", socket.family,
                               socket.model));
      compare_cores(found, it.preset, notes);
      return with_links(it.preset, found, notes);
    }
  ask(found,
      fmt::format("no bundled CPU is near to {} family {} model {}", excerpt(socket.vendor),
                  socket.family, socket.model),
      "--cpu", kCpuKind);
}

namespace {

// PCI ID database, vendor 15b3: ConnectX-4, -5, -5 Ex, -6, -7.
struct NicModel {
  int device;
  bool infiniband;
  double megabits;
  const char* preset;
};
constexpr NicModel kNicModels[] = {
    {0x1013, true, 100000, "connectx4-edr"}, {0x1013, false, 100000, "connectx4-100gbe"},
    {0x1017, true, 100000, "connectx5-edr"}, {0x1017, false, 100000, "connectx5-100gbe"},
    {0x1019, true, 100000, "connectx5-edr"}, {0x1019, false, 100000, "connectx5-100gbe"},
    {0x101b, true, 200000, "connectx6-hdr"}, {0x1021, true, 400000, "connectx7-ndr"},
};

// Prefixes the Linux RDMA drivers give their devices (rdma-core, kernel-boot/rdma_rename).
bool has_rdma_name(const std::string& name)
{
  static constexpr const char* kPrefixes[] = {"mlx",  "bnxt_re", "irdma", "rocep", "ibp",
                                              "qedr", "hns_",    "efa",   "rdmap", "i40iw"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

// An adapter of which only a matrix speaks: the one that bundled platforms pair with such GPUs.
std::string by_generation(const FoundNic& nic, const Gpu& gpu, const ImportOptions&, Notes& notes)
{
  if (!nic.name.starts_with("mlx") && !nic.name.starts_with("NIC") && !nic.fabric.value_or(false))
    return "";
  const char* name = beside(gpu, {"connectx5-edr", "connectx6-hdr", "connectx7-ndr"});
  notes.insert(fmt::format("nics: {} was assumed for adapters whose speed the file does not tell, "
                           "as in bundled platforms with PCIe generation {} GPUs (--nic)",
                           name, gpu.pcie_generation));
  return name;
}

} // namespace

namespace {

// The preset, or one with the link that its slot gave it.
Json linked_as_told(const char* preset, const FoundNic& found, Notes& notes)
{
  const Nic nic = read_as<Nic>(resolve_preset(std::string(preset), kNicKind));
  const int generation = found.link.generation.value_or(nic.pcie_generation);
  const int lanes = found.link.lanes.value_or(nic.pcie_lanes);
  if (generation == nic.pcie_generation && lanes == nic.pcie_lanes)
    return preset;
  notes.insert(fmt::format("nics: the link of {} runs at PCIe generation {} with {} lanes, a {} "
                           "can have generation {} with {}",
                           found.name, generation, lanes, preset, nic.pcie_generation,
                           nic.pcie_lanes));
  return {{"extends", preset}, {"pcie_generation", generation}, {"pcie_lanes", lanes}};
}

} // namespace

Json nic_part(const FoundNic& nic, const Gpu& gpu, const ImportOptions& options, Notes& notes)
{
  if (!options.nic.empty())
    return checked_preset(options.nic, kNicKind);
  if (nic.megabits <= 0) {
    const std::string name = nic.vendor == 0 ? by_generation(nic, gpu, options, notes) : "";
    if (name.empty())
      throw UsageError(fmt::format("the file does not tell the speed of adapter '{}'\n  hint: give "
                                   "--nic: {}",
                                   excerpt(nic.name), joined(preset_names(kNicKind))));
    return name;
  }
  const bool rdma = has_rdma_name(nic.name);
  const bool infiniband = nic.fabric.value_or(nic.name.starts_with("mlx"));
  if (nic.vendor == 0x15b3)
    for (const NicModel& it : kNicModels)
      if (it.device == nic.device && it.infiniband == infiniband && it.megabits == nic.megabits)
        return linked_as_told(it.preset, nic, notes);
  if (!nic.fabric)
    notes.insert(fmt::format("nics: {} was assumed to speak {}, by its name", nic.name,
                             infiniband ? "InfiniBand" : "Ethernet"));
  notes.insert(fmt::format("nics: {} {} RDMA, by its name; 1 us latency was assumed", nic.name,
                           rdma ? "can do" : "cannot do"));
  Json part = {{"name", nic.name},
               {"rate", fmt::format("{:g} Gb/s", nic.megabits / 1000)},
               {"link", infiniband ? "infiniband" : "ethernet"},
               {"rdma", rdma},
               {"latency", "1 us"}};
  if (nic.link.generation)
    part["pcie_generation"] = *nic.link.generation;
  if (nic.link.lanes)
    part["pcie_lanes"] = *nic.link.lanes;
  if (!nic.link.generation || !nic.link.lanes)
    notes.insert("nics: PCIe generation 3 and 16 lanes were assumed where the file does not tell");
  return part;
}

} // namespace foretrain::platforms
