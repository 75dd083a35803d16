// How the gradients of a bucket become the same on all ranks: what a training job asks of an
// all-reduce or of parameter servers.
#pragma once

#include "models/collectives/collective.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

class Synchroniser {
public:
  virtual ~Synchroniser() = default;

  /// Adds the synchronisation of one bucket of `size` bytes per rank, which begins after `begin`;
  /// returns its end. Buckets are added in the order in which they leave. Tasks whose limits are
  /// kept are appended to `flows`.
  virtual sim::TaskId add(sim::TaskGraph& graph, sim::TaskId begin, Bytes size, int index,
                          Fidelity fidelity, std::vector<sim::TaskId>& flows) = 0;
  /// Called once after the last bucket: what brings each bucket's values to the GPUs from the
  /// beginning of the next step on, in the order of the buckets; empty where they are there when a
  /// bucket has ended.
  virtual std::vector<sim::TaskId> fetch(sim::TaskGraph& graph, Fidelity fidelity,
                                         std::vector<sim::TaskId>& flows);
  /// Whether a bucket waits for the one before it, like calls on one stream.
  virtual bool in_order() const = 0;
  /// "all-reduce" or "parameter servers".
  virtual const char* name() const = 0;
  /// How a bucket of this size is synchronised, in a few words.
  virtual std::string summary(Bytes size, Fidelity fidelity) const = 0;
  /// Units of a resource that a byte of a bucket takes; 0 where that is not known beforehand.
  virtual double used(sim::ResourceId resource, Fidelity fidelity) const;
  /// What a bucket of this size is called in a timeline.
  virtual std::string call(Bytes size, Fidelity fidelity) const = 0;
};

/// Each bucket is one call of an all-reduce.
class AllReduce final : public Synchroniser {
public:
  explicit AllReduce(std::shared_ptr<const Collective> collective)
      : collective_(std::move(collective))
  {
  }
  sim::TaskId add(sim::TaskGraph& graph, sim::TaskId begin, Bytes size, int index,
                  Fidelity fidelity, std::vector<sim::TaskId>& flows) override;
  bool in_order() const override { return true; }
  const char* name() const override { return "all-reduce"; }
  std::string summary(Bytes size, Fidelity fidelity) const override;
  std::string call(Bytes size, Fidelity fidelity) const override;
  double used(sim::ResourceId resource, Fidelity fidelity) const override;

private:
  std::shared_ptr<const Collective> collective_;
};

} // namespace foretrain::models
