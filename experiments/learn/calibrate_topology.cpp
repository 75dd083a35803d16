// Topologies are no parameters: they make a platform, which `foretrain platform import` writes.
#include "experiments/learn/calibrate_logs.hpp"
#include "platforms/import.hpp"
#include "platforms/import_topo.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

bool is_topology(const std::string& text)
{
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return (first != std::string::npos && text[first] == '<' &&
          text.find("<system") != std::string::npos) ||
         platforms::has_topo_matrix(text);
}

std::vector<std::string> teach_topology(const std::vector<LogText>& logs, Setup& setup)
{
  std::vector<std::string> taught;
  for (const LogText& log : logs) {
    platforms::ImportOptions options;
    if (!setup.options.platform.empty()) {
      const auto spec = setup.platform(setup.learnt());
      if (spec.node.gpus)
        options.gpu = preset_id(spec.node.gpus->type, platforms::kGpuKind);
    }
    const auto imported = platforms::import_platform(log.text, log.path, options);
    const auto gpus = imported.json.at("node").at("gpus").at("on").size();
    if (!setup.options.platform.empty()) {
      const auto spec = setup.platform(setup.learnt());
      if (spec.gpus_per_node() != static_cast<int>(gpus))
        throw ConfigError(log.path, "",
                          fmt::format("shows {} GPUs, but a node of '{}' has {}", gpus, spec.name,
                                      spec.gpus_per_node()));
    }
    setup.notes.push_back(fmt::format(
        "{}: a topology of {} GPUs: make a platform of it with `foretrain platform import {} "
        "--out FILE`, and name that with --platform",
        log.path, gpus, log.path));
    taught.push_back("topology, for foretrain platform import");
  }
  return taught;
}

} // namespace foretrain::experiments
