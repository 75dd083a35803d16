#include "models/collectives/collective.hpp"

#include "models/collectives/blocks.hpp"
#include "models/collectives/choice.hpp"
#include "models/collectives/pairwise.hpp"
#include "models/collectives/tuning.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

// Moved bytes per payload byte on a hop.
double expansion(sim::Reach reach, const Protocol& protocol)
{
  return 1 / (reach == sim::Reach::network ? protocol.network_payload : protocol.payload);
}

// Moved bytes of what is told of payload.
double expanded(const InsideBetween& payload, const Protocol& protocol)
{
  return payload.inside * expansion(sim::Reach::nvlink, protocol) +
         payload.between * expansion(sim::Reach::network, protocol);
}

Seconds protocol_latency(const LatencySteps& steps, const HopLatency& hop, double inside)
{
  return inside * (steps.nvlink * hop.nvlink + steps.pcie * hop.pcie) + steps.network * hop.network;
}

// With this as the unit of progress a collective competes for a link like the plain transfers that
// its hops are: one share for each channel that crosses it.
double busiest_hop(const Pattern& pattern, const Protocol& protocol)
{
  const InsideBetween most = pattern.loads.most();
  return std::max(expanded({most.inside, 0}, protocol), expanded({0, most.between}, protocol));
}

// What the protocol's table lets through one GPU; infinite: it has none.
BytesPerSecond bus_limit(const Protocol& protocol, const sim::Communicator& comm)
{
  if (protocol.bus_limits.empty())
    return BytesPerSecond(std::numeric_limits<double>::infinity());
  const BusLimit* limit = &protocol.bus_limits.front();
  for (const BusLimit& it : protocol.bus_limits)
    if (it.compute_capability <= comm.compute_capability && (comm.nodes == 1 || comm.amd_hosts))
      limit = &it;
  return comm.nodes == 1 ? limit->one_node : comm.nodes == 2 ? limit->two_nodes : limit->more_nodes;
}

// Buffer bytes per second that the protocol lets through one GPU, or its blocks move of a ring: bus
// bandwidth over what a rank sends on average of each byte of the buffer.
double protocol_rate(const Pattern& pattern, const Protocol& protocol,
                     const sim::Communicator& comm, bool ring)
{
  BytesPerSecond bus = bus_limit(protocol, comm);
  if (ring && protocol.ring_limit.value() > 0)
    bus = std::min(bus, protocol.ring_limit);
  const double sent = pattern.loads.bytes() / comm.ranks;
  return sent > 0 && std::isfinite(bus.value()) ? bus.value() / sent : sim::MaxMin::kNoCap;
}

Seconds base_latency(const Algorithm& algorithm, Family family, const Protocol& protocol)
{
  if (sends(algorithm.operation))
    return protocol.send_base;
  return family == Family::ring   ? protocol.ring_base
         : family == Family::tree ? protocol.tree_base
                                  : protocol.in_switch_base;
}

HopLatency hop_latency(const Algorithm& algorithm, Family family, const Protocol& protocol)
{
  if (sends(algorithm.operation))
    return protocol.send_hop;
  if (family == Family::in_switch) // the base covers the way through the switch
    return {{}, {}, protocol.tree_hop.network};
  return family == Family::ring ? protocol.ring_hop : protocol.tree_hop;
}

bool passes_pcie(const sim::Communicator& comm)
{
  for (const sim::Channel& channel : comm.channels)
    for (const sim::Hop& hop : channel.hops)
      if (hop.reach == sim::Reach::pcie)
        return true;
  return false;
}

bool usable(const Protocol& protocol, Family family, const sim::Communicator& comm)
{
  if (family == Family::in_switch && protocol.in_switch_base.value() <= 0)
    return false;
  if (!comm.in_order && protocol.kind() != ProtocolKind::simple)
    return false; // its flags in the data would lie
  return !protocol.nvlink_only || !passes_pcie(comm);
}

double call_time_of(const Library& library, const sim::Communicator& comm)
{
  return comm.nodes > 1      ? library.call_time_between_nodes
         : passes_pcie(comm) ? library.call_time_pcie
                             : library.call_time;
}

} // namespace

