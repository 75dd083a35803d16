// Where the time of a step goes: its critical path, part by part, and what each part waits for.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"
#include "sim/base/schema.hpp"

namespace foretrain::experiments {

struct PathLimit {
  std::string resource;
  std::string name; // as people call it
  double share = 0; // of the time that this moved or computed
};

struct PathPart {
  std::string part; // of time_s
  Seconds time;
  double share = 0; // of the step
  std::vector<PathLimit> limited_by;
};

/// The parts of a job's mean step, which add up to it, the longest first.
struct StepPath {
  std::string name;
  int gpus = 1;
  Seconds step;
  std::vector<PathPart> parts;
};

/// For each job.
std::vector<StepPath> critical_paths(const ResolvedExperiment& experiment,
                                     const RunOptions& options);

template <class V>
void describe(V& v, PathLimit& s)
{
  v.required("resource", s.resource, "by place");
  v.required("name", s.name, "as people call it");
  v.required("share", s.share, "of the time that it moves or computes");
}

template <class V>
void describe(V& v, PathPart& s)
{
  v.required("part", s.part, "of time_s");
  v.required("time_s", s.time, "of the mean step", in_si());
  v.required("share", s.share, "of the step");
  v.required("limited_by", s.limited_by, "what the part waits for");
}

template <class V>
void describe(V& v, StepPath& s)
{
  v.required("name", s.name, "the job");
  v.required("gpus", s.gpus, "that it runs on");
  v.required("step_time_s", s.step, "the mean step", in_si(non_negative()));
  v.required("critical_path", s.parts, "they add up to the step; the longest first");
}

} // namespace foretrain::experiments
