#include "models/plans/recorded_program.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using sim::OpId;
using sim::Phase;

// Ranks of a job that take part in one exchange together: `size` of them, `stride` apart.
struct Layout {
  int size = 1;
  int stride = 1;
  auto operator<=>(const Layout&) const = default;
};

Layout layout_of(const MeasuredExchange& exchange, const MeasuredSpec& measured, int ranks)
{
  if (exchange.group == 0 || exchange.group == measured.ranks)
    return {ranks, 1};
  return {exchange.group, exchange.stride};
}

Phase phase_of(const std::string& name)
{
  return name == "forward"     ? Phase::forward
         : name == "backward"  ? Phase::backward
         : name == "optimizer" ? Phase::optimizer
                               : Phase::framework;
}

sim::CollectiveKind kind_of(const std::string& name)
{
  for (const auto kind : {sim::CollectiveKind::all_reduce, sim::CollectiveKind::all_gather,
                          sim::CollectiveKind::reduce_scatter, sim::CollectiveKind::broadcast,
                          sim::CollectiveKind::all_to_all})
    if (name == sim::name_of(kind))
      return kind;
  throw std::logic_error("no collective is called '" + name + "'");
}

// The line that a rank of a job takes: in turn, or in blocks of neighbours.
int line_of(const MeasuredSpec& measured, int rank)
{
  const auto lines = static_cast<int>(measured.lines.size());
  return names_lines(measured) ? rank % measured.ranks / (measured.ranks / lines) : rank % lines;
}

// What an exchange is told under: experts (and tables of embeddings) exchange all to all.
Phase told_under(sim::CollectiveKind kind)
{
  return kind == sim::CollectiveKind::all_to_all ? Phase::expert : Phase::data;
}

// Whether of a group some ranks take part in an exchange and others do not.
bool splits_lines(const MeasuredExchange& exchange, const MeasuredSpec& measured,
                  const Layout& layout)
{
  if (exchange.lines.empty())
    return false;
  const int block = layout.size * layout.stride;
  for (int first = 0; first < std::max(measured.ranks, block); ++first)
    for (int rank = first; first % block < layout.stride && rank < first + block;
         rank += layout.stride)
      if (exchange.takes_part(line_of(measured, rank)) !=
          exchange.takes_part(line_of(measured, first)))
        return true;
  return false;
}

class RecordedWriter {
public:
  RecordedWriter(const MeasuredSpec& measured, const RecordedJob& job)
      : measured_(measured), job_(job)
  {
    program_.name = job.name;
    calls_.reserve(measured.exchanges.size());
    for (int rank = 0; rank < job.ranks; ++rank)
      program_.ranks.push_back({rank, 1});
    for (const MeasuredExchange& exchange : measured.exchanges)
      add(exchange);
    for (std::size_t e = 0; e < calls_.size(); ++e)
      add_streams(measured.exchanges[e], calls_[e]);
  }

  sim::Program write()
  {
    for (int rank = 0; rank < job_.ranks; ++rank)
      add_line(rank, measured_.lines[static_cast<std::size_t>(line_of(measured_, rank))]);
    return std::move(program_);
  }

private:
  // The groups of one layout, and the stream on which they exchange.
  struct Groups {
    int stream = 0;
    std::vector<int> numbers; // into the program's groups
  };

  // An exchange on each rank; none where the rank has no part in it.
  struct Call {
    std::vector<OpId> together, ends;
  };

  const Groups& groups(const Layout& layout)
  {
    Groups& known = groups_[layout];
    if (!known.numbers.empty())
      return known;
    known.stream = program_.add_stream(
        groups_.size() == 1 ? "communication" : fmt::format("communication {}", groups_.size()));
    const int block = layout.size * layout.stride;
    for (int first = 0; first < job_.ranks; ++first) {
      if (first % block >= layout.stride)
        continue;
      sim::WorkGroup group;
      group.name = fmt::format("{} ranks from {}", layout.size, first);
      group.devices.emplace_back();
      for (int i = 0; i < layout.size; ++i) {
        const int rank = first + i * layout.stride;
        group.ranks.push_back(rank);
        group.devices.front().push_back(rank);
      }
      known.numbers.push_back(program_.add_group(std::move(group)));
    }
    return known;
  }

  void add(const MeasuredExchange& exchange)
  {
    Call& call = calls_.emplace_back();
    const auto ranks = static_cast<std::size_t>(job_.ranks);
    call.together.resize(ranks);
    call.ends.resize(ranks);
    if (exchange.sends())
      add_sends(exchange, call);
    else
      add_collectives(exchange, call);
  }

