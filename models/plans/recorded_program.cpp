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

// What an exchange is told under: experts (and tables of embeddings) exchange all to all.
Phase told_under(sim::CollectiveKind kind)
{
  return kind == sim::CollectiveKind::all_to_all ? Phase::expert : Phase::data;
}

class RecordedWriter {
public:
  RecordedWriter(const MeasuredSpec& measured, const RecordedJob& job)
      : measured_(measured), job_(job)
  {
    program_.name = job.name;
    for (int rank = 0; rank < job.ranks; ++rank)
      program_.ranks.push_back({rank, 1});
    for (const MeasuredExchange& exchange : measured.exchanges)
      add(exchange);
  }

  sim::Program write()
  {
    for (int rank = 0; rank < job_.ranks; ++rank) {
      const auto line = static_cast<std::size_t>(rank) % measured_.lines.size();
      add_line(rank, measured_.lines[line]);
    }
    return std::move(program_);
  }

private:
  // The groups of one layout, and the stream on which they exchange.
  struct Groups {
    int stream = 0;
    std::vector<int> numbers; // into the program's groups
    std::vector<int> of_rank; // into numbers
  };

  const Groups& groups(const Layout& layout)
  {
    Groups& known = groups_[layout];
    if (!known.numbers.empty())
      return known;
    known.stream = program_.add_stream(
        groups_.size() == 1 ? "communication" : fmt::format("communication {}", groups_.size()));
    known.of_rank.assign(static_cast<std::size_t>(job_.ranks), 0);
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
        known.of_rank[static_cast<std::size_t>(rank)] = static_cast<int>(known.numbers.size());
      }
      known.numbers.push_back(program_.add_group(std::move(group)));
    }
    return known;
  }

  void add(const MeasuredExchange& exchange)
  {
    const Layout layout = layout_of(exchange, measured_, job_.ranks);
    const Groups& of = groups(layout);
    const auto kind = kind_of(exchange.kind);
    Call call{layout, {}, {}};
    for (const int group : of.numbers) {
      const OpId together = program_.join(told_under(kind));
      OpId begin = together;
      if (exchange.waited.value() > 0) {
        const int first = program_.groups[static_cast<std::size_t>(group)].ranks.front();
        begin = program_.wait(first, told_under(kind), "others come later", exchange.waited, -1);
        program_.order(together, begin);
      }
      const OpId sum = program_.collective(group, kind, told_under(kind), exchange.kind,
                                           exchange.size, of.stream);
      program_.order(begin, sum);
      call.together.push_back(together);
      call.ends.push_back(sum);
    }
    calls_.push_back(std::move(call));
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
        program_.order(end_of(exchange, rank), idle);
      last = idle;
      if (time.kernels.value() > 0)
        last = program_.compute(rank, phase_of(piece.phase), piece.phase, time.kernels);
      for (const int exchange : piece.starts)
        program_.order(last, together(exchange, rank));
    }
  }

  std::size_t group_of(const Layout& layout, int rank)
  {
    return static_cast<std::size_t>(groups(layout).of_rank[static_cast<std::size_t>(rank)]);
  }
  OpId together(int exchange, int rank)
  {
    const Call& call = calls_[static_cast<std::size_t>(exchange)];
    return call.together[group_of(call.layout, rank)];
  }
  OpId end_of(int exchange, int rank)
  {
    const Call& call = calls_[static_cast<std::size_t>(exchange)];
    return call.ends[group_of(call.layout, rank)];
  }

  struct Call { // one for each group of the layout
    Layout layout;
    std::vector<OpId> together, ends;
  };

  const MeasuredSpec& measured_;
  const RecordedJob& job_;
  sim::Program program_;
  std::map<Layout, Groups> groups_;
  std::vector<Call> calls_;
};

} // namespace

std::string problem_with_ranks(const MeasuredSpec& measured, int ranks)
{
  for (const MeasuredExchange& exchange : measured.exchanges) {
    const Layout layout = layout_of(exchange, measured, ranks);
    if (ranks % (layout.size * layout.stride) != 0)
      return fmt::format(
          "the recording exchanges among groups of {} ranks, {} apart: a job needs a "
          "multiple of {} ranks",
          layout.size, layout.stride, layout.size * layout.stride);
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
