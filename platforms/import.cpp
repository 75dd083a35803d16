#include "platforms/import.hpp"

#include "platforms/import_nvlink.hpp"
#include "platforms/import_parts.hpp"
#include "platforms/import_topo.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

constexpr std::size_t kHead = 2000; // bytes, in which a file says what made it

bool is_json(const std::string& text)
{
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

// What others print of a machine, and is not read.
struct OtherPrinter {
  const char* mark;
  const char* what;
};
constexpr OtherPrinter kOthers[] = {{"ROCm System Management", "rocm-smi's"},
                                    {"hwloc", "hwloc's (lstopo)"}};

FoundNode read_any(const std::string& text, const std::string& name, int numa_per_socket)
{
  const std::string head = text.substr(0, kHead);
  for (const OtherPrinter& other : kOthers)
    if (head.find(other.mark) != std::string::npos)
      throw ConfigError(name, "", fmt::format("is {}, which is not read", other.what),
                        "`nvidia-smi topo -m` or NCCL_TOPO_DUMP_FILE=topo.xml (RCCL has it, too); "
                        "or describe the node by hand (docs/hardware.md)");
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string::npos && text[first] == '<')
    return read_nccl_topology(text, name, numa_per_socket);
  if (has_topo_matrix(text))
    return read_topo_matrix(text, name, numa_per_socket);
  throw ConfigError(name, "",
                    first == std::string::npos ? "is empty"
                                               : "is neither an NCCL topology nor `nvidia-smi topo "
                                                 "-m` output; it begins '" +
                                                     excerpt(text.substr(first), 40) + "'",
                    is_json(text) ? "a platform file needs no import: foretrain platform check"
                                  : "NCCL_TOPO_DUMP_FILE=topo.xml makes the best source");
}

// For JSON: what came from a file may be no UTF-8.
std::string ascii(std::string text)
{
  for (char& c : text)
    if (c < 0x20 || c > 0x7e)
      c = '?';
  return text;
}

class Writer {
public:
  Writer(const FoundNode& found, const ImportOptions& options)
      : found_(found), options_(options), notes_(found.notes)
  {
  }

  ImportedPlatform write()
  {
    if (found_.gpus.empty())
      throw ConfigError(found_.file, "", "holds no GPU");
    const std::string gpu = gpu_preset(found_, options_, notes_);
    gpu_ = read_as<Gpu>(resolve_preset(gpu, kGpuKind));
    const std::string name = ascii(
        options_.name.empty() ? std::filesystem::path(found_.file).stem().string() : options_.name);
    Json node = {{"name", name},
                 {"sockets", found_.sockets.size()},
                 {"cpu", cpu_part(found_, gpu_, options_, notes_)},
                 {"memory", memory()}};
    if (!found_.switches.empty())
      node["pcie_switches"] = switches();
    node["gpus"] = gpus(gpu);
    if (const Json links = nvlink_part(found_, gpu_, options_, node["gpus"]["type"], notes_);
        !links.empty())
      node["nvlink"] = links;
    if (!found_.nics.empty())
      node["nics"] = nics();
    Json platform = {{"format", "foretrain.platform/1"},
                     {"name", name},
                     {"description", "Imported from " + found_.kind},
                     {"source", found_.kind + ", file " +
                                    ascii(std::filesystem::path(found_.file).filename().string())},
                     {"notes", Json::array()},
                     {"node", node}};
    networks(platform);
    general_notes();
    check(platform);
    std::vector<std::string> notes;
    for (const auto& note : notes_)
      notes.push_back(ascii(note));
    platform["notes"] = notes;
    return {platform, notes};
  }

private:
  std::string memory()
  {
    if (!options_.memory.empty()) {
      const auto parsed = parse_quantity(options_.memory, UnitsOf<Bytes>::units(),
                                         UnitsOf<Bytes>::kind(), UnitsOf<Bytes>::example());
      if (!parsed.ok || parsed.si <= 0)
        throw UsageError("--memory '" + excerpt(options_.memory) + "' " +
                         (parsed.ok ? "must be greater than zero" : parsed.problem));
      return options_.memory;
    }
    notes_.insert("memory: 256 GB was assumed, as in generic-4gpu (--memory)");
    return "256 GB";
  }

  Json switches()
  {
    Json list = Json::array();
    for (const auto& it : found_.switches) {
      if (!it.uplink.generation || !it.uplink.lanes)
        notes_.insert(fmt::format("pcie_switches: x16 of the GPU's generation {} was assumed for "
                                  "uplinks where the file does not tell",
                                  gpu_.pcie_generation));
      list.push_back({{"name", it.name},
                      {"on", it.on},
                      {"generation", it.uplink.generation.value_or(gpu_.pcie_generation)},
                      {"lanes", it.uplink.lanes.value_or(16)}});
    }
    return list;
  }

