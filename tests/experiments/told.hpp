// Results from JSON that says only what a test is about: the rest is nothing, or as told.
#pragma once

#include "experiments/run/keep/result_json.hpp"

#include <string>
#include <utility>

namespace foretrain::test {

namespace detail {

inline Json blank_job()
{
  return Json::parse(R"({
    "name": "train", "gpus": 1, "nodes": 1,
    "throughput_samples_per_s": {"median": 1}, "step_time_s": {"median": 1},
    "speedup": 1, "efficiency": 1,
    "time_s": {"compute": 0, "exposed_communication": 0, "input_stall": 0, "host_to_device": 0,
               "straggler_wait": 0, "framework": 0},
    "bottleneck": {"resource": "", "utilisation": 0, "why": ""},
    "elapsed_s": {"start_up": 0, "steps": 0, "total": 0},
    "device_memory_byte": {"needed": 0, "available": 0},
    "uncertainty": {"method": "linear", "from_parameters": 0, "run_to_run": 0, "contributions": []},
    "busiest": []})");
}

inline void put_default(Json& json, const char* key, Json value)
{
  if (!json.contains(key))
    json[key] = std::move(value);
}

inline void fill(Json& json, const Json& told)
{
  for (const auto& item : told.items())
    if (item.value().is_object() && json.contains(item.key()))
      fill(json[item.key()], item.value());
    else
      json[item.key()] = item.value();
}

// A range of which only the middle is told has no width.
inline void fill_ranges(Json& json)
{
  for (Json& member : json)
    if (member.is_object() && member.contains("median") && !member.contains("full")) {
      put_default(member, "low", member["median"]);
      put_default(member, "high", member["median"]);
      put_default(member, "interval", 0.9);
    }
}

inline Json filled_job(const Json& told)
{
  Json json = blank_job();
  fill(json, told);
  for (Json& part : json["uncertainty"]["contributions"])
    put_default(part, "spread", 0.1);
  if (json.contains("training_s"))
    put_default(json["training_s"], "samples", 0);
  fill_ranges(json);
  return json;
}

} // namespace detail

inline experiments::JobResult told_job(const Json& json)
{
  return read_from<experiments::JobResult>(detail::filled_job(json), "test");
}

inline experiments::ExperimentResult told(Json json)
{
  for (const char* text : {"experiment", "version"})
    detail::put_default(json, text, "");
  if (json.contains("seed")) // a literal has a sign
    json["seed"] = json["seed"].get<std::uint64_t>();
  detail::put_default(json, "points", Json::array());
  for (Json& point : json["points"]) {
    detail::put_default(point, "settings", Json::object());
    if (point.contains("error"))
      point.erase("jobs");
    else
      for (Json& job : point["jobs"])
        job = detail::filled_job(job);
  }
  return read_from<experiments::ExperimentResult>(std::move(json), "test");
}

} // namespace foretrain::test
