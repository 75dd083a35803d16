// A node as a drawing: sockets at the left, PCIe switches, then GPUs, adapters and disks, NVLinks
// as arcs at the right; boxes are filled and links coloured by how busy they are. Inline SVG.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct DrawnPart {
  std::string name;
  std::string kind; // gpu, cpu, pcie-switch, adapter, disk
  std::optional<double> utilisation;
};

struct DrawnLink {
  std::string kind; // nvlink, pcie, socket-link, network
  std::string from; // pcie: the one further from the socket
  std::string to;
  double utilisation = 0; // of the busier direction
  std::string tip;
};

struct NodeDrawing {
  std::vector<DrawnPart> parts;
  std::vector<DrawnLink> links;
  std::string description;
};

/// The looks of a link or part that is so busy: one of five CSS classes, u0 to u4.
const char* load_style(double utilisation);

/// Nothing where the parts are none or too many to draw.
std::string node_drawing(const NodeDrawing& node, double width);

} // namespace foretrain::experiments
