#include "experiments/learn/calibrate_training.hpp"

#include "experiments/learn/realrun_experiment.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/spec/resolve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using calibration::TrainingRecord;
using Parts = std::map<std::string, double>; // seconds of a step by kind of work

constexpr double kLeastSpread = 0.05; // relative; of a part: of its step
constexpr double kDoubtful = 0.05;    // mean error from which the platform's cache is doubted
constexpr double kClearly = 0.75;     // of the mean error: what another cache has to reach
constexpr int kSteps = 3;             // of a run of several ranks, whose steps vary
constexpr double kEnough = 2e-3;      // smaller steps of a fit change nothing that matters
// Shares of a platform's rates, and these rates.
constexpr std::pair<const char*, const char*> kRates[] = {
    {"/fp32/dense_efficiency", "/fp32/peak"}, {"/memory_efficiency", "/memory_bandwidth"}};
// Bytes: what a core may have for itself, and of a shared cache. A fit begins with each.
constexpr double kCaches[] = {1 << 20, 4 << 20, 16 << 20, 64 << 20};

Point point_of(const TrainingRecord& record, const std::string& platform, int steps = 1)
{
  auto document = std::make_shared<Document>();
  document->name = "experiment of " + record.name;
  document->root = realrun_experiment(record, platform);
  for (Json& job : document->root["jobs"])
    job["steps"] = steps;
  Point point;
  point.document = document;
  return point;
}

Point with(const Point& point, const OverlayPtr& overlay)
{
  Point result = point;
  auto document = std::make_shared<Document>(*point.document);
  document->overlay = overlay;
  result.document = document;
  return result;
}

// The kinds of work whose cost has a cause of its own. A transformer's patches do not overlap: its
// only convolution is a product of the patches as they lie, as the experiment has it.
Parts grouped(const TrainingRecord& record)
{
  const bool patches = record.model.at("kind") == "transformer";
  const std::map<std::string, std::string> kinds = {
      {"linear", "linear"},       {"convolution", patches ? "linear" : "convolution"},
      {"gelu", "functions"},      {"relu", "element-wise"},
      {"add", "element-wise"},    {"layer_norm", "element-wise"},
      {"attention", "attention"}, {"mean_pool", "element-wise"},
      {"optimizer", "optimizer"}};
  Parts result;
  for (const auto& [name, seconds] : record.parts) {
    const std::size_t space = name.find(' ');
    const auto kind = kinds.find(name.substr(0, space));
    if (kind != kinds.end() && seconds > 0)
      result[kind->second + (space == std::string::npos ? "" : name.substr(space))] += seconds;
  }
  return result;
}

std::string kind_of(const models::Layer& layer)
{
  if (layer.kind == models::LayerKind::linear)
    return "linear";
  if (layer.kind == models::LayerKind::conv)
    return "convolution";
  if (layer.kind == models::LayerKind::attention || layer.op == "softmax" ||
      layer.op == "scale_mask")
    return "attention";
  return layer.functions > 0 ? "functions" : "element-wise";
}

Parts parts_of(const models::Network& network, const models::ComputeProfile& profile)
{
  Parts parts;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const std::string kind = kind_of(network.layers[i]);
    parts[kind + " forward"] += profile.layers[i].forward.value();
    parts[kind + " backward"] += profile.layers[i].backward.value();
  }
  parts["optimizer"] = profile.optimizer.value();
  return parts;
}

std::vector<Knob> computing_knobs(const Part& gpu, const Part& framework)
{
  return {{gpu, "/fp32/dense_efficiency", 0.01, 1, "runs of one rank with wide layers"},
          {gpu, "/memory_efficiency", 0.01, 1,
           "runs of one rank with many parameters and small batches"},
          {gpu, "/function_time", 0, 1, "runs of transformers on one rank"},
          {framework, "/kernels/patch_run", 0, 1, "runs of convolutional networks on one rank"},
          {framework, "/kernels/weight_line", 0, 1, "runs of one rank with wide layers"}};
}

