#include "experiments/run/simulate/anchor_runs.hpp"

#include "experiments/run/simulate/stage.hpp"
#include "experiments/spec/anchor.hpp"
#include "experiments/spec/transformer_setting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kAnchorRuns = 12;
constexpr double kSame = 1e-4;                     // of the rate
constexpr double kJump = 0.01;                     // of the rate, on either side of a jump
constexpr double kShortest = 0.01, kLongest = 100; // of kernel_time's format

// The anchor's job, alone.
class AnchorRun {
public:
  AnchorRun(const Point& point, const RunOptions& options, std::size_t job, double samples_per_s)
      : point_(measured_with(point, job)), options_(options), samples_per_s_(samples_per_s),
        spec_(read_point(point_).jobs[job]),
        at_(Value(point_.document).at("jobs").at(job).at("anchor")),
        job_(Value(point_.document).at("jobs").at(job).json())
  {
    const JobSpec& spec = spec_;
    for (const char* key : {"anchor", "placement", "start", "ends", "epochs", "training_steps",
                            "tokens", "name", "kernel_time"})
      job_.erase(key);
    const int gpus = anchor_gpus(spec);
    if (spec.global_batch) {
      const double share = static_cast<double>(gpus) / spec.gpus;
      const double batch = spec.anchor->batch_per_gpu
                               ? static_cast<double>(*spec.anchor->batch_per_gpu) * gpus
                               : *spec.global_batch * share;
      if (batch != std::floor(batch))
        at_.fail_at("gpus",
                    fmt::format("is {}: its share of the global batch of {} on {} GPUs is no whole "
                                "number",
                                gpus, *spec.global_batch, spec.gpus));
      check_micro_batch(spec, batch / gpus);
      job_["global_batch"] = static_cast<int>(batch);
    } else if (spec.anchor->batch_per_gpu) {
      job_["batch_per_gpu"] = *spec.anchor->batch_per_gpu;
    }
    job_["gpus"] = gpus;
    options_.trace_path.clear();
    options_.keep_limits = false;
    options_.late.clear();
  }

  /// The kernels' time with which the job has the anchor's rate: secants of the step's time. Where
  /// gradients leave at multiples of a cycle, steps jump: then halves of what lies between a time
  /// that is too short and one that is too long, and at a jump the nearer side of it.
  double kernel_time() const
  {
    Search search;
    double before = 1;
    double error_before = search.add(before, error(before));
    double now = std::clamp(before / (1 + error_before), kShortest, kLongest);
    for (int run = 0; run < kAnchorRuns && std::abs(search.error) > kSame; ++run) {
      const double error_now = search.add(now, error(now));
      const double slope = (error_now - error_before) / (now - before);
      const bool at_end = (now <= kShortest && error_now > 0) || (now >= kLongest && error_now < 0);
      before = now;
      error_before = error_now;
      const double secant =
          slope > 0 ? std::clamp(now - error_now / slope, kShortest, kLongest) : now;
      if (secant > search.too_short && secant < search.too_long && secant != now)
        now = secant;
      else if (!at_end && search.bracketed())
        now = std::sqrt(search.too_short * search.too_long);
      else if (!at_end) // what lies between steps hides the slope
        now = std::clamp(now * std::exp(-4 * error_now), kShortest, kLongest);
      else
        break;
    }
    if (std::abs(search.error) > (search.bracketed() ? kJump : kSame))
      fail(search.error);
    return search.time;
  }

private:
  // A GPU's part of the measured batch, times the GPUs that share each sample, is so many passes.
  void check_micro_batch(const JobSpec& spec, double samples_per_gpu) const
  {
    const models::ParallelPlan plan = spec.parallel.value_or(models::ParallelPlan{});
    const double samples = samples_per_gpu * plan.tensor * plan.context * plan.pipeline;
    if (!spec.anchor->batch_per_gpu || !spec.micro_batch ||
        std::fmod(samples, *spec.micro_batch) == 0)
      return;
    at_.fail_at("batch_per_gpu",
                fmt::format("is {}, which passes of the job's micro_batch of {} do not divide",
                            *spec.anchor->batch_per_gpu, *spec.micro_batch),
                "a job that says batch_per_gpu, not micro_batch and global_batch, has it in one "
                "pass, and so has its anchor");
  }

  // What was tried: the best, and what it lies between.
  struct Search {
    double time = 1;
    double error = std::numeric_limits<double>::infinity();
    double too_short = 0;
    double too_long = std::numeric_limits<double>::infinity();

    bool bracketed() const { return too_short > 0 && std::isfinite(too_long); }
    double add(double tried, double its_error)
    {
      if (std::abs(its_error) < std::abs(error)) {
        time = tried;
        error = its_error;
      }
      if (its_error > 0)
        too_long = std::min(too_long, tried);
      else
        too_short = std::max(too_short, tried);
      return its_error;
    }
  };

  /// Of the step, relative to the anchor's.
  double error(double kernel_time) const
  {
    Json job = job_;
    job["kernel_time"] = kernel_time;
    auto document = std::make_shared<Document>(*point_.document);
    document->root["jobs"] = Json::array({std::move(job)});
    document->overridden["/jobs/0"] = "the job that " + at_.pointer() + " was measured with";
    document->root.erase("better"); // it was measured on what there is
    if (document->root.contains("cluster") && document->root["cluster"].is_object())
      document->root["cluster"].erase("nodes");
    const ResolvedExperiment alone =
        resolve({point_.settings, std::move(document), point_.profiles});
    Stage stage(alone, options_);
    stage.run();
    Seconds sum;
    const auto& steps = stage.job(0).step_times();
    for (const Seconds step : steps)
      sum += step;
    const double rate =
        stage.job(0).schedule().samples_per_step * static_cast<double>(steps.size()) / sum.value();
    return samples_per_s_ / rate - 1;
  }

  [[noreturn]] void fail(double error) const
  {
    try {
      at_.fail_at("samples_per_s",
                  fmt::format("is {:g} on {} GPUs, which no time of kernels gives: {}",
                              samples_per_s_, anchor_gpus(spec_),
                              error > 0 ? "exchanges, input and host alone take longer"
                                        : "the job is faster whatever its kernels take"),
                  "is it the rate of all GPUs together, at this batch and precision?");
    } catch (const ConfigError& problem) {
      throw UnreachedRate(problem);
    }
  }

  Point point_;
  RunOptions options_;
  double samples_per_s_; // of the point: an interval's runs vary it
  JobSpec spec_;
  Value at_;
  Json job_;
};

} // namespace

Point with_anchors(const Point& point, const RunOptions& options)
{
  const ExperimentSpec spec = read_point(point);
  std::shared_ptr<Document> document;
  for (std::size_t i = 0; i < spec.jobs.size(); ++i) {
    if (!anchored_by_runs(spec.jobs[i]))
      continue;
    if (!document)
      document = std::make_shared<Document>(*point.document);
    document->root["jobs"][i]["kernel_time"] =
        AnchorRun(point, options, i, spec.jobs[i].anchor->samples_per_s).kernel_time();
  }
  return document ? Point{point.settings, std::move(document), point.profiles, point.anchored}
                  : point;
}

Point with_kernel_times(const Point& point, const RunOptions& options)
{
  Point anchored = with_anchors(point, options);
  const ExperimentSpec spec = read_point(point);
  const auto document = std::make_shared<Document>(*anchored.document);
  for (std::size_t i = 0; i < spec.jobs.size(); ++i)
    if (anchored_by_runs(spec.jobs[i]))
      document->root["jobs"][i].erase("anchor");
  anchored.document = document;
  return anchored;
}

} // namespace foretrain::experiments
