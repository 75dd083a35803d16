#include "models/traces/recorded_step.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

constexpr int kKernelsPerStretch = 32; // of the forward pass: where launches limit it is told apart
constexpr double kHostBound = 0.15;    // share of idle time from which the host sets the pace
constexpr double kLargeCopy = 64e3;    // bytes
constexpr double kTailOfInput = 0.05;  // share of a step

class Cutter {
public:
  Cutter(const Trace& trace, const TraceStep& step,
         const std::function<bool(const DeviceWork&)>& simulated)
      : trace_(trace), step_(step)
  {
    std::vector<Span> exchanges;
    std::vector<Span> copies;
    std::vector<Span> loader;
    for (const StepWork& work : step.work) {
      const DeviceWork& w = trace.work[work.index];
      if (w.kind == KernelClass::collective && simulated(w))
        exchanges.push_back({w.start, w.finish});
      else if (copies_input(trace, w))
        copies.push_back({w.start, w.finish});
    }
    for (const Stretch& stretch : trace.stretches)
      if (stretch.start < step.finish && stretch.finish > step.start &&
          trace.name_of(stretch.name).find("DataLoader") != std::string::npos)
        loader.push_back({stretch.start, stretch.finish});
    exchanges_ = merged(std::move(exchanges));
    copies_ = merged(std::move(copies));
    loader_ = merged(std::move(loader));
  }

  RecordedStep cut()
  {
    cursor_ = step_.start;
    for (const StepWork& item : step_.work) {
      const DeviceWork& work = trace_.work[item.index];
      if (work.kind != KernelClass::collective && !copies_input(trace_, work))
        put(item, work);
    }
    for (; next_gradient_ < step_.gradients.size(); ++next_gradient_)
      close_with(next_gradient_);
    tail();
    for (auto* stretches : {&result_.forward, &result_.backward})
      for (MeasuredStretch& stretch : *stretches)
        judge(stretch);
    judge(result_.optimizer);
    for (const Copied& copy : copied_)
      copy.in(result_).idle += Seconds(copy.seconds);
    return std::move(result_);
  }

private:
  // Time of a stretch in which nothing but copies over the bus ran.
  struct Copied {
    TrainingPhase phase;
    std::size_t stretch;
    double seconds;

    MeasuredStretch& in(RecordedStep& step) const
    {
      return phase == TrainingPhase::optimizer ? step.optimizer
             : phase == TrainingPhase::forward ? step.forward[stretch]
                                               : step.backward[stretch];
    }
  };

  MeasuredStretch& stretch_of(const StepWork& item)
  {
    if (item.phase == TrainingPhase::optimizer)
      return result_.optimizer;
    if (item.phase == TrainingPhase::forward) {
      if (result_.forward.empty() || result_.forward.back().kernels >= kKernelsPerStretch)
        result_.forward.emplace_back();
      return result_.forward.back();
    }
    while (next_gradient_ < step_.gradients.size() &&
           step_.gradients[next_gradient_].launched <= item.launched)
      close_with(next_gradient_++);
    const bool full = step_.gradients.empty() && !result_.backward.empty() &&
                      result_.backward.back().kernels >= kKernelsPerStretch;
    if (result_.backward.empty() || closed_ || full)
      open_backward();
    return result_.backward.back();
  }

  void open_backward()
  {
    result_.backward.emplace_back();
    result_.gradients.emplace_back();
    closed_ = false;
  }

  void close_with(std::size_t gradient)
  {
    if (result_.backward.empty())
      open_backward();
    result_.gradients.back().push_back(gradient);
    closed_ = true;
  }

  // Idle time before `until`, less what exchanges, copies and the loader explain.
  double idle_before(double until)
  {
    if (until <= cursor_)
      return 0;
    const std::vector<Span> gap{{cursor_, until}};
    double left = until - cursor_;
    const auto take = [&](const std::vector<Span>& spans, double& sum) {
      const double part = std::min(left, common(gap, spans));
      sum += part;
      left -= part;
    };
    take(exchanges_, result_.exposed);
    take(copies_, result_.copy);
    take(loader_, result_.input);
    return left;
  }

  void put(const StepWork& item, const DeviceWork& work)
  {
    MeasuredStretch& stretch = stretch_of(item);
    stretch.idle +=
        Seconds(idle_before(step_.followed ? std::min(work.start, step_.finish) : work.start));
    // Work of other streams may lie outside of what the main one does in the step.
    const double finish = step_.followed ? std::min(work.finish, step_.finish) : work.finish;
    const double busy = std::max(0.0, finish - std::max(cursor_, work.start));
    cursor_ = std::max(cursor_, finish);
    result_.busy += busy;
    ++stretch.kernels;
    if (copies_over_the_bus(trace_, work)) {
      const auto& all = item.phase == TrainingPhase::forward ? result_.forward : result_.backward;
      copied_.push_back({item.phase, all.empty() ? 0 : all.size() - 1, busy});
      return;
    }
    (work.kind == KernelClass::product ? stretch.product : stretch.memory) += Seconds(busy);
  }

  // From the last kernel to the next step's first.
  void tail()
  {
    double finish = step_.finish;
    if (!step_.followed && step_.host_finish < 1e299)
      finish = std::max(finish, step_.start + step_.host_finish - step_.host_start);
    const double left = idle_before(finish);
    const bool next_copies = step_.followed && first_after_copies();
    const bool unnamed =
        loader_.empty() && next_copies && left > kTailOfInput * (finish - step_.start);
    (unnamed ? result_.input : result_.host) += left;
  }

  bool first_after_copies() const
  {
    const auto next =
        std::lower_bound(trace_.work.begin(), trace_.work.end(), step_.finish,
                         [](const DeviceWork& work, double time) { return work.start < time; });
    return next != trace_.work.end() && copies_input(trace_, *next);
  }

  static void judge(MeasuredStretch& stretch)
  {
    const Seconds all = stretch.product + stretch.memory + stretch.idle;
    stretch.host_bound = stretch.kernels > 3 && stretch.idle > kHostBound * all;
  }

  const Trace& trace_;
  const TraceStep& step_;
  std::vector<Span> exchanges_, copies_, loader_;
  RecordedStep result_;
  std::vector<Copied> copied_;
  double cursor_ = 0;
  std::size_t next_gradient_ = 0;
  bool closed_ = false;
};

} // namespace

bool copies_over_the_bus(const Trace& trace, const DeviceWork& work)
{
  return work.kind == KernelClass::copy &&
         trace.name_of(work.name).find("DtoD") == std::string::npos;
}

bool copies_input(const Trace& trace, const DeviceWork& work)
{
  return work.kind == KernelClass::copy && work.bytes >= kLargeCopy &&
         trace.name_of(work.name).find("HtoD") != std::string::npos;
}

RecordedStep take_apart(const Trace& trace, const TraceStep& step,
                        const std::function<bool(const DeviceWork&)>& simulated)
{
  return Cutter(trace, step, simulated).cut();
}

} // namespace foretrain::models