// Runs of one rank, each with what does not change while values are fitted.
class Computing {
public:
  Computing(const std::vector<TrainingRecord>& records, const Setup& setup) : records_(records)
  {
    if (!records.empty())
      first_ = point_of(records.front(), setup.options.platform);
    for (const TrainingRecord& r : records)
      networks_.push_back(
          resolve(with(point_of(r, setup.options.platform), setup.learnt())).jobs.front().network);
    for (const TrainingRecord& r : records) {
      const double step = r.batch / median_of(r.throughput);
      measurements_.push_back({r.name, "step time", step, spread_of(r.throughput)});
      for (const auto& [kind, seconds] : grouped(r)) {
        names_.push_back(kind);
        measurements_.push_back(
            {r.name, kind, seconds, std::max(kLeastSpread, kLeastSpread * step / seconds), true});
      }
    }
  }

  FitTask task(const std::string& source, std::vector<Knob> knobs) const
  {
    FitTask task;
    task.source = source;
    task.knobs = std::move(knobs);
    task.measurements = measurements_;
    task.enough = kEnough;
    task.predict = [this](const OverlayPtr& overlay) { return predict(overlay); };
    return task;
  }

  std::vector<double> predict(const OverlayPtr& overlay) const
  {
    if (records_.empty())
      return {};
    const models::Device device = resolve(with(first_, overlay)).jobs.front().device;
    std::vector<double> values;
    std::size_t part = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const auto profile = models::compute_profile(networks_[i], records_[i].batch, device);
      const Parts parts = parts_of(networks_[i], profile);
      values.push_back(profile.total().value());
      for (; values.size() < measurements_.size() && measurements_[values.size()].part; ++part)
        values.push_back(parts.at(names_[part]));
    }
    return values;
  }

private:
  const std::vector<TrainingRecord>& records_;
  Point first_;
  std::vector<models::Network> networks_;
  std::vector<Observation> measurements_; // of each record its step, then its parts
  std::vector<std::string> names_;        // of the parts
};

// What was learnt so far, with an overlay of its own to try something.
Learning copy_of(const Learning& learning)
{
  Learning result = learning;
  result.profiles.overlay = std::make_shared<Overlay>(*learning.profiles.overlay);
  return result;
}

// What a fit of the task would give: its values by pointer (SI) and its mean error.
struct Trial {
  std::map<std::string, double> values;
  double mean = std::numeric_limits<double>::infinity();
};

Trial tried(const FitTask& task, const Learning& learning)
{
  Learning copy = copy_of(learning);
  copy.judging = false;
  const std::size_t before = copy.learnt.parameters.size();
  copy.learn(task);
  Trial trial;
  for (std::size_t i = before; i < copy.learnt.parameters.size(); ++i)
    trial.mean = copy.learnt.parameters[i].residuals->mean;
  for (const Knob& knob : task.knobs)
    if (std::any_of(copy.learnt.parameters.begin() + static_cast<std::ptrdiff_t>(before),
                    copy.learnt.parameters.end(),
                    [&](const auto& p) { return p.pointer == knob.pointer; }))
      trial.values[knob.pointer] = value_of(knob, *copy.profiles.overlay).si();
  return trial;
}

// Tries the knobs; a machine that is quicker than the platform's reaches more than all of its rate:
// then the rate itself is learnt, at the platform's share.
Trial tried_with_rates(const Computing& computing, const std::string& source,
                       std::vector<Knob>& knobs, const Learning& learning)
{
  Trial best = tried(computing.task(source, knobs), learning);
  for (const auto& [share, rate] : kRates) {
    if (best.values.contains(share))
      continue;
    std::vector<Knob> others = knobs;
    const std::string pointer = share;
    const auto swapped = std::find_if(others.begin(), others.end(),
                                      [&](const Knob& knob) { return knob.pointer == pointer; });
    if (swapped == others.end())
      continue;
    swapped->pointer = rate;
    swapped->low = 1e6;
    swapped->high = 1e15;
    Trial trial = tried(computing.task(source, others), learning);
    if (!trial.values.contains(rate) || trial.mean >= best.mean)
      continue;
    best = std::move(trial);
    knobs = std::move(others);
  }
  return best;
}

