// What the user says about a machine beside the file that describes it.
#pragma once

#include <string>

namespace foretrain::platforms {

/// What a file cannot tell. Empty or zero: derived from the file, else assumed and noted.
struct ImportOptions {
  std::string name{};
  std::string gpu{};    // preset
  std::string cpu{};    // preset
  std::string nic{};    // preset, for every adapter
  std::string nvlink{}; // switch, pairs, none, or a platform with the same board
  std::string memory{}; // of the node, "384 GB"
  std::string fabric{}; // preset that joins the nodes through all adapters
  int nodes = 0;        // how many nodes there can be
  int numa_per_socket = 1;
};

} // namespace foretrain::platforms
