// The table of stacks against models: shares of each model's best, at the most GPUs.
#include "experiments/report/report_html_matrix.hpp"

#include "tests/experiments/told.hpp"
#include "tests/support/catch.hpp"

#include <regex>

namespace foretrain::matrix_test {

using namespace foretrain::experiments;

namespace {

Json point(const std::string& model, const std::string& network, int gpus, double rate)
{
  const Json settings = {
      {"/jobs/0/model", model}, {"/stack/network", network}, {"/jobs/0/gpus", gpus}};
  const Json range = {{"median", rate}, {"low", rate}, {"high", rate}, {"interval", 0.9}};
  return {
      {"settings", settings},
      {"jobs",
       Json::array({{{"name", "train"},
                     {"gpus", gpus},
                     {"nodes", 1},
                     {"throughput_samples_per_s", range},
                     {"step_time_s", range},
                     {"speedup", 1},
                     {"efficiency", 1},
                     {"bottleneck", {{"resource", "GPUs"}, {"utilisation", 1}, {"why", ""}}}}})}};
}

std::string matrix(const std::vector<Json>& points)
{
  const ExperimentResult result = test::told(Json{{"points", points}});
  return matrix_section(Report(result));
}

std::vector<std::string> found(const std::string& html, const char* expression)
{
  std::vector<std::string> all;
  const std::regex pattern(expression);
  for (std::sregex_iterator it(html.begin(), html.end(), pattern), end; it != end; ++it)
    all.push_back((*it)[1]);
  return all;
}

using Words = std::vector<std::string>;

} // namespace

TEST_CASE("a stack's share is of the best of its model, at the largest number of GPUs", "[report]")
{
  const std::string html = matrix({
      point("vgg16", "tcp", 1, 900), // fewer GPUs: not counted, whatever their rate
      point("vgg16", "tcp", 8, 300), point("vgg16", "rdma", 8, 400),
      point("alexnet", "tcp", 8, 5000), // alexnet on rdma was not run
  });
  CHECK(found(html, "<th scope=\"col\" class=\"number\">([^<]*)<") == Words{"vgg16", "alexnet"});
  CHECK(found(html, "</(?:svg|i|span)> ([a-z]+)</th>") == Words{"tcp", "rdma"});
  CHECK(found(html, "<td data-label=\"vgg16\"[^>]*>([^<]*)<") == Words{"75 %", "100 %"});
  CHECK(found(html, "<td data-label=\"alexnet\"[^>]*>([^<]*)<")[0] == "100 %");
  CHECK(found(html, "<small>([^<]*)<") == Words{"300", "5,000", "400"});
  CHECK(found(html, "data-label=\"([a-z0-9]*)\" class=\"best\"") == Words{"alexnet", "vgg16"});
}

TEST_CASE("of points that differ in nothing that is shown the best stands in the matrix",
          "[report]")
{
  const std::string html = matrix({point("vgg16", "tcp", 8, 200), point("vgg16", "tcp", 8, 300),
                                   point("vgg16", "rdma", 8, 600), point("alexnet", "tcp", 8, 50),
                                   point("alexnet", "rdma", 8, 40)});
  CHECK(found(html, "<td data-label=\"vgg16\"[^>]*>([^<]*)<") == Words{"50 %", "100 %"});
  CHECK(found(html, "<td data-label=\"alexnet\"[^>]*>([^<]*)<") == Words{"100 %", "80 %"});
}

TEST_CASE("there is a matrix of 2 to 12 models and 2 to 24 stacks", "[report]")
{
  const auto of = [](int models, int stacks) {
    std::vector<Json> points;
    for (int m = 0; m < models; ++m)
      for (int s = 0; s < stacks; ++s)
        points.push_back(point("model" + std::to_string(m), "stack" + std::to_string(s), 8, 1));
    return !matrix(points).empty();
  };
  CHECK(of(2, 2));
  CHECK(of(12, 2));
  CHECK(of(2, 24));
  CHECK_FALSE(of(13, 2));
  CHECK_FALSE(of(2, 25));
  CHECK_FALSE(of(1, 3));
  CHECK_FALSE(of(3, 1));
}

} // namespace foretrain::matrix_test
