#include "models/traces/steps.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr const char* kBackward[] = {"autograd::engine::evaluate_function", "## backward",
                                     "torch::autograd::"};
constexpr const char* kOptimizer[] = {"Optimizer.step", "## optimizer"};

template <std::size_t N>
bool starts_with_any(const std::string& name, const char* const (&words)[N])
{
  return std::any_of(std::begin(words), std::end(words),
                     [&](const char* word) { return name.starts_with(word); });
}

// "CudnnConvolutionBackward", "AddBackward0": a node of PyTorch's backward graph.
bool is_backward_function(const std::string& name)
{
  return name.find("Backward") != std::string::npos && name.find("::") == std::string::npos;
}

// Start of the step's first work on that stream; of any where it has none there.
double start_of(const Trace& trace, const TraceStep& step, int stream)
{
  for (const StepWork& item : step.work)
    if (trace.work[item.index].stream == stream)
      return trace.work[item.index].start;
  return trace.work[step.work.front().index].start;
}

// Of each stream: when the first work began whose launch was recorded. What ran before belongs to
// no recorded step.
std::map<int, double> recorded_from(const Trace& trace, int device)
{
  std::map<int, double> from;
  for (const DeviceWork& work : trace.work) // by start
    if (work.device == device && call_of(trace, work) != nullptr)
      from.try_emplace(work.stream, work.start);
  return from;
}

// Host time of each thread that belongs to a phase.
class PhaseFinder {
public:
  explicit PhaseFinder(const Trace& trace)
  {
    for (const Stretch& stretch : trace.stretches) {
      const std::string& name = trace.name_of(stretch.name);
      if (starts_with_any(name, kOptimizer)) {
        optimizer_[stretch.thread].push_back({stretch.start, stretch.finish});
      } else if (starts_with_any(name, kBackward) || is_backward_function(name)) {
        backward_[stretch.thread].push_back({stretch.start, stretch.finish});
        all_backward_.push_back({stretch.start, stretch.finish});
      }
    }
    for (auto* threads : {&optimizer_, &backward_})
      for (auto& [thread, spans] : *threads)
        spans = merged(std::move(spans));
    all_backward_ = merged(std::move(all_backward_));
  }

  /// `done`: end of the step's last backward work on the host, NaN without any.
  TrainingPhase of(std::int64_t thread, double at, double done) const
  {
    if (inside(optimizer_, thread, at))
      return TrainingPhase::optimizer;
    if (inside(backward_, thread, at))
      return TrainingPhase::backward;
    return !std::isnan(done) && at >= done ? TrainingPhase::optimizer : TrainingPhase::forward;
  }

  double last_backward(double from, double to) const
  {
    double last = std::nan("");
    for (auto it = std::lower_bound(all_backward_.begin(), all_backward_.end(), from,
                                    [](const Span&s, double t) { return s.start < t; });
         it != all_backward_.end() && it->start < to; ++it)
      last = it->finish;
    return last;
  }

private:
  using Threads = std::map<std::int64_t, std::vector<Span>>;
  static bool inside(const Threads& threads, std::int64_t thread, double at)
  {
    const auto found = threads.find(thread);
    if (found == threads.end())
      return false;
    const auto next = std::upper_bound(found->second.begin(), found->second.end(), at,
                                       [](double t, const Span& s) { return t < s.start; });
    return next != found->second.begin() && at <= std::prev(next)->finish;
  }

  Threads optimizer_, backward_;
  std::vector<Span> all_backward_;
};

// Host times at which steps begin, with names.
std::vector<TraceStep> annotated(const Trace& trace)
{
  std::vector<TraceStep> steps;
  for (const Stretch& stretch : trace.stretches) {
    const std::string& name = trace.name_of(stretch.name);
    if (!name.starts_with("ProfilerStep"))
      continue;
    if (!steps.empty() && stretch.start < steps.back().host_finish - 1e-9)
      continue; // the same step told twice
    steps.emplace_back();
    steps.back().name = name;
    steps.back().host_start = stretch.start;
    steps.back().host_finish = stretch.finish;
  }
  return steps;
}

