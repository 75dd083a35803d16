// Platforms from what users already have: NCCL's topology XML and `nvidia-smi topo -m`
// (docs/import.md).
#pragma once

#include "sim/base/document.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain::platforms {

/// What a file cannot tell. Empty or zero: derived from the file, else assumed and noted.
struct ImportOptions {
  std::string name{};
  std::string gpu{};    // preset
  std::string cpu{};    // preset
  std::string nic{};    // preset, for every adapter
  std::string memory{}; // of the node, "384 GB"
  std::string fabric{}; // preset that joins the nodes through all adapters
  int nodes = 0;        // how many nodes there can be
  int numa_per_socket = 1;
};

struct ImportedPlatform {
  Json json; // foretrain.platform/1, accepted by load_platform
  std::vector<std::string> notes;
};

/// Recognises the format by content. Throws ConfigError or UsageError (an option is wrong).
ImportedPlatform import_platform(const std::string& text, const std::string& name,
                                 const ImportOptions& options);
ImportedPlatform import_platform(const std::filesystem::path& file, const ImportOptions& options);

} // namespace foretrain::platforms
