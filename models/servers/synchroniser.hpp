// How the gradients of a bucket become the same on all ranks where no collective of the GPUs'
// library does it: by parameter servers, or through host memory.
#pragma once

#include "models/collectives/collective.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

class Synchroniser {
public:
  virtual ~Synchroniser() = default;

  /// Adds the synchronisation of one bucket of `size` bytes per rank, which begins after `begin`;
  /// returns its end. Buckets are added in the order in which they leave, `index` is their number.
  /// Tasks whose limits are kept are appended to `flows`.
  virtual sim::TaskId add(sim::TaskGraph& graph, sim::TaskId begin, Bytes size, int index,
                          Fidelity fidelity, std::vector<sim::TaskId>& flows) = 0;
  /// Whether a step fetches the values of its buckets anew, layer by layer.
  virtual bool fetches() const { return false; }
  /// Called once after the last bucket: what brings each bucket's values to the GPUs from the
  /// beginning of the next step on, in the order of the buckets; empty where they are there when a
  /// bucket has ended.
  virtual std::vector<sim::TaskId> fetch(sim::TaskGraph& graph, Fidelity fidelity,
                                         std::vector<sim::TaskId>& flows);
  /// "all-reduce" or "parameter servers".
  virtual const char* name() const = 0;
  /// How a bucket of this size is synchronised, in a few words.
  virtual std::string summary(Bytes size, Fidelity fidelity) const = 0;
  /// What a bucket of this size is called in a timeline.
  virtual std::string call(Bytes size, Fidelity fidelity) const = 0;
};

} // namespace foretrain::models