// What comes once in each step: the optimizer's, else the loss's backward.
std::vector<TraceStep> repeated(const Trace& trace, std::string& found_by)
{
  for (const char* mark : {"Optimizer.step", "Optimizer.zero_grad", "## forward"}) {
    std::map<std::uint32_t, std::vector<const Stretch*>> by_name;
    for (const Stretch& stretch : trace.stretches)
      if (trace.name_of(stretch.name).starts_with(mark))
        by_name[stretch.name].push_back(&stretch);
    if (by_name.empty())
      continue;
    // With several optimizers, the one that comes least often closes a step.
    const auto fewest = std::min_element(by_name.begin(), by_name.end(), [](auto& a, auto& b) {
      return a.second.size() < b.second.size();
    });
    if (fewest->second.size() < 3)
      continue;
    const bool closes = std::string(mark) == "Optimizer.step";
    std::vector<TraceStep> steps;
    for (std::size_t i = 0; i + 1 < fewest->second.size(); ++i) {
      TraceStep step;
      step.name = fmt::format("step {}", i);
      step.host_start = closes ? fewest->second[i]->finish : fewest->second[i]->start;
      step.host_finish = closes ? fewest->second[i + 1]->finish : fewest->second[i + 1]->start;
      steps.push_back(step);
    }
    found_by = "repetition of \"" + trace.name_of(fewest->first) + "\"";
    return steps;
  }
  return {};
}

void collect_gradients(const Trace& trace, const std::vector<double>& begins,
                       std::vector<TraceStep>& steps)
{
  for (const Stretch& stretch : trace.stretches) {
    if (trace.name_of(stretch.name) != "torch::autograd::AccumulateGrad")
      continue;
    const auto next = std::upper_bound(begins.begin(), begins.end(), stretch.start);
    if (next == begins.begin())
      continue;
    auto& step = steps[static_cast<std::size_t>(next - begins.begin()) - 1];
    if (stretch.start <= step.host_finish)
      step.gradients.push_back({stretch.elements, stretch.start, stretch.finish});
  }
}

void measure(Steps& steps)
{
  std::vector<std::pair<double, std::size_t>> periods;
  for (const std::size_t i : whole_steps(steps.list))
    periods.emplace_back(steps.list[i].period(), i);
  if (periods.empty()) {
    steps.typical = steps.list.size() - 1;
    return;
  }
  std::sort(periods.begin(), periods.end());
  steps.typical = periods[(periods.size() - 1) / 2].second;
  if (periods.size() < 3)
    return;
  double mean = 0;
  double squares = 0;
  for (const auto& [period, index] : periods)
    mean += period / static_cast<double>(periods.size());
  for (const auto& [period, index] : periods)
    squares += (period - mean) * (period - mean) / static_cast<double>(periods.size() - 1);
  steps.variation = std::sqrt(squares) / mean;
}

} // namespace

std::vector<std::size_t> whole_steps(const std::vector<TraceStep>& steps)
{
  std::vector<std::size_t> whole;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].followed)
      whole.push_back(i);
  if (whole.size() > 2)
    whole.erase(whole.begin());
  return whole;
}

int main_stream(const Trace& trace, int device)
{
  std::map<int, double> times;
  for (const DeviceWork& work : trace.work)
    if (work.device == device && work.kind != KernelClass::collective &&
        work.kind != KernelClass::copy)
      times[work.stream] += work.seconds();
  const auto most = std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == times.end() ? -1 : most->first;
}

Span window_of(const TraceStep& step)
{
  const bool annotated_step = !step.followed && step.host_finish < 1e299;
  if (!annotated_step)
    return {step.start, step.finish};
  return {std::min(step.host_start, step.start), std::max(step.host_finish, step.finish)};
}