Collective::Collective(const sim::Engine& engine, sim::Communicator comm, Library library,
                       Operation operation, const std::string& algorithm)
    : engine_(engine), comm_(std::move(comm)), library_(std::move(library)),
      call_time_(call_time_of(library_, comm_)), automatic_(algorithm == "auto")
{
  if (comm_.ranks < 2)
    return;
  for (Protocol& protocol : library_.protocols)
    protocol =
        protocol.on(comm_.compute_capability, comm_.sockets ? library_.socket_step : Seconds{});
  if (library_.relays && comm_.relay)
    comm_.connect = comm_.relay;
  patterns_.reserve(algorithms(operation).size());
  for (const Algorithm* it : algorithms(operation)) {
    // Only all-reduce leaves the library a choice.
    const bool taken = algorithm != "auto" ? algorithm == it->name
                       : operation == Operation::all_reduce
                           ? library_.chooses(it->name, comm_.nodes)
                           : true;
    if (!taken || !it->applies(comm_))
      continue;
    patterns_.emplace_back();
    it->add_pattern(comm_, patterns_.back());
    patterns_.back().loads.finish(); // lists nothing: edge_paths() asks again for each hop
    const Pattern& pattern = patterns_.back();
    for (const Protocol& protocol : library_.protocols) {
      if (!usable(protocol, pattern.family, comm_))
        continue;
      const Seconds base = base_latency(*it, pattern.family, protocol);
      const HopLatency hop = hop_latency(*it, pattern.family, protocol);
      candidates_.push_back({it,
                             &protocol,
                             patterns_.size() - 1,
                             base + protocol_latency(pattern.steps, hop, inside_factor(protocol)) +
                                 pattern.steps.doublings * protocol.peers + pattern.steps.transport,
                             idle_rate(*it, pattern, protocol),
                             rate_of_links(loaded(pattern, protocol), pattern),
                             busiest_hop(pattern, protocol),
                             nullptr,
                             {}});
    }
  }
  if (candidates_.empty() && operation == Operation::all_to_all && comm_.ranks > kMostPairwise)
    throw UsageError(fmt::format("{} GPUs are more than send to each other here\n  hint: up to {} "
                                 "may, each to all others",
                                 comm_.ranks, kMostPairwise));
  if (candidates_.empty()) {
    const std::vector<std::string> known = algorithm_names(operation);
    const bool is_known = std::find(known.begin(), known.end(), algorithm) != known.end();
    throw UsageError("the algorithm '" + algorithm + "' does not apply to " +
                     (comm_.name.empty() ? "these GPUs" : comm_.name) + "\n  hint: " +
                     (is_known ? "these GPUs, their links or switches do not do what it asks for; "
                                 "\"auto\" takes one that works"
                               : suggestion(algorithm, known, "algorithms")));
  }
}

// What protocol and algorithm let through one GPU, in bytes of the buffer per second.
double Collective::limit_of(const Algorithm& algorithm, const Pattern& pattern,
                            const Protocol& protocol) const
{
  if (by_rounds(pattern, protocol))
    return sends(algorithm.operation)
               ? sim::MaxMin::kNoCap
               : round_of_ring(comm_) /
                     (steps_of_blocks(comm_, algorithm.operation) * protocol.round.value());
  const bool ring = pattern.family == Family::ring && !sends(algorithm.operation);
  const double limit = protocol_rate(pattern, protocol, comm_, ring);
  const double tree = library_.estimate == Estimate::nccl_2_5 && pattern.family == Family::tree
                          ? tree_limit(library_.version, comm_)
                          : 0;
  if (tree <= 0)
    return limit;
  return limit > 0 ? std::min(limit, tree) : tree;
}

// LL inside a node, rings and sends: where it is known how long a block's threads take to go round.
bool Collective::by_rounds(const Pattern& pattern, const Protocol& protocol) const
{
  return protocol.kind() == ProtocolKind::ll && protocol.round.value() > 0 && comm_.nodes == 1 &&
         comm_.ring_graph.nvlink && pattern.family == Family::ring;
}

// Bytes per second of what stays on a GPU; 0: no cost is known, or in the rounds of its blocks.
double Collective::local_copy(const Pattern& pattern, const Protocol& protocol) const
{
  if (by_rounds(pattern, protocol))
    return 0;
  return library_.local_copy(comm_.compute_capability, pattern.to_itself).value();
}

