#include "models/servers/parameter_servers.hpp"

#include "models/training/fetch.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::models {

using sim::TaskId;

namespace {
// A sum reads two streams and writes one.
constexpr double kMemoryPassesOfSum = 3;
} // namespace

// The graph under construction, and the order of pieces in its stages.
class ParameterServers::Stages {
public:
  Stages(ParameterServers& owner, sim::TaskGraph& graph, Fidelity fidelity,
         std::vector<TaskId>& flows)
      : owner_(owner), graph_(graph), fidelity_(fidelity), flows_(flows)
  {
  }

  sim::TaskGraph& graph() { return graph_; }
  Fidelity fidelity() const { return fidelity_; }
  std::vector<TaskId>& flows() { return flows_; }

  // The piece waits for the one before it in this lane of the stage.
  TaskId enter(const char* stage, int server, std::size_t lane, TaskId after, int index)
  {
    const TaskId turn = graph_.add_join(stage, index);
    graph_.add_edge(after, turn);
    if (const auto before = owner_.last_.find({stage, server, lane}); before != owner_.last_.end())
      graph_.add_edge(before->second, turn);
    return turn;
  }
  void leave(const char* stage, int server, std::size_t lane, TaskId end)
  {
    owner_.last_[{stage, server, lane}] = end;
  }
  TaskId delay(const char* label, int index, Seconds duration, TaskId after)
  {
    if (duration.value() <= 0)
      return after;
    const TaskId task = graph_.add_delay(label, index, duration);
    graph_.add_edge(after, task);
    return task;
  }
  TaskId flow(const char* label, int index, const sim::PathPtr& path, double amount, TaskId after)
  {
    const TaskId task = graph_.add_flow(label, index, path, amount);
    graph_.add_edge(after, task);
    graph_.keep_limits(task);
    flows_.push_back(task);
    return task;
  }
  // All ways of a stage that holds one piece at a time.
  TaskId copy(const char* stage, const Ways& ways, const Piece& piece, TaskId after)
  {
    const TaskId turn = enter(stage, 0, 0, after, piece.index);
    const TaskId done = graph_.add_join(stage, piece.index);
    for (const sim::PathPtr& way : ways)
      graph_.add_edge(flow(stage, piece.index, way, piece.size.value(), turn), done);
    leave(stage, 0, 0, done);
    return done;
  }

private:
  ParameterServers& owner_;
  sim::TaskGraph& graph_;
  Fidelity fidelity_;
  std::vector<TaskId>& flows_;
};

ParameterServers::ParameterServers(sim::Engine& engine, sim::ServerLinks links, ServerRules rules,
                                   const Library& library, const std::string& algorithm)
    : engine_(engine), links_(std::move(links)), rules_(rules), shards_(rules, links_.servers)
{
  for (const sim::Communicator& comm : links_.local) {
    if (comm.ranks < 2)
      continue;
    const auto make = [&](Operation operation) {
      return std::make_unique<Collective>(engine_, comm, library, operation, algorithm);
    };
    reduce_.push_back(make(Operation::reduce_scatter));
    gather_.push_back(make(Operation::all_gather));
  }
}

ParameterServers::Ways ParameterServers::ways(const std::vector<sim::Hop>& hops, bool with_latency,
                                              Fidelity fidelity) const
{
  Ways ways;
  std::vector<sim::Use> uses;
  double cap = sim::MaxMin::kNoCap;
  Seconds latency;
  for (const sim::Hop& hop : hops) {
    const Seconds own = with_latency ? hop.latency : Seconds(0);
    if (fidelity != Fidelity::coupled) {
      ways.push_back(sim::make_path(hop.uses, own, hop.cap));
      continue;
    }
    uses.insert(uses.end(), hop.uses.begin(), hop.uses.end());
    if (hop.cap > 0)
      cap = cap > 0 ? std::min(cap, hop.cap) : hop.cap;
    latency = std::max(latency, own);
  }
  if (fidelity == Fidelity::coupled)
    ways.push_back(sim::make_path(std::move(uses), latency, cap));
  return ways;
}

const ParameterServers::Link& ParameterServers::link(int server, Fidelity fidelity)
{
  const auto [at, added] = known_.try_emplace(server);
  if (added) {
    std::vector<sim::Hop> push;
    std::vector<sim::Hop> pull;
    for (int worker = 0; worker < links_.workers; ++worker) {
      push.push_back(links_.push(worker, server));
      pull.push_back(links_.pull(worker, server));
      at->second.latency = std::max(at->second.latency, push.back().latency);
    }
    at->second.push = ways(push, false, fidelity);
    at->second.pull = ways(pull, false, fidelity);
  }
  return at->second;
}