std::vector<Span> merged(std::vector<Span> spans)
{
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> result;
  for (const Span& span : spans)
    if (!result.empty() && span.start <= result.back().finish)
      result.back().finish = std::max(result.back().finish, span.finish);
    else if (span.finish > span.start)
      result.push_back(span);
  return result;
}

double length(const std::vector<Span>& spans)
{
  double sum = 0;
  for (const Span& span : spans)
    sum += span.finish - span.start;
  return sum;
}

double common(const std::vector<Span>& a, const std::vector<Span>& b)
{
  double sum = 0;
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < a.size() && k < b.size()) {
    sum += std::max(0.0, std::min(a[i].finish, b[k].finish) - std::max(a[i].start, b[k].start));
    ++(a[i].finish < b[k].finish ? i : k);
  }
  return sum;
}

Steps find_steps(const Trace& trace)
{
  if (trace.work.empty())
    throw ConfigError(trace.file, "",
                      fmt::format("holds no work of a device{}{}", trace.notes.empty() ? "" : ": ",
                                  fmt::join(trace.notes, "; ")),
                      "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
  Steps steps;
  steps.found_by = trace.steps_by;
  steps.list = annotated(trace);
  if (steps.list.empty())
    steps.list = repeated(trace, steps.found_by);
  if (steps.list.empty()) {
    steps.found_by.clear();
    TraceStep all;
    all.name = "whole recording";
    all.host_start = -1e300;
    all.host_finish = 1e300;
    steps.list.push_back(all);
  }
  std::vector<double> begins;
  for (const TraceStep& step : steps.list)
    begins.push_back(step.host_start);
  collect_gradients(trace, begins, steps.list);
  const PhaseFinder phases(trace);
  std::vector<double> backward_done;
  for (const TraceStep& step : steps.list)
    backward_done.push_back(phases.last_backward(step.host_start, step.host_finish));
  const int device = busiest_device(trace);
  const int stream = main_stream(trace, device);
  const std::map<int, double> from = recorded_from(trace, device);
  TrainingPhase last = TrainingPhase::forward;
  double next_start = -1; // first device work after the last step
  for (std::size_t w = 0; w < trace.work.size(); ++w) {
    const DeviceWork& work = trace.work[w];
    if (work.device != device)
      continue;
    const Call* call = call_of(trace, work);
    const auto first = from.find(work.stream);
    if (call == nullptr && first != from.end() && work.start < first->second)
      continue;
    const double at = call != nullptr ? call->start : work.start;
    const auto next = std::upper_bound(begins.begin(), begins.end(), at);
    if (next == begins.begin())
      continue;
    const auto number = static_cast<std::size_t>(next - begins.begin()) - 1;
    TraceStep& step = steps.list[number];
    if (at > step.host_finish) {
      if (&step == &steps.list.back() && work.stream == stream &&
          (next_start < 0 || work.start < next_start))
        next_start = work.start;
      continue;
    }
    if (call != nullptr)
      last = phases.of(call->thread, at, backward_done[number]);
    step.work.push_back({w, last, at});
  }
  std::erase_if(steps.list, [](const TraceStep& step) { return step.work.empty(); });
  if (steps.list.empty())
    throw ConfigError(trace.file, "", "holds no step in which a device works");
  for (TraceStep& step : steps.list) {
    step.start = start_of(trace, step, stream);
    step.finish = step.start;
    for (const StepWork& work : step.work)
      step.finish = std::max(step.finish, trace.work[work.index].finish);
  }
  for (std::size_t i = 0; i + 1 < steps.list.size(); ++i)
    if (steps.list[i + 1].start > steps.list[i].start) {
      steps.list[i].finish = steps.list[i + 1].start;
      steps.list[i].followed = true;
    }
  TraceStep& end = steps.list.back();
  if (next_start > end.start && steps.found_by.starts_with("repetition")) {
    end.finish = next_start;
    end.followed = true;
  }
  measure(steps);
  return steps;
}

} // namespace foretrain::models
