// `nvidia-smi topo -m` as text: the matrix itself, before it becomes a tree.
#pragma once

#include "platforms/import_found.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

/// Classes of a cell, nearest first; what follows NVLink are PCIe distances.
enum class TopoClass { self, nvlink, pix, pxb, phb, node, sys };

struct TopoCell {
  TopoClass kind = TopoClass::self;
  int bricks = 0; // of nvlink
};

struct TopoMatrix {
  std::string file;
  std::vector<std::string> names; // GPU0, GPU1, ..., then adapters
  std::size_t gpus = 0;
  std::vector<std::vector<TopoCell>> cells;
  std::vector<std::string> cpus; // CPU affinity per device, "" where not stated
  std::vector<std::string> numa; // NUMA affinity per device, "" where not stated
  std::vector<int> lines;        // of each row

  TopoCell at(std::size_t a, std::size_t b) const { return cells[a][b]; }
  /// Throws ConfigError at the row of device `a`.
  [[noreturn]] void fail(std::size_t a, const std::string& problem,
                         const std::string& hint = "") const;
};

const char* word(TopoClass kind);

/// Whether some line is the header of such a matrix.
bool has_topo_matrix(const std::string& text);

/// Reads the matrix; colours, prompts, legends and other output around it are passed over.
TopoMatrix parse_topo_matrix(const std::string& text, const std::string& name);

/// The switches and sockets that explain the matrix (docs/import.md says how).
FoundNode topo_tree(const TopoMatrix& matrix, int numa_per_socket);

} // namespace foretrain::platforms