TaskId ParameterServers::local(Stages& stages,
                               const std::vector<std::unique_ptr<Collective>>& calls,
                               const char* stage, TaskId begin, const Piece& piece)
{
  if (calls.empty())
    return begin;
  const TaskId done = stages.graph().add_join(stage, piece.index);
  for (std::size_t w = 0; w < calls.size(); ++w) {
    const TaskId turn = stages.enter(stage, 0, w, begin, piece.index);
    const Fidelity fidelity =
        stages.fidelity() == Fidelity::edges ? Fidelity::edges : Fidelity::coupled;
    const TaskId end =
        calls[w]->add(stages.graph(), turn, piece.size, piece.index, fidelity, stages.flows());
    stages.leave(stage, 0, w, end);
    stages.graph().add_edge(end, done);
  }
  return done;
}

TaskId ParameterServers::push(Stages& stages, TaskId begin, const Piece& piece)
{
  const Link& link = this->link(piece.server, stages.fidelity());
  const TaskId pushed = stages.graph().add_join("pushed", piece.index);
  for (std::size_t way = 0; way < link.push.size(); ++way) {
    auto& connection = connections_[{piece.server, way}];
    if (!connection)
      connection = std::make_shared<Connection>();
    const auto count = [&](const char* label, TaskId after, auto what) {
      const TaskId task = stages.graph().add_delay(label, piece.index, [connection, what](Seconds) {
        what(*connection);
        return Seconds(0);
      });
      stages.graph().add_edge(after, task);
      return task;
    };
    const TaskId queued = count("hand to connection", begin, [](Connection& c) { ++c.queued; });
    TaskId turn = stages.enter("push", piece.server, way, queued, piece.index);
    turn = stages.delay("message", piece.index, rules_.message, turn);
    const TaskId moved = stages.flow("push", piece.index, link.push[way], piece.size.value(), turn);
    stages.leave("push", piece.server, way, moved);
    sim::Engine& engine = engine_;
    const TaskId sent = count("sent", moved, [&engine](Connection& c) {
      ++c.sent;
      const auto ready = std::stable_partition(c.waiting.begin(), c.waiting.end(),
                                               [&](const auto& w) { return w.first > c.sent; });
      for (auto it = ready; it != c.waiting.end(); ++it)
        engine.after(Seconds(0), std::move(it->second));
      c.waiting.erase(ready, c.waiting.end());
    });
    stages.graph().add_edge(stages.delay("latency", piece.index, link.latency, sent), pushed);
  }
  return pushed;
}

// A resource of its own, so that it can be told from connections when it limits.
sim::ResourceId ParameterServers::summation_thread(std::size_t server, std::size_t thread)
{
  const auto [at, added] = threads_.try_emplace({server, thread});
  if (added) {
    const int node = engine_.resource({links_.cores[server]}).node;
    at->second = engine_.add_resource({sim::ResourceKind::summation_thread, node, ""},
                                      rules_.sum_rate.value());
  }
  return at->second;
}

// One thread adds what all workers pushed of a piece; pieces take turns on the threads.
TaskId ParameterServers::sum(Stages& stages, TaskId pushed, const Piece& piece)
{
  const auto server = static_cast<std::size_t>(piece.server);
  const double rate = rules_.sum_rate.value();
  std::vector<sim::Use> uses{{links_.cores[server], 1 / rate},
                             {links_.memory[server], kMemoryPassesOfSum}};
  const std::size_t thread =
      rules_.sum_threads > 0
          ? static_cast<std::size_t>(piece.index / links_.servers % rules_.sum_threads)
          : 0;
  const bool bound = rules_.sum_threads > 0;
  if (bound)
    uses.push_back({summation_thread(server, thread).value, 1});
  const sim::PathPtr path = sim::make_path(std::move(uses), {}, sim::MaxMin::kNoCap);
  const TaskId turn =
      bound ? stages.enter("sum", piece.server, thread, pushed, piece.index) : pushed;
  const double streams = links_.workers + (rules_.updates ? 1 : 0);
  const TaskId done = stages.flow("sum", piece.index, path, streams * piece.size.value(), turn);
  if (bound)
    stages.leave("sum", piece.server, thread, done);
  return done;
}

// The request to pull waits until all that was handed to the connection before has left.
TaskId ParameterServers::request(Stages& stages, const Piece& piece, std::size_t way)
{
  const std::shared_ptr<Connection> connection = connections_.at({piece.server, way});
  return stages.graph().add_foreign(
      "request to pull", piece.index, [this, connection](std::function<void()> done) {
        if (connection->sent >= connection->queued)
          engine_.after(Seconds(0), std::move(done));
        else
          connection->waiting.emplace_back(connection->queued, std::move(done));
      });
}