// The knobs of computing, each beginning where the runs of one rank want it. A cache is among them
// where these runs clearly ask for another than the platform's.
std::vector<Knob> begun_knobs(const Computing& computing, const std::string& source,
                              const Part& gpu, const Part& framework, const Learning& learning)
{
  std::vector<Knob> knobs = computing_knobs(gpu, framework);
  Trial best = tried_with_rates(computing, source, knobs, learning);
  if (best.mean > kDoubtful) {
    const std::vector<Knob> plain = computing_knobs(gpu, framework);
    double least = kClearly * best.mean;
    for (const double bytes : kCaches) {
      std::vector<Knob> more = plain;
      for (const char* pointer : {"/cache", "/cache_bandwidth"})
        more.push_back({gpu, pointer, 1e4, 1e13, "runs of one rank with few and many parameters"});
      more[plain.size()].begin = bytes;
      Trial trial = tried_with_rates(computing, source, more, learning);
      if (!trial.values.contains("/cache") || trial.mean >= least)
        continue;
      least = trial.mean;
      best = std::move(trial);
      knobs = std::move(more);
    }
  }
  for (Knob& knob : knobs)
    if (const auto value = best.values.find(knob.pointer); value != best.values.end())
      knob.begin = value->second;
  return knobs;
}

// Runs of several ranks: simulated, like any other experiment.
class Reducing {
public:
  Reducing(const std::vector<TrainingRecord>& records, const Setup& setup)
  {
    for (const TrainingRecord& r : records) {
      points_.push_back(point_of(r, setup.options.platform, kSteps));
      measurements.push_back({r.name, "step time", r.batch * r.ranks / median_of(r.throughput),
                              spread_of(r.throughput)});
    }
  }

  void predict(const OverlayPtr& overlay, std::vector<double>& values) const
  {
    for (const Point& point : points_)
      values.push_back(run_point(with(point, overlay), RunOptions{}).jobs.front().step_time.median);
  }

  std::vector<Observation> measurements;

private:
  std::vector<Point> points_;
};

} // namespace

double median_of(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

double spread_of(const std::vector<double>& values)
{
  double mean = 0;
  for (const double value : values)
    mean += value / static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values)
    sum += (value - mean) * (value - mean);
  const auto others = static_cast<double>(std::max<std::size_t>(1, values.size() - 1));
  return std::max(kLeastSpread, std::sqrt(sum / others) / mean);
}

std::vector<std::string> teach_training(const std::vector<TrainingRecord>& records, Setup& setup)
{
  const std::string source = fmt::format("realrun training runs on {}", setup.options.platform);
  std::vector<TrainingRecord> alone, several;
  for (const TrainingRecord& r : records)
    (r.ranks == 1 ? alone : several).push_back(r);
  const auto spec = setup.platform(setup.learnt());
  const Part gpu = part_of(spec.node.gpus->type, platforms::kGpuKind);
  const Part framework = part_of(loose_value("realrun-cpu"), models::kFrameworkKind);
  const Part loopback = part_of(loose_value("loopback"), platforms::kTransportKind);
  const Computing computing(alone, setup);
  const Reducing reducing(several, setup);
  FitTask task = computing.task(
      source, alone.empty() ? computing_knobs(gpu, framework)
                            : begun_knobs(computing, source, gpu, framework, setup.learning));
  task.hold_back = false; // another fit of whole trainings costs too much
  if (several.empty())
    return setup.learning.learn(task);
  task.knobs.push_back({loopback, "/copy_rate", 1e6, 1e13, "runs with several ranks"});
  task.measurements.insert(task.measurements.end(), reducing.measurements.begin(),
                           reducing.measurements.end());
  task.predict = [&](const OverlayPtr& overlay) {
    std::vector<double> values = computing.predict(overlay);
    reducing.predict(overlay, values);
    return values;
  };
  return setup.learning.learn(task);
}

} // namespace foretrain::experiments