  Json gpus(const std::string& type)
  {
    Json places = Json::array();
    int generation = gpu_.pcie_generation;
    int lanes = gpu_.pcie_lanes;
    bool known = true;
    for (const auto& it : found_.gpus) {
      places.push_back(it.on);
      known = known && it.link.generation && it.link.lanes;
      generation = std::min(generation, it.link.generation.value_or(generation));
      lanes = std::min(lanes, it.link.lanes.value_or(lanes));
    }
    if (!known)
      notes_.insert("gpus: PCIe links as in the GPU's data sheet where the file does not tell");
    Json result = {{"type", type}, {"on", places}};
    const auto slowest = [&](const char* key, int value, int data_sheet) {
      if (value == data_sheet)
        return;
      result[key] = value;
      notes_.insert(
          fmt::format("gpus: PCIe {} {} of the slowest GPU link was given to all", key, value));
    };
    slowest("generation", generation, gpu_.pcie_generation);
    slowest("lanes", lanes, gpu_.pcie_lanes);
    return result;
  }

  Json nics()
  {
    Json list = Json::array();
    for (const auto& it : found_.nics)
      list.push_back(
          {{"name", it.name}, {"type", nic_part(it, gpu_, options_, notes_)}, {"on", it.on}});
    return list;
  }

  void networks(Json& platform)
  {
    if (options_.fabric.empty()) {
      if (options_.nodes > 1)
        throw UsageError("--nodes needs --fabric: what joins the nodes?\n  hint: " +
                         joined(preset_names(kFabricKind)));
      notes_.insert("networks: not told, so this platform is one node (--fabric and --nodes)");
      return;
    }
    if (found_.nics.empty())
      throw UsageError("--fabric: the file shows no adapter that could be plugged into it");
    Json names = Json::array();
    for (const auto& it : found_.nics)
      names.push_back(it.name);
    platform["max_nodes"] = std::max(options_.nodes, 1);
    platform["networks"] = {
        {{"nics", names}, {"fabric", checked_preset(options_.fabric, kFabricKind)}}};
    notes_.insert("networks: all adapters were plugged into the one fabric");
  }

  void general_notes()
  {
    notes_.insert("disks: not told, none were put in");
    if (found_.gpus.size() > 1)
      notes_.insert("peer_to_peer: not told, peer access over PCIe was assumed");
    notes_.insert("root ports and the link between sockets are those of the CPU preset");
  }

  // The platform must load; classes it does not reproduce are told.
  void check(const Json& platform)
  {
    const auto document = parse_document(platform.dump(2), found_.file + " (imported)");
    const NodeGraph graph(load_platform(Value(std::shared_ptr<const Document>(document))));
    const auto part = [&](std::size_t i) {
      const auto number = static_cast<int>(i);
      return number < graph.gpus() ? graph.gpu(number) : graph.nic(number - graph.gpus());
    };
    std::map<std::string, int> changed;
    for (std::size_t a = 0; a < found_.paths.size(); ++a)
      for (std::size_t b = a + 1; b < found_.paths.size(); ++b) {
        const PathClass is = graph.classify(part(a), part(b));
        if (is != found_.paths[a][b])
          ++changed[fmt::format("{} became {}", short_name(found_.paths[a][b]), short_name(is))];
      }
    for (const auto& [what, pairs] : changed)
      notes_.insert(
          fmt::format("distance classes that could not be kept: {} for {} pairs", what, pairs));
  }

  const FoundNode& found_;
  const ImportOptions& options_;
  Notes notes_;
  Gpu gpu_;
};

} // namespace

ImportedPlatform import_platform(const std::string& text, const std::string& name,
                                 const ImportOptions& options)
{
  if (options.numa_per_socket < 1)
    throw UsageError("--numa-per-socket must be at least 1");
  if (text.size() > kImportBytes)
    throw ConfigError(name, "", "is larger than 4 MiB, the limit for a topology");
  if (text.find('\0') != std::string::npos)
    throw ConfigError(name, "", "holds zero bytes; is it a text file?");
  return Writer(read_any(text, name, options.numa_per_socket), options).write();
}

ImportedPlatform import_platform(const std::filesystem::path& file, const ImportOptions& options)
{
  return import_platform(read_file(file.string(), kImportBytes + 1), file.string(), options);
}

} // namespace foretrain::platforms