  void add_collectives(const MeasuredExchange& exchange, Call& call)
  {
    const Groups& of = groups(layout_of(exchange, measured_, job_.ranks));
    const auto kind = kind_of(exchange.kind);
    for (const int group : of.numbers) {
      const std::vector<int> ranks = program_.groups[static_cast<std::size_t>(group)].ranks;
      if (!exchange.takes_part(line_of(measured_, ranks.front())))
        continue;
      const OpId together = program_.join(told_under(kind));
      OpId begin = together;
      if (exchange.waited.value() > 0) {
        begin = program_.wait(ranks.front(), told_under(kind), "others come later", exchange.waited,
                              -1);
        program_.order(together, begin);
      }
      const OpId sum = program_.collective(group, kind, told_under(kind), exchange.kind,
                                           exchange.size, of.stream);
      program_.order(begin, sum);
      for (const int rank : ranks) {
        call.together[static_cast<std::size_t>(rank)] = together;
        call.ends[static_cast<std::size_t>(rank)] = sum;
      }
    }
  }

  // From each rank of one line's block to its like in the other line's.
  void add_sends(const MeasuredExchange& exchange, Call& call)
  {
    const int block = measured_.ranks / static_cast<int>(measured_.lines.size());
    const int distance = (exchange.lines[1] - exchange.lines[0]) * block;
    for (int from = 0; from < job_.ranks; ++from) {
      if (line_of(measured_, from) != exchange.lines[0])
        continue;
      const int to = from + distance;
      const auto sender = static_cast<std::size_t>(from);
      const auto receiver = static_cast<std::size_t>(to);
      const OpId together = program_.join(Phase::pipeline);
      const OpId sent =
          program_.transfer(from, to, Phase::pipeline, exchange.kind, exchange.size, -1);
      program_.order(together, sent);
      call.together[sender] = call.together[receiver] = together;
      call.ends[sender] = call.ends[receiver] = sent;
      if (exchange.buffered) { // the receiver comes when it likes
        const OpId received = program_.join(Phase::pipeline);
        program_.order(sent, received);
        call.together[receiver] = call.ends[receiver] = received;
      }
    }
  }

  // What held a send's streams before it.
  void add_streams(const MeasuredExchange& exchange, const Call& call)
  {
    for (std::size_t rank = 0; rank < call.together.size(); ++rank) {
      const int line = exchange.sends() ? line_of(measured_, static_cast<int>(rank)) : -1;
      for (const bool received : {false, true})
        if (exchange.sends() && line == exchange.lines[received ? 1 : 0])
          for (const int before : received ? exchange.receives_behind : exchange.behind)
            program_.order(call_of(before).ends[rank], call.together[rank]);
    }
  }

  void add_line(int rank, const MeasuredLine& line)
  {
    OpId last;
    for (const MeasuredPiece& piece : line.pieces) {
      const bool kernels = piece.phase == "forward" || piece.phase == "backward";
      const StretchTime time = stretch_time(piece.work, measured_.scale, kernels ? job_.batch : 1,
                                            job_.ratios, job_.launch);
      const OpId idle = program_.wait(rank, Phase::framework, "idle", time.all - time.kernels, 0);
      for (const int exchange : piece.after)
        program_.order(call_of(exchange).ends[static_cast<std::size_t>(rank)], idle);
      last = idle;
      if (time.kernels.value() > 0)
        last = program_.compute(rank, phase_of(piece.phase), piece.phase, time.kernels);
      for (const int exchange : piece.starts)
        program_.order(last, call_of(exchange).together[static_cast<std::size_t>(rank)]);
    }
  }

  const Call& call_of(int exchange) const { return calls_[static_cast<std::size_t>(exchange)]; }

  const MeasuredSpec& measured_;
  const RecordedJob& job_;
  sim::Program program_;
  std::map<Layout, Groups> groups_;
  std::vector<Call> calls_;
};

} // namespace

std::string problem_with_ranks(const MeasuredSpec& measured, int ranks)
{
  if (names_lines(measured) && ranks % measured.ranks != 0)
    return fmt::format("the recorded ranks do different things: a job needs a multiple of {} ranks",
                       measured.ranks);
  for (const MeasuredExchange& exchange : measured.exchanges) {
    if (exchange.sends())
      continue;
    const Layout layout = layout_of(exchange, measured, ranks);
    if (ranks % (layout.size * layout.stride) != 0)
      return fmt::format(
          "the recording exchanges among groups of {} ranks, {} apart: a job needs a "
          "multiple of {} ranks",
          layout.size, layout.stride, layout.size * layout.stride);
    if (splits_lines(exchange, measured, layout))
      return fmt::format("of a group of {} ranks, {} apart, only some lines take part in the {}",
                         layout.size, layout.stride, exchange.kind);
  }
  return "";
}

sim::Program recorded_program(const MeasuredSpec& measured, const RecordedJob& job)
{
  if (const std::string problem = problem_with_ranks(measured, job.ranks); !problem.empty())
    throw std::logic_error(problem);
  return RecordedWriter(measured, job).write();
}

} // namespace foretrain::models
