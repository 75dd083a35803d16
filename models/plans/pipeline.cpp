#include "models/plans/pipeline.hpp"

#include "models/plans/v_schedules.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>

namespace foretrain::models {

namespace {

// The k-th forward (or backward) of a stage: pieces take turns after `stages` micro-batches.
PipelineSlice turn(const PipelineSetting& s, int stage, int k, bool backward)
{
  const int group = s.stages * s.virtual_stages;
  const int chunk = k % group / s.stages;
  PipelineSlice slice;
  slice.backward = backward;
  // Gradients of ZB-H1's weights wait for as many micro-batches as keep the stage's memory at that
  // of 1F1B's first one (arXiv:2401.10241, section 2.3): as many as stages stand before it.
  slice.split = backward && s.schedule == PipelineSchedule::zero_bubble;
  slice.weights = slice.split && k >= stage ? 1 : 0;
  slice.micro_batch = k / group * s.stages + k % s.stages;
  slice.piece = (backward ? s.virtual_stages - 1 - chunk : chunk) * s.stages + stage;
  return slice;
}

// Dates of work that has ended; negative: it has not.
class Dates {
public:
  Dates(int pieces, int micro_batches)
      : micro_batches_(micro_batches),
        ends_(2 * static_cast<std::size_t>(pieces) * static_cast<std::size_t>(micro_batches), -1)
  {
  }
  double& of(bool backward, int piece, int micro_batch)
  {
    return ends_[(static_cast<std::size_t>(piece) * 2 + (backward ? 1 : 0)) *
                     static_cast<std::size_t>(micro_batches_) +
                 static_cast<std::size_t>(micro_batch)];
  }

private:
  int micro_batches_;
  std::vector<double> ends_;
};

struct StageState {
  std::vector<PipelineSlice> order;
  std::size_t next = 0;
  double now = 0;
  std::deque<Seconds> put_off{}; // gradients of weights that are still to be made
};

class Pipeline {
public:
  explicit Pipeline(const PipelineSetting& setting)
      : s_(setting), dates_(static_cast<int>(setting.pieces.size()), setting.micro_batches),
        stages_(static_cast<std::size_t>(setting.stages))
  {
    StageOrders orders = stage_orders(s_);
    for (std::size_t stage = 0; stage < stages_.size(); ++stage)
      stages_[stage].order = std::move(orders[stage]);
  }

  PipelineRun run()
  {
    for (bool moved = true; moved;) {
      moved = false;
      for (StageState& stage : stages_)
        while (stage.next < stage.order.size() && advance(stage))
          moved = true;
    }
    PipelineRun run;
    for (StageState& stage : stages_) {
      if (stage.next < stage.order.size())
        throw std::logic_error("a pipeline schedule waits for itself");
      run.ends.push_back(Seconds(stage.now));
      run.end = std::max(run.end, run.ends.back());
      Seconds busy;
      for (const PipelineSlice& slice : stage.order)
        busy += slice.backward ? piece(slice).backward : piece(slice).forward;
      run.busy.push_back(busy);
      run.slices.push_back(std::move(stage.order));
    }
    return run;
  }

private:
  const PieceTime& piece(const PipelineSlice& slice) const
  {
    return s_.pieces[static_cast<std::size_t>(slice.piece)];
  }

  // When what the slice needs is there; negative: not yet known.
  double ready(const PipelineSlice& slice)
  {
    const int last = static_cast<int>(s_.pieces.size()) - 1;
    if (!slice.backward)
      return slice.piece == 0 ? 0 : received({false, slice.micro_batch, slice.piece - 1});
    if (slice.piece == last)
      return dates_.of(false, slice.piece, slice.micro_batch);
    return received({true, slice.micro_batch, slice.piece + 1});
  }
  // What a pass sends; negative: not yet known.
  double received(const PipelineSlice& from)
  {
    const double date = dates_.of(from.backward, from.piece, from.micro_batch);
    return date < 0 ? -1 : date + transfer_time(s_, from).value();
  }

  bool advance(StageState& stage)
  {
    const std::span<PipelineSlice> unit(stage.order.data() + stage.next,
                                        stage.order[stage.next].paired ? 2 : 1);
    for (const PipelineSlice& slice : unit)
      if (ready(slice) < 0)
        return false;
    for (const PipelineSlice& slice : unit)
      stage.now = std::max(stage.now, ready(slice));
    for (PipelineSlice& slice : unit)
      pass(stage, slice);
    for (const PipelineSlice& slice : unit) {
      dates_.of(slice.backward, slice.piece, slice.micro_batch) = stage.now;
      if (s_.blocking)
        stage.now += transfer_time(s_, slice).value();
    }
    for (int made = 0; made < unit.back().weights; ++made) {
      stage.now += stage.put_off.front().value();
      stage.put_off.pop_front();
    }
    stage.next += unit.size();
    return true;
  }

  void pass(StageState& stage, PipelineSlice& slice) const
  {
    const PieceTime& time = piece(slice);
    double length = slice.backward ? time.backward.value() : time.forward.value();
    if (slice.split) {
      length -= time.weights.value();
      stage.put_off.push_back(time.weights);
    }
    slice.start = Seconds(stage.now);
    stage.now += length;
    slice.end = Seconds(stage.now);
  }

  const PipelineSetting& s_;
  Dates dates_;
  std::vector<StageState> stages_;
};

std::vector<PipelineSlice> stage_order(const PipelineSetting& s, int stage)
{
  const int all = s.micro_batches * s.virtual_stages;
  int warm_up = all;
  if (s.schedule != PipelineSchedule::gpipe)
    warm_up = s.virtual_stages > 1
                  ? std::min(all, 2 * (s.stages - stage - 1) + (s.virtual_stages - 1) * s.stages)
                  : std::min(all, s.stages - stage - 1);
  std::vector<PipelineSlice> order;
  order.reserve(2 * static_cast<std::size_t>(all));
  int backward = 0;
  for (int k = 0; k < all; ++k) {
    order.push_back(turn(s, stage, k, false));
    if (k >= warm_up)
      order.push_back(turn(s, stage, backward++, true));
  }
  while (backward < all)
    order.push_back(turn(s, stage, backward++, true));
  if (order.back().split) // those of ZB-H1's last micro-batches
    order.back().weights += std::min(stage, all);
  return order;
}

} // namespace

StageOrders stage_orders(const PipelineSetting& s)
{
  if (s.schedule == PipelineSchedule::zb_v)
    return zb_v_orders(s);
  if (s.schedule == PipelineSchedule::dualpipe_v)
    return dualpipe_v_orders(s.stages, s.micro_batches);
  StageOrders orders;
  for (int stage = 0; stage < s.stages; ++stage)
    orders.push_back(stage_order(s, stage));
  return orders;
}

PipelineRun run_pipeline(const PipelineSetting& setting)
{
  return Pipeline(setting).run();
}

} // namespace foretrain::models
