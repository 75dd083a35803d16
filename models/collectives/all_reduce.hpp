// All-reduce on one communicator: chooses algorithm and protocol by size, and builds the tasks.
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

/// The list of all-reduce algorithms. To add one: write its file, add its line in all_reduce.cpp.
std::span<const AllReduceAlgorithm> all_reduce_algorithms();
std::vector<std::string> all_reduce_names(); // with "auto" in front

class AllReduce {
public:
  /// `algorithm`: one of all_reduce_names(). The engine must outlive this.
  AllReduce(const sim::Engine& engine, sim::Communicator comm, Library library,
            const std::string& algorithm);

  struct Choice {
    const char* algorithm = "";
    std::string protocol;
    Seconds latency;
    BytesPerSecond rate; // of the buffer on an idle machine
    Seconds time;        // for the size asked for, on an idle machine
    std::size_t index = 0;
  };
  /// The cheapest candidate for this size on an idle machine.
  Choice choose(Bytes size) const;
  /// Every candidate, cheapest first.
  std::vector<Choice> candidates(Bytes size) const;

  /// Adds an all-reduce of `size` bytes per rank that begins after `begin`; returns its end.
  /// Tasks whose limits are kept are appended to `flows`.
  sim::TaskId add(sim::TaskGraph& graph, sim::TaskId begin, Bytes size, int index,
                  Fidelity fidelity, std::vector<sim::TaskId>& flows) const;

  const sim::Communicator& communicator() const { return comm_; }
  const Library& library() const { return library_; }

private:
  struct Candidate {
    const AllReduceAlgorithm* algorithm;
    const Protocol* protocol;
    std::size_t pattern; // index into patterns_
    Seconds latency;
    double rate; // bytes of buffer per second, idle
    double
        unit; // bytes the busiest hop moves per byte of buffer: the unit of progress of the flows
    mutable sim::PathPtr coupled;            // made when first used
    mutable std::vector<sim::PathPtr> edges; // likewise
  };
  double idle_rate(const Pattern& pattern, const Protocol& protocol) const;
  sim::PathPtr coupled_path(const Candidate& candidate) const;
  const std::vector<sim::PathPtr>& edge_paths(const Candidate& candidate) const;
  Choice describe(const Candidate& candidate, Bytes size) const;

  const sim::Engine& engine_;
  sim::Communicator comm_;
  Library library_;
  std::vector<Pattern> patterns_;
  std::vector<Candidate> candidates_;
};

} // namespace foretrain::models