Collective::Loaded Collective::loaded(const Pattern& pattern, const Protocol& protocol) const
{
  const InsideBetween caps = pattern.loads.caps();
  Loaded all{{},
             std::min(caps.inside / expansion(sim::Reach::nvlink, protocol),
                      caps.between / expansion(sim::Reach::network, protocol))};
  for (const InsideBetween& sum : pattern.loads.sums())
    all.weight.push_back(expanded(sum, protocol));
  return all;
}

// What idle links let through, whatever the protocol.
double Collective::rate_of_links(const Loaded& all, const Pattern& pattern) const
{
  double rate = all.cap;
  for (int resource = 0; resource < pattern.loads.resources(); ++resource)
    if (const std::size_t sum = pattern.loads.sum_of(resource); sum > 0)
      rate = std::min(rate, engine_.capacity({resource}) / all.weight[sum]);
  return rate;
}

double Collective::idle_rate(const Algorithm& algorithm, const Pattern& pattern,
                             const Protocol& protocol) const
{
  const double most = limit_of(algorithm, pattern, protocol);
  double rate = rate_of_links(loaded(pattern, protocol), pattern);
  if (most > 0)
    rate = std::min(rate, most);
  const double local = local_copy(pattern, protocol);
  return local > 0 ? 1 / (1 / rate + pattern.own / local) : rate;
}

// Bytes of the buffer per second at most, on any machine: while blocks move what stays on their GPU
// the links idle, so that an idle machine's rate is the most there is.
double Collective::most_of(const Candidate& candidate) const
{
  const Pattern& pattern = patterns_[candidate.pattern];
  const bool stays = pattern.own > 0 && local_copy(pattern, *candidate.protocol) > 0;
  const double most =
      stays ? candidate.rate : limit_of(*candidate.algorithm, pattern, *candidate.protocol);
  return most / std::min(1.0, call_time_);
}

// A call that is slower than told keeps its links busy for longer; one that is faster hurries the
// library, and no link carries more.
double Collective::busy_factor() const
{
  return std::max(1.0, call_time_);
}

sim::PathPtr Collective::coupled_path(const Candidate& candidate) const
{
  if (candidate.coupled)
    return candidate.coupled;
  const Loaded all = loaded(patterns_[candidate.pattern], *candidate.protocol);
  const double most = most_of(candidate);
  const double rate = most > 0 ? std::min(most, all.cap) : all.cap;
  const double cap =
      rate < std::numeric_limits<double>::infinity() ? rate * candidate.unit : sim::MaxMin::kNoCap;
  // A flow is as fast as its most loaded resource lets it be: of those that are alike one is
  // enough.
  std::set<std::tuple<int, double, std::size_t>> known;
  std::vector<sim::Use> uses; // each resource once
  const Loads& loads = patterns_[candidate.pattern].loads;
  for (int resource = 0; resource < loads.resources(); ++resource) {
    const std::size_t sum = loads.sum_of(resource);
    if (sum == 0)
      continue;
    const int number = comm_.alike ? comm_.alike(resource) : -1;
    if (number < 0 || known.emplace(number, engine_.capacity({resource}), sum).second)
      uses.push_back({resource, all.weight[sum] / candidate.unit});
  }
  candidate.coupled = sim::make_path(std::move(uses), {}, cap);
  return candidate.coupled;
}

// The path for one of `per_buffer_byte` units of progress per byte of the buffer, of which each
// moves `bytes` of payload over the hop.
sim::PathPtr Collective::hop_path(const Candidate& candidate, const sim::Hop& hop, double bytes,
                                  double per_buffer_byte) const
{
  const double moved = bytes * expansion(hop.reach, *candidate.protocol);
  std::vector<sim::Use> uses = hop.uses;
  for (sim::Use& use : uses)
    use.weight *= moved;
  const double most = most_of(candidate);
  double cap = most > 0 ? most * per_buffer_byte : sim::MaxMin::kNoCap;
  if (hop.cap > 0)
    cap = cap > 0 ? std::min(cap, hop.cap / moved) : hop.cap / moved;
  return sim::make_path(std::move(uses), {}, cap);
}

