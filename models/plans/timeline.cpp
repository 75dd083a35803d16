#include "models/plans/timeline.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

class StageWriter {
public:
  StageWriter(PlanTimeline& timeline, int stage) : timeline_(timeline), stage_(stage) {}

  void begin_micro_batch(int number) { micro_batch_ = number; }
  void end_micro_batches() { micro_batch_ = -1; }
  void compute(const std::string& name, Seconds start, Seconds length)
  {
    if (length.value() > 0)
      timeline_.spans.push_back({stage_, PlanStream::compute, name, micro_batch_,
                                 Operation::all_reduce, start, start + length});
  }
  /// Of what work waits for at first, and then rides beside it.
  void early(PlanStream stream, const std::string& name, Seconds start, Seconds whole,
             Operation operation)
  {
    if (whole.value() > 0)
      timeline_.spans.push_back(
          {stage_, stream, name, micro_batch_, operation, start, start + whole});
    free_[static_cast<std::size_t>(stream)] = start + whole;
  }
  /// `at`: when the work that hides it ends. Returns when nothing waits for it any more.
  Seconds exchange(PlanStream stream, const std::string& name, Seconds at, const Exposure& e,
                   std::initializer_list<Operation> operations)
  {
    const Seconds finish = at + e.exposed;
    if (e.whole.value() <= 0)
      return finish;
    Seconds& free = free_[static_cast<std::size_t>(stream)];
    Seconds start = std::max(free, Seconds(finish - e.whole));
    const Seconds each = (finish - start) / static_cast<double>(operations.size());
    for (const Operation operation : operations) {
      if (each.value() > 0)
        timeline_.spans.push_back(
            {stage_, stream, name, micro_batch_, operation, start, start + each});
      start += each;
    }
    free = std::max(free, finish);
    return finish;
  }

private:
  PlanTimeline& timeline_;
  int stage_;
  int micro_batch_ = -1;
  std::array<Seconds, 5> free_{};
};

class TimelineWriter {
public:
  TimelineWriter(const StepSetting& setting, const StepResult& step, std::size_t most_spans)
      : plan_(setting.memory.plan), step_(step)
  {
    timeline_.layers = detailed_spans() <= most_spans;
  }

  PlanTimeline write()
  {
    for (std::size_t stage = 0; stage < step_.run.slices.size(); ++stage)
      write_stage(static_cast<int>(stage), step_.begin);
    for (const PlanSpan& span : timeline_.spans)
      timeline_.end = std::max(timeline_.end, span.finish);
    return std::move(timeline_);
  }

private:
  std::size_t detailed_spans() const
  {
    std::size_t spans = 0;
    for (const auto& stage : step_.run.slices)
      for (const PipelineSlice& slice : stage)
        for (const PlanUnit& unit : step_.pieces[static_cast<std::size_t>(slice.piece)].units)
          spans += 3 * static_cast<std::size_t>(unit.count);
    return spans;
  }

  void write_stage(int stage, Seconds begin)
  {
    StageWriter writer(timeline_, stage);
    const StageEnds& ends = step_.ends[static_cast<std::size_t>(stage)];
    const auto& slices = step_.run.slices[static_cast<std::size_t>(stage)];
    writer.early(PlanStream::data, "parameters",
                 begin + slices.front().start - ends.parameters.exposed, ends.parameters.whole,
                 Operation::all_gather);
    Seconds last = begin;
    for (const PipelineSlice& slice : slices)
      last = std::max(last, write_slice(writer, slice, begin));
    writer.end_micro_batches();
    writer.exchange(PlanStream::data, "gradients", last, ends.gradients,
                    {plan_.zero == 0 ? Operation::all_reduce : Operation::reduce_scatter});
    writer.compute("optimizer", step_.gradients_done, ends.optimizer);
  }

  // When the pass ends.
  Seconds write_slice(StageWriter& writer, const PipelineSlice& slice, Seconds begin)
  {
    const PieceCost& piece = step_.pieces[static_cast<std::size_t>(slice.piece)];
    const char* pass = slice.backward ? "backward" : "forward";
    const Exposure data = (slice.backward ? piece.data_back : piece.data_ahead)
                              .scaled(1.0 / std::max(1, piece.layers));
    Seconds at = begin + slice.start;
    writer.begin_micro_batch(slice.micro_batch);
    if (!timeline_.layers) {
      writer.compute(fmt::format("piece {}, {}", slice.piece, pass), at, slice.end - slice.start);
      return begin + slice.end;
    }
    const Seconds whole = slice.backward ? piece.backward() : piece.forward();
    // Zero-bubble puts gradients of weights off.
    const double drawn = whole.value() > 0 ? (slice.end - slice.start) / whole : 0;
    const auto unit = [&](const PlanUnit& u, int number) {
      const std::string name =
          fmt::format("{}{}, {}", u.name, u.layer ? fmt::format(" {}", number) : "", pass);
      const Seconds length = drawn * (slice.backward ? u.backward : u.forward);
      writer.compute(name, at, length);
      at = exchanges(writer, name, at + length, slice.backward, drawn,
                     slice.backward ? u.back : u.ahead, u.layer ? data : Exposure{});
    };
    std::vector<std::pair<const PlanUnit*, int>> units;
    int layer = first_layer(slice.piece);
    for (const PlanUnit& u : piece.units)
      for (int i = 0; i < u.count; ++i)
        units.emplace_back(&u, u.layer ? layer++ : 0);
    if (slice.backward)
      std::reverse(units.begin(), units.end());
    for (const auto& [u, number] : units)
      unit(*u, number);
    return at;
  }

  Seconds exchanges(StageWriter& writer, const std::string& name, Seconds at, bool backward,
                    double drawn, const LayerExchanges& inside, const Exposure& data) const
  {
    const auto part = [&](const Exposure& e) { return e.scaled(drawn); };
    if (plan_.sequence_parallel)
      at = writer.exchange(PlanStream::tensor, name, at, part(inside.tensor),
                           {Operation::all_gather, Operation::reduce_scatter});
    else
      at = writer.exchange(PlanStream::tensor, name, at, part(inside.tensor),
                           {Operation::all_reduce});
    at = writer.exchange(PlanStream::context, name, at, part(inside.context),
                         {Operation::send_receive});
    at =
        writer.exchange(PlanStream::expert, name, at, part(inside.expert), {Operation::all_to_all});
    if (backward)
      return writer.exchange(PlanStream::data, name, at, part(data),
                             {Operation::all_gather, Operation::reduce_scatter});
    return writer.exchange(PlanStream::data, name, at, part(data), {Operation::all_gather});
  }

  int first_layer(int piece) const
  {
    int layer = 0;
    for (int before = 0; before < piece; ++before)
      layer += step_.pieces[static_cast<std::size_t>(before)].layers;
    return layer;
  }

  const ParallelPlan& plan_;
  const StepResult& step_;
  PlanTimeline timeline_;
};

} // namespace

PlanTimeline plan_timeline(const StepSetting& setting, const StepResult& step,
                           std::size_t most_spans)
{
  return TimelineWriter(setting, step, most_spans).write();
}

const char* name_of(PlanStream stream)
{
  constexpr const char* kNames[] = {"compute", "tensor", "context", "expert", "data"};
  return kNames[static_cast<std::size_t>(stream)];
}

} // namespace foretrain::models
