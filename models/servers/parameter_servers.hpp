// Parameter servers: workers push gradients, servers add them on their cores, workers pull the
// sums.
//
// A piece (a tensor, or a partition of one) passes through stages that each take one piece after
// the other, so that pieces follow each other in a pipeline: addition among the GPUs of a worker,
// copy to host memory, push, sum, pull, copy to the GPUs, distribution among them. Per step every
// worker sends and receives each byte once; a server takes in and gives out the bytes of its
// pieces once per worker:
//
//   bytes through a server, each way = workers x gradient bytes / servers
//
// where they are spread evenly (server_shards.hpp).
// A request to pull travels on the connection of the pushes, in order: it waits for what has been
// handed to the connection before. Li et al., "Scaling Distributed Machine Learning with the
// Parameter Server", OSDI 2014; Jiang et al., "A Unified Architecture for Accelerating Distributed
// DNN Training in Heterogeneous GPU/CPU Clusters" (BytePS), OSDI 2020.
#pragma once

#include "models/servers/server_shards.hpp"
#include "models/servers/synchroniser.hpp"
#include "sim/engine/server_links.hpp"

#include <map>
#include <memory>

namespace foretrain::models {

class ParameterServers final : public Synchroniser {
public:
  /// Without servers the workers' GPUs only add among themselves: one worker. The engine must
  /// outlive this. `library` and `algorithm` serve the additions inside workers.
  ParameterServers(sim::Engine& engine, sim::ServerLinks links, ServerRules rules,
                   const Library& library, const std::string& algorithm);

  sim::TaskId add(sim::TaskGraph& graph, sim::TaskId begin, Bytes size, int index,
                  Fidelity fidelity, std::vector<sim::TaskId>& flows) override;
  bool fetches() const override { return rules_.pull == ServerPull::step; }
  std::vector<sim::TaskId> fetch(sim::TaskGraph& graph, Fidelity fidelity,
                                 std::vector<sim::TaskId>& flows) override;
  const char* name() const override { return "parameter servers"; }
  std::string summary(Bytes size, Fidelity fidelity) const override;
  std::string call(Bytes size, Fidelity fidelity) const override;

  const sim::ServerLinks& links() const { return links_; }

private:
  // One way for all workers at once, or one for each: see Fidelity.
  using Ways = std::vector<sim::PathPtr>;
  struct Link { // to one server
    Ways push, pull;
    Seconds latency;
  };
  // What is handed to a connection and what has left it, over all steps.
  struct Connection {
    int queued = 0;
    int sent = 0;
    std::vector<std::pair<int, std::function<void()>>> waiting;
  };
  struct Piece {
    Bytes size;
    int server;
    int index;
  };
  class Stages;

  Ways ways(const std::vector<sim::Hop>& hops, bool with_latency, Fidelity fidelity) const;
  const Link& link(int server, Fidelity fidelity);
  sim::TaskId push(Stages& stages, sim::TaskId begin, const Piece& piece);
  sim::ResourceId summation_thread(std::size_t server, std::size_t thread);
  sim::TaskId sum(Stages& stages, sim::TaskId pushed, const Piece& piece);
  sim::TaskId pull(Stages& stages, sim::TaskId summed, const Piece& piece);
  sim::TaskId request(Stages& stages, const Piece& piece, std::size_t way);
  sim::TaskId local(Stages& stages, const std::vector<std::unique_ptr<Collective>>& calls,
                    const char* stage, sim::TaskId begin, const Piece& piece);

  sim::Engine& engine_;
  sim::ServerLinks links_;
  ServerRules rules_;
  ServerShards shards_;
  std::vector<std::unique_ptr<Collective>> reduce_, gather_; // of each worker with several GPUs
  Ways to_host_, to_device_;                                 // made when first used
  std::map<int, Link> known_;                                // by server
  std::map<std::pair<int, std::size_t>, std::shared_ptr<Connection>> connections_;
  std::map<std::pair<std::size_t, std::size_t>, sim::ResourceId> threads_; // server, thread
  std::map<std::tuple<std::string, int, std::size_t>, sim::TaskId> last_;  // piece in each stage
  std::vector<std::vector<Piece>> left_to_pull_;                           // of each bucket
  int next_ = 0;
};

} // namespace foretrain::models