const std::vector<sim::PathPtr>& Collective::edge_paths(const Candidate& candidate) const
{
  if (candidate.edges.empty()) {
    Pattern pattern;
    pattern.loads = Loads(true);
    candidate.algorithm->add_pattern(comm_, pattern);
    for (const Load& load : pattern.loads.each())
      candidate.edges.push_back(
          hop_path(candidate, load.hop, load.bytes / candidate.unit, candidate.unit));
  }
  return candidate.edges;
}

// Who is told which algorithm to take chooses the protocol as ever; algorithms that the library
// does not have run as fast as they can.
bool Collective::by_library(const Candidate& candidate) const
{
  return automatic_ || library_.chooses(candidate.algorithm->name, comm_.nodes);
}

Collective::Choice Collective::describe(const Candidate& c, Bytes size) const
{
  const Seconds latency = latency_of(c, size);
  const double rate = std::min(c.rate / call_time_, c.links / busy_factor());
  return {c.algorithm->name,
          c.protocol->name,
          latency,
          BytesPerSecond(rate),
          latency + Seconds(size.value() / rate),
          by_library(c) ? expected_time(library_, comm_,
                                        {patterns_[c.pattern].family, c.protocol, latency, rate},
                                        c.algorithm->operation, size.value())
                        : (latency + Seconds(size.value() / rate)).value(),
          static_cast<std::size_t>(&c - candidates_.data())};
}

std::vector<Collective::Choice> Collective::candidates(Bytes size) const
{
  std::vector<Choice> choices;
  for (const Candidate& candidate : candidates_)
    choices.push_back(describe(candidate, size));
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.expected != b.expected ? a.expected < b.expected : a.time < b.time;
  });
  return choices;
}

Collective::Choice Collective::choose(Bytes size) const
{
  return candidates(size).front();
}

double Collective::used(sim::ResourceId resource) const
{
  const Candidate& chosen = candidates_[choose(Bytes(1e9)).index];
  const Loads& loads = patterns_[chosen.pattern].loads;
  return expanded(loads.sums()[loads.sum_of(resource.value)], *chosen.protocol) * busy_factor();
}

sim::TaskId Collective::add(sim::TaskGraph& graph, sim::TaskId begin, Bytes size, int index,
                            Fidelity fidelity, std::vector<sim::TaskId>& flows) const
{
  const Candidate& chosen = candidates_[choose(size).index];
  const double work = size.value() * chosen.unit * busy_factor();
  const auto flow = [&](const sim::PathPtr& path, sim::TaskId after) {
    const sim::TaskId task = graph.add_flow("collective", index, path, work);
    graph.add_edge(after, task);
    graph.keep_limits(task);
    flows.push_back(task);
    return task;
  };
  if (fidelity == Fidelity::chunks && chosen.algorithm->chunks != nullptr) {
    const Family family = patterns_[chosen.pattern].family;
    const HopLatency per_hop = hop_latency(*chosen.algorithm, family, *chosen.protocol);
    const double slower =
        chosen.latency.value() > 0 ? latency_of(chosen, size) / chosen.latency : 1;
    const Seconds base = slower * base_latency(*chosen.algorithm, family, *chosen.protocol);
    const sim::TaskId call = graph.add_delay("collective call", index, base);
    graph.add_edge(begin, call);
    const ChunkSchedule schedule{
        graph,
        call,
        size.value(),
        index,
        [&](const Load& load) {
          return hop_path(chosen, load.hop, busy_factor(), load.bytes / busy_factor());
        },
        [&](const sim::Hop& hop) {
          LatencySteps one;
          one.add(hop, 1);
          return slower *
                 (protocol_latency(one, per_hop, inside_factor(*chosen.protocol)) + hop.latency);
        }};
    return chosen.algorithm->chunks(comm_, schedule);
  }
  // Where steps are set shorter than the first round that is in them, bytes flow all the same.
  const sim::TaskId latency =
      graph.add_delay("collective latency", index, std::max(Seconds(0), latency_of(chosen, size)));
  graph.add_edge(begin, latency);
  if (fidelity != Fidelity::edges)
    return flow(coupled_path(chosen), latency);
  const sim::TaskId done = graph.add_join("collective", index);
  for (const sim::PathPtr& path : edge_paths(chosen))
    graph.add_edge(flow(path, latency), done);
  return done;
}

} // namespace foretrain::models
