// A node as a picture shows it: its parts, and the links between them, each with the resources
// whose use tells how busy it is.
#pragma once

#include "platforms/node_graph.hpp"
#include "sim/engine/engine.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

struct ViewedPart {
  std::string name; // gpu0, plx0, socket0, ib0
  PartKind kind = PartKind::gpu;
  sim::ResourceId resource; // of its own: arithmetic of a GPU, memory of a socket; or none, -1
};

struct ViewedLink {
  std::string kind; // nvlink, pcie, socket-link, network
  std::string from; // a part; of NVLink through a switch and of networks, `to` is "nvswitch" or
  std::string to;   // the network's name
  BytesPerSecond capacity; // each direction
  sim::ResourceId there;
  sim::ResourceId back;
};

struct NodeView {
  std::vector<ViewedPart> parts;
  std::vector<ViewedLink> links;
  sim::ResourceId cores; // all of the node's
};

} // namespace foretrain::platforms
