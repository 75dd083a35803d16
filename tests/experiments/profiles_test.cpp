// Profiles on experiments: what they change, what they say of themselves, what is refused.
#include "experiments/spec/profiles.hpp"

#include "experiments/run/simulate/parameters.hpp"
#include "experiments/spec/experiment.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folder.hpp"

namespace foretrain::profiles_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

struct Folder : test::Folder {
  Folder() : test::Folder("profiles") {}
  std::string write(const std::string& name, const Json& json) const
  {
    return test::Folder::write(name, json.dump(1));
  }
};

Json parameter(const std::string& kind, const std::string& preset, const std::string& pointer,
               const Json& value)
{
  return {{"kind", kind},
          {"preset", preset},
          {"pointer", pointer},
          {"value", value},
          {"source", "measured here"}};
}

Json profile(std::initializer_list<Json> parameters)
{
  return {{"format", "foretrain.profile/1"}, {"parameters", Json(parameters)}};
}

Json experiment()
{
  return {{"cluster", {{"platform", "c4140-k-v100-sxm2"}}},
          {"jobs", Json::array({{{"model", "resnet50"},
                                 {"framework", "tensorflow-horovod"},
                                 {"batch_per_gpu", 64},
                                 {"gpus", 2}}})}};
}

std::string error_of(const Folder& folder, const Json& json)
{
  const std::string path = folder.write("bad.json", json);
  try {
    Profiles().add(path);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("an experiment is called what it says, else like its file", "[experiment]")
{
  const Folder folder;
  Json named = experiment();
  named["name"] = "two GPUs";
  CHECK(load_experiment(folder.write("a.json", named), {}).spec.name == "two GPUs");
  CHECK(load_experiment(folder.write("growth.json", experiment()), {}).spec.name == "growth");
}

TEST_CASE("a profile reaches presets inside presets, and the parameters name it", "[profile]")
{
  const Folder folder;
  const std::string path = folder.write(
      "mine.json", profile({parameter("gpu", "v100-sxm2", "/memory_efficiency", 0.5),
                            parameter("library", "nccl-2.4", "/protocols/0/ring_base", "9 us"),
                            parameter("framework", "*", "/step_overhead", "7 ms"),
                            parameter("cpu", "i5-6600", "/memory_efficiency", 0.5)}));
  const auto loaded = load_experiment(folder.write("experiment.json", experiment()), {}, {path});
  const auto resolved = resolve(loaded.points.front());
  CHECK(resolved.platform.gpu.memory_efficiency == 0.5);
  CHECK_THAT(resolved.jobs[0].library.protocols[0].ring_base.value(), test::is(9e-6));
  CHECK_THAT(resolved.jobs[0].framework.step_overhead.value(), test::is(7e-3));
  int named = 0;
  for (const Parameter& p : effective_parameters(resolved))
    if (p.source.find("mine.json") != std::string::npos) {
      CHECK_THAT(p.source, StartsWith("profile ") && Contains("measured here"));
      ++named;
    }
  CHECK(named == 3);
  const auto unused = loaded.points.front().profiles->unused(resolved.presets);
  REQUIRE(unused.size() == 1);
  CHECK_THAT(unused[0], StartsWith("cpu i5-6600 /memory_efficiency"));
}

TEST_CASE("later profiles override earlier ones, and a sweep may choose among them", "[profile]")
{
  const Folder folder;
  const std::string a =
      folder.write("a.json", profile({parameter("framework", "*", "/step_overhead", "7 ms")}));
  folder.write("b.json", profile({parameter("framework", "*", "/step_overhead", "8 ms")}));
  Json json = experiment();
  json["profiles"] = {"./b.json"};
  const auto overhead = [](const Point& point) {
    return resolve(point).jobs[0].framework.step_overhead.value();
  };
  const std::string path = folder.write("experiment.json", json);
  CHECK_THAT(overhead(load_experiment(path, {}).points[0]), test::is(8e-3));
  const auto both = load_experiment(path, {}, {a});
  CHECK_THAT(overhead(both.points[0]), test::is(7e-3));
  CHECK(both.points[0].profiles->unused(resolve(both.points[0]).presets).empty());
  json["sweep"]["/profiles"] = {Json::array(), {"./a.json"}, {"./a.json", "./b.json"}};
  const auto swept = load_experiment(folder.write("swept.json", json), {});
  REQUIRE(swept.points.size() == 3);
  CHECK_THAT(overhead(swept.points[0]), test::is(1e-3));
  CHECK_THAT(overhead(swept.points[1]), test::is(7e-3));
  CHECK_THAT(overhead(swept.points[2]), test::is(8e-3));
}

TEST_CASE("profiles that speak of nothing are refused with the nearest name", "[profile]")
{
  const Folder folder;
  CHECK_THAT(error_of(folder, profile({parameter("gpus", "*", "/name", 1)})),
             Contains("bad.json:5") && Contains("did you mean 'gpu'?"));
  CHECK_THAT(error_of(folder, profile({parameter("gpu", "v100-sxm2-16g", "/name", 1)})),
             Contains("did you mean 'v100-sxm2-16gb'?"));
  CHECK_THAT(error_of(folder, profile({parameter("gpu", "*", "/memory_eficiency", 1)})),
             Contains("did you mean 'memory_efficiency'?"));
  CHECK_THAT(
      error_of(folder, profile({parameter("library", "nccl", "/protocols/0/ringbase", "1 us")})),
      Contains("did you mean 'ring_base'?"));
  CHECK_THAT(error_of(folder, profile({parameter("library", "nccl", "/protocols/x/name", 1)})),
             Contains("is a list"));
  CHECK_THAT(error_of(folder, profile({parameter("gpu", "*", "/memory", "12 parsecs")})),
             Contains("must be a number, or a text with number and unit"));
  Json spread = profile({parameter("gpu", "*", "/memory", "12 GB")});
  spread["parameters"][0]["spread"] = 0.1;
  CHECK_THAT(error_of(folder, spread), Contains("a unit exactly when the value has one"));
  Json correlation = profile({parameter("gpu", "*", "/memory", "12 GB")});
  correlation["correlations"] = {{{"a", 0}, {"b", 1}, {"value", 0.5}}};
  CHECK_THAT(error_of(folder, correlation), Contains("there are 1 parameters"));
}

TEST_CASE("a profile is read back as it was written", "[profile]")
{
  const Folder folder;
  Json json = profile({parameter("gpu", "v100-sxm2-16gb", "/memory_efficiency", 0.75),
                       parameter("nic", "*", "/latency", "2 us")});
  json["name"] = "lab";
  json["parameters"][0]["spread"] = 0.02;
  json["parameters"][0]["residuals"] = {{"measurements", 4}, {"mean", 0.01}, {"maximum", 0.02}};
  json["parameters"][1]["valid"] = {{{"of", "message size"}, {"from", "8 B"}, {"to", "1 GiB"}}};
  json["correlations"] = {{{"a", 0}, {"b", 1}, {"value", -0.5}}};
  json["refused"] = {{{"parameter", "x"}, {"reason", "y"}, {"measurement", "z"}}};
  json["outliers"] = {{{"where", "log:3"}, {"what", "3 us instead of 1 us"}}};
  Profiles profiles;
  profiles.add(folder.write("p.json", json));
  const auto& read = profiles.list.front();
  CHECK_THAT(calibration::relative_spread(read.parameters[0]), test::is(0.02 / 0.75));
  CHECK(calibration::relative_spread(read.parameters[1]) == 0);
  const Json written = calibration::to_json(read);
  profiles.add(folder.write("again.json", written));
  CHECK(calibration::to_json(profiles.list.back()) == written);
  for (const char* key : {"name", "parameters", "correlations", "refused", "outliers"})
    CHECK(nlohmann::json(written.at(key)) == nlohmann::json(json.at(key))); // keys in any order
}

} // namespace foretrain::profiles_test