TaskId ParameterServers::pull(Stages& stages, TaskId ready, const Piece& piece)
{
  const Link& link = this->link(piece.server, stages.fidelity());
  const TaskId pulled = stages.graph().add_join("pulled", piece.index);
  for (std::size_t way = 0; way < link.pull.size(); ++way) {
    TaskId turn = stages.enter("pull", piece.server, way, ready, piece.index);
    turn = stages.delay("message", piece.index, rules_.message, turn);
    const TaskId moved = stages.flow("pull", piece.index, link.pull[way], piece.size.value(), turn);
    stages.leave("pull", piece.server, way, moved);
    stages.graph().add_edge(stages.delay("latency", piece.index, link.latency, moved), pulled);
  }
  if (to_device_.empty())
    to_device_ = ways(links_.to_device, true, stages.fidelity());
  const TaskId copied = stages.copy("copy to GPUs", to_device_, piece, pulled);
  return local(stages, gather_, "distribute in node", copied, piece);
}

TaskId ParameterServers::add(sim::TaskGraph& graph, TaskId begin, Bytes size, int index,
                             Fidelity fidelity, std::vector<TaskId>& flows)
{
  Stages stages(*this, graph, fidelity, flows);
  const TaskId done = graph.add_join("bucket synchronised", index);
  if (to_host_.empty())
    to_host_ = ways(links_.to_host, true, fidelity);
  if (rules_.pull == ServerPull::step && links_.servers > 0)
    left_to_pull_.emplace_back();
  for (const Shard& shard : shards_.of(size, index)) {
    const Piece piece{shard.size, shard.server, next_++};
    TaskId end = local(stages, reduce_, "add in node", begin, piece);
    if (links_.servers == 0) {
      graph.add_edge(local(stages, gather_, "distribute in node", end, piece), done);
      continue;
    }
    end = stages.copy("copy to host", to_host_, piece, end);
    const TaskId pushed = push(stages, end, piece);
    const TaskId summed = sum(stages, pushed, piece);
    if (rules_.pull == ServerPull::step) {
      left_to_pull_.back().push_back(piece);
      graph.add_edge(summed, done);
      continue;
    }
    const TaskId ready = graph.add_join("ready to pull", piece.index);
    graph.add_edge(summed, ready);
    const std::size_t connections = link(piece.server, fidelity).push.size();
    const Seconds latency = link(piece.server, fidelity).latency;
    for (std::size_t way = 0; way < connections; ++way) {
      const TaskId asked = request(stages, piece, way);
      graph.add_edge(stages.delay("latency", piece.index, latency, pushed), asked);
      graph.add_edge(stages.delay("latency", piece.index, latency, asked), ready);
    }
    graph.add_edge(pull(stages, ready, piece), done);
  }
  return done;
}

std::vector<TaskId> ParameterServers::fetch(sim::TaskGraph& graph, Fidelity fidelity,
                                            std::vector<TaskId>& flows)
{
  if (left_to_pull_.empty())
    return {};
  Stages stages(*this, graph, fidelity, flows);
  const TaskId begin = graph.add_join("step begins");
  std::vector<TaskId> fetched(left_to_pull_.size());
  for (const std::size_t b : fetched_in(rules_.fetch_order, left_to_pull_.size())) {
    fetched[b] = graph.add_join("variables fetched", static_cast<int>(b));
    for (const Piece& piece : left_to_pull_[b]) {
      const TaskId asked =
          stages.delay("latency", piece.index, link(piece.server, fidelity).latency, begin);
      graph.add_edge(pull(stages, asked, piece), fetched[b]);
    }
  }
  return fetched;
}

std::string ParameterServers::summary(Bytes, Fidelity) const
{
  if (links_.servers == 0)
    return "added among the GPUs of the node";
  const std::string size = to_text(rules_.partition);
  return fmt::format("{} parameter server{} for {} worker{}, {}", links_.servers,
                     links_.servers == 1 ? "" : "s", links_.workers, links_.workers == 1 ? "" : "s",
                     rules_.shard == ServerShard::bytes   ? "sharded by " + size
                     : rules_.shard == ServerShard::large ? "tensors from " + size + " on divided"
                                                          : "sharded by tensor");
}

std::string ParameterServers::call(Bytes, Fidelity) const
{
  return links_.servers > 0 ? "push and pull" : "add in node";
}

} // namespace foretrain::models
