// A collective operation on one communicator: chooses algorithm and protocol by size, and builds
// the tasks.
#pragma once

#include "models/collectives/pattern.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace foretrain::models {

/// How finely a collective is simulated. Found in every case measured: edges <= chunks <= coupled.
enum class Fidelity {
  coupled, // one flow over all edges, at the pace of the slowest
  edges,   // one flow per edge
  chunks,  // every chunk in every step
};
constexpr auto choices(Fidelity)
{
  return std::to_array<Choice<Fidelity>>(
      {{Fidelity::coupled, "coupled"}, {Fidelity::edges, "edges"}, {Fidelity::chunks, "chunks"}});
}

/// Every algorithm for an operation. To add one: write its file, add its line in algorithms.cpp.
std::vector<const Algorithm*> algorithms(Operation operation);
std::vector<std::string> algorithm_names(Operation operation); // with "auto" in front
std::vector<std::string> algorithm_names();                    // likewise, of all operations

class Collective {
public:
  /// `algorithm`: one of algorithm_names(operation). The engine must outlive this. Throws
  /// UsageError when the algorithm does not apply to the communicator.
  Collective(const sim::Engine& engine, sim::Communicator comm, Library library,
             Operation operation, const std::string& algorithm);

  struct Choice {
    const char* algorithm = "";
    std::string protocol;
    Seconds latency;
    BytesPerSecond rate; // of the buffer on an idle machine
    Seconds time;        // for the size asked for, on an idle machine
    double expected = 0; // the same as the library expects it, in seconds
    std::size_t index = 0;
  };
  bool empty() const { return candidates_.empty(); } // one rank: nothing to do
  /// The candidate that the library takes for this size: the cheapest by its own estimate.
  Choice choose(Bytes size) const;
  /// Every candidate, the one that the library expects to be the cheapest first.
  std::vector<Choice> candidates(Bytes size) const;

  /// Adds a call of `size` bytes per rank that begins after `begin`; returns its end.
  /// Tasks whose limits are kept are appended to `flows`.
  sim::TaskId add(sim::TaskGraph& graph, sim::TaskId begin, Bytes size, int index,
                  Fidelity fidelity, std::vector<sim::TaskId>& flows) const;

  /// Units of a resource that a large call takes per byte.
  double used(sim::ResourceId resource) const;

  const sim::Communicator& communicator() const { return comm_; }
  const Library& library() const { return library_; }

private:
  struct Candidate {
    const Algorithm* algorithm;
    const Protocol* protocol;
    std::size_t pattern; // index into patterns_
    Seconds latency;
    double rate;  // bytes of buffer per second, idle
    double links; // what links alone would let through of it
    double
        unit; // bytes the busiest hop moves per byte of buffer: the unit of progress of the flows
    mutable sim::PathPtr coupled;            // made when first used
    mutable std::vector<sim::PathPtr> edges; // likewise
  };
  bool by_library(const Candidate& candidate) const;
  double inside_factor(const Protocol& protocol) const;
  Seconds latency_of(const Candidate& candidate, Bytes size) const;
  Seconds call_latency(const Candidate& candidate, Bytes size) const;
  Seconds rendezvous(const Candidate& candidate, Bytes size) const;
  Seconds filled(const Candidate& candidate, Bytes size) const;
  Seconds switch_pipeline(const Candidate& candidate, Bytes size) const;
  Seconds tree_pipeline(const Candidate& candidate, Bytes size) const;
  Seconds cut_send(const Candidate& candidate, Bytes size) const;
  Seconds few_channels(const Candidate& candidate, Bytes size) const;
  bool by_rounds(const Pattern& pattern, const Protocol& protocol) const;
  double local_copy(const Pattern& pattern, const Protocol& protocol) const;
  double limit_of(const Algorithm& algorithm, const Pattern& pattern,
                  const Protocol& protocol) const;
  /// What each byte of the buffer uses of every resource, and what hops let through at most.
  struct Loaded {
    std::vector<double> weight; // by number of the pattern's sums
    double cap;                 // bytes of the buffer per second
  };
  Loaded loaded(const Pattern& pattern, const Protocol& protocol) const;
  double rate_of_links(const Loaded& all, const Pattern& pattern) const;
  double idle_rate(const Algorithm& algorithm, const Pattern& pattern,
                   const Protocol& protocol) const;
  double most_of(const Candidate& candidate) const;
  double busy_factor() const;
  sim::PathPtr coupled_path(const Candidate& candidate) const;
  sim::PathPtr hop_path(const Candidate& candidate, const sim::Hop& hop, double bytes,
                        double per_buffer_byte) const;
  const std::vector<sim::PathPtr>& edge_paths(const Candidate& candidate) const;
  Choice describe(const Candidate& candidate, Bytes size) const;

  const sim::Engine& engine_;
  sim::Communicator comm_;
  Library library_;
  std::vector<Pattern> patterns_;
  std::vector<Candidate> candidates_;
  double call_time_ = 1;
  bool automatic_ = true;
};

} // namespace foretrain::models
