#include "experiments/api/foretrain.hpp"

#include "experiments/answers/predict.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/error.hpp"

namespace foretrain::api {

namespace {

Interval interval_of(const Json& range)
{
  return {range.at("median").get<double>(), range.at("low").get<double>(),
          range.at("high").get<double>(), range.at("interval").get<double>()};
}

Job job_of(const Json& json)
{
  Job job;
  job.name = json.at("name").get<std::string>();
  job.gpus = json.at("gpus").get<int>();
  job.nodes = json.at("nodes").get<int>();
  job.throughput = interval_of(json.at("throughput_samples_per_s"));
  job.step_time = interval_of(json.at("step_time_s"));
  job.speedup = json.value("speedup", 0.0);
  for (const auto& part : json.at("time_s").items())
    job.time[part.key()] = part.value().get<double>();
  if (const auto it = json.find("bottleneck"); it != json.end() && it->contains("resource"))
    job.limited_by = it->at("resource").get<std::string>();
  job.fits = json.at("fits").get<bool>();
  const Json& memory = json.at("device_memory_byte");
  job.memory_needed = memory.at("needed").get<double>();
  job.memory_available = memory.at("available").get<double>();
  if (json.contains("days"))
    job.days = interval_of(json.at("days"));
  if (json.contains("cost"))
    job.cost = interval_of(json.at("cost"));
  return job;
}

PredictedPoint point_of(const Json& json)
{
  PredictedPoint point;
  for (const auto& setting : json.at("settings").items())
    point.settings[setting.key()] = setting.value().dump();
  if (const auto error = json.find("error"); error != json.end())
    point.error = error->get<std::string>();
  else
    for (const Json& job : json.at("jobs"))
      point.jobs.push_back(job_of(job));
  return point;
}

// Messages of the rooms below as this header's own error.
template <class Work>
auto guarded(const Work& work)
{
  try {
    return work();
  } catch (const ConfigError& error) {
    throw Error(error.what());
  } catch (const UsageError& error) {
    throw Error(error.what());
  }
}

} // namespace

void use_data(const std::string& folder)
{
  look_in(folder);
}

Experiment Experiment::load(const std::string& name_or_path)
{
  Experiment experiment;
  experiment.name_ = name_or_path;
  return experiment;
}

Experiment Experiment::from_text(const std::string& text, const std::string& folder)
{
  Experiment experiment;
  experiment.name_ = folder + "/experiment.json";
  experiment.text_ = text;
  return experiment;
}

void Experiment::set(const std::string& pointer, const std::string& value)
{
  overrides_.push_back(pointer + "=" + value);
}

void Experiment::add_profile(const std::string& name_or_path)
{
  profiles_.push_back(name_or_path);
}

Answer Experiment::predict(const Options& options) const
{
  return guarded([&] {
    experiments::LoadedExperiment loaded;
    if (text_.empty()) {
      loaded = experiments::load_experiment(name_, overrides_, profiles_);
    } else {
      const auto document = parse_document(text_, name_);
      document->path = name_;
      const Value whole =
          resolve_preset(Value(DocumentPtr(document)), experiments::kExperimentKind);
      loaded = experiments::load_experiment(std::make_shared<Document>(*whole.document()),
                                            overrides_, profiles_);
    }
    experiments::PredictOptions how;
    how.seed = options.seed;
    how.jobs = options.processes;
    how.uncertainty.interval = options.interval;
    how.apart = true; // the engine is one per process
    const auto prediction = experiments::predict(loaded, how, [](int, int) {});
    Answer answer;
    answer.status = prediction.status;
    answer.json = prediction.result.dump(2);
    for (const Json& point : prediction.result.at("points"))
      answer.points.push_back(point_of(point));
    return answer;
  });
}

} // namespace foretrain::api
