// What table, CSV and HTML say about a result.
#include "experiments/report/report_csv.hpp"
#include "experiments/report/report_html.hpp"
#include "experiments/report/report_html_answer.hpp"
#include "experiments/report/report_table.hpp"
#include "experiments/report/svg_text.hpp"
#include "tests/experiments/told.hpp"
#include "tests/support/catch.hpp"

#include <sstream>

namespace foretrain::report_result_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

Json range(double median)
{
  return {{"median", median}, {"low", 0.9 * median}, {"high", 1.1 * median}, {"interval", 0.9}};
}

// A job whose throughput is rate_of_one x speedup.
Json job(int gpus, double speedup, const std::string& limit, const std::string& name = "train")
{
  const double rate = 100 * speedup;
  const double step = 64 * gpus / rate;
  return {{"name", name},
          {"gpus", gpus},
          {"nodes", 1},
          {"throughput_samples_per_s", range(rate)},
          {"step_time_s", range(step)},
          {"speedup", speedup},
          {"efficiency", speedup / gpus},
          {"time_s", {{"compute", 0.75 * step}, {"exposed_communication", 0.25 * step}}},
          {"bottleneck",
           {{"resource", limit}, {"utilisation", 0.8}, {"why", "because of \"" + limit + "\""}}},
          {"busiest", Json::array({Json{{"resource", limit}, {"utilisation", 0.8}}})}};
}

using Entries = std::vector<std::pair<std::string, Json>>;

Json point(const Entries& settings, const std::vector<Json>& jobs)
{
  Json one = {{"settings", Json::object()}, {"jobs", jobs}};
  for (const auto& [pointer, value] : settings)
    one["settings"][pointer] = value;
  return one;
}

Json failed(const Entries& settings, const std::string& error)
{
  Json one = point(settings, {});
  one["error"] = error;
  return one;
}

Json result_of(const std::vector<Json>& points)
{
  return {{"points", points}};
}

// 1, 2, 4 and 8 GPUs; the last step brings little.
Json sweep()
{
  Json result = {
      {"experiment", "scaling"}, {"version", "0.1.0"}, {"seed", 7}, {"fidelity", "coupled"}};
  const std::vector<std::pair<int, double>> speedups{{1, 1}, {2, 1.9}, {4, 3.6}, {8, 4.4}};
  for (const auto& [gpus, speedup] : speedups)
    result["points"].push_back(point(
        {{"/jobs/0/gpus", gpus}}, {job(gpus, speedup, gpus < 8 ? "node0/gpu0" : "node0/ib0/tx")}));
  return result;
}

std::string report_table(const Json& result, const TableStyle& style = {})
{
  return experiments::report_table(test::told(result), style);
}

std::string report_csv(const Json& result)
{
  return experiments::report_csv(test::told(result));
}

std::string report_html(const Json& result)
{
  return experiments::report_html(test::told(result));
}

std::vector<std::string> lines_of(const std::string& text)
{
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::size_t count(const std::string& text, const std::string& what)
{
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++n;
  return n;
}

} // namespace

TEST_CASE("a scaling step's gain is the rate per added GPU over that of one GPU",
          "[experiments][report]")
{
  const ExperimentResult result = test::told(sweep());
  const Report report(result);
  const auto all = all_scaling(report);
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].steps.size() == 3);
  const ScalingStep& last = all[0].steps.back();
  CHECK_THAT(last.speedup, test::is(4.4 / 3.6));
  CHECK_THAT(last.gain, test::is((4.4 - 3.6) / 4));
  CHECK_THAT(last.gpu_time, test::is(2 * 3.6 / 4.4));
  CHECK(all[0].steps[1].pays());
  CHECK_FALSE(last.pays());
  CHECK(all[0].telling.gpus_before == 4);
}

TEST_CASE("a dip that a larger number of GPUs makes good does not end scaling",
          "[experiments][report]")
{
  Json result = sweep();
  result["points"].push_back(point({{"/jobs/0/gpus", 16}}, {job(16, 12, "node0/ib0/tx")}));
  const ExperimentResult made = test::told(result);
  const Report report(made);
  const Scaling scaling = all_scaling(report).front();
  CHECK_FALSE(scaling.steps[2].pays());
  CHECK(scaling.telling.pays());
  CHECK(scaling.telling.gpus_after == 16);
}

TEST_CASE("a table that is too wide tells once what all lines have alike", "[experiments][report]")
{
  const std::string limit = "overheads of the framework";
  Json result = result_of({point({{"/stack/network", "rdma"}}, {job(8, 6, limit)}),
                           point({{"/stack/network", "tcp"}}, {job(8, 5, limit)})});
  result["experiment"] = "networks";
  std::size_t width = 0; // of the table with all its columns
  for (const std::string& line : lines_of(report_table(result, {200, false})))
    if (line.starts_with("network ") || line.ends_with(limit))
      width = std::max(width, line.size());
  CHECK_THAT(report_table(result, {width, false}), !Contains("In all lines"));
  const std::string narrower = report_table(result, {width - 1, false});
  CHECK_THAT(narrower, Contains("In all lines: GPUs 8\n") && Contains(limit + "\n"));
  CHECK_THAT(report_table(result, {width - 20, false}), Contains(limit + "\n")); // cut last
  CHECK_THAT(report_table(sweep(), {60, false}), !Contains("In all lines: GPUs"));
}

TEST_CASE("the answer names the best point, its limit, and where scaling ends",
          "[experiments][report]")
{
  const Json result = sweep();
  const ExperimentResult made = test::told(result);
  const Report report(made);
  const auto all = answers(report);
  REQUIRE(all.size() == 1);
  CHECK(all[0].headline ==
        "440 samples/s at best, with 8 GPUs; limited by node0/ib0/tx; scaling stops "
        "paying after 4 GPUs.");
  CHECK_THAT(all[0].sentences[0], Contains("440 samples/s (90 % interval 396 to 484)"));
  CHECK_THAT(report_table(result),
             Contains("At 8 GPUs the limit moves from node0/gpu0 to node0/ib0/tx"));
}

TEST_CASE(
    "a point is ahead of another where that is as good as sure, however wide the intervals of both",
    "[experiments][report]")
{
  Json result = result_of({point({{"/stack/network", "rdma"}}, {job(8, 7.0, "a")}),
                           point({{"/stack/network", "tcp"}}, {job(8, 6.8, "b")}),
                           point({{"/stack/network", "ipoib"}}, {job(8, 6.5, "b")}),
                           point({{"/stack/network", "flannel"}}, {job(8, 2.0, "b")})});
  const auto last = [&] {
    const ExperimentResult made = test::told(result);
    return answers(Report(made)).front().sentences.back();
  };
  CHECK_THAT(last(), Contains("Not clearly ahead of tcp") &&
                         Contains(": the intervals overlap; nor of 1 other."));
  const auto than = [](std::size_t other, double probability) {
    return Json{{"job", "train"}, {"point", 0}, {"than", other}, {"probability", probability}};
  };
  result["comparisons"] = {than(1, 0.96), than(2, 0.94)};
  CHECK_THAT(last(), Contains("Not clearly ahead of ipoib") &&
                         Contains(": faster with a probability of 94 %."));
  result["comparisons"] = {than(1, 0.96), than(2, 0.96)};
  CHECK_THAT(last(), !Contains("Not clearly ahead"));
}

TEST_CASE("jobs and models get answers of their own", "[experiments][report]")
{
  Json two = result_of(
      {point({{"/stack/network", "tcp"}}, {job(4, 3, "a", "vision"), job(4, 2, "b", "text")})});
  two["points"][0]["jobs"][0]["slowdown"] = 1.3;
  two["points"][0]["joint"] = {{"weighted_slowdown", 1.15}, {"gpus_lost", 0.92}, {"gpus", 8}};
  const ExperimentResult made = test::told(two);
  const Report jobs(made);
  REQUIRE(answers(jobs).size() == 2);
  CHECK(answers(jobs)[0].subject == "vision");
  CHECK_THAT(report_table(two), Contains("slower") && Contains("slows it down 1.30 times"));
  CHECK_THAT(report_table(two),
             Contains("Together 1.150 times as slow as alone") && Contains("0.920 of 8 GPU hours"));
  CHECK_THAT(report_html(two), Contains("slowdown by sharing"));

  const ExperimentResult models =
      test::told(result_of({point({{"/jobs/0/model", "resnet50"}}, {job(4, 3, "a")}),
                            point({{"/jobs/0/model", "vgg16"}}, {job(4, 2, "a")})}));
  const Report compared(models);
  CHECK(answers(compared).size() == 2);

  // The model of a neighbour is a circumstance: the job itself has one answer.
  const ExperimentResult neighbours = test::told(result_of(
      {point({{"/jobs/0/model", "resnet50"}}, {job(4, 3, "a", "front"), job(4, 2, "b", "back")}),
       point({{"/jobs/0/model", "vgg16"}}, {job(4, 2, "a", "front"), job(4, 1, "b", "back")})}));
  std::vector<std::string> subjects;
  for (const Answer& answer : answers(Report(neighbours)))
    subjects.push_back(answer.subject);
  CHECK(subjects == std::vector<std::string>{"front, resnet50", "back", "front, vgg16"});
}

TEST_CASE("a setting that changes nothing is reported", "[experiments][report]")
{
  Json result = result_of({});
  for (const char* network : {"tcp", "rdma"})
    for (const int gpus : {1, 2})
      result["points"].push_back(point({{"/stack/network", network}, {"/jobs/0/gpus", gpus}},
                                       {job(gpus, gpus, "node0/gpu0")}));
  const ExperimentResult made = test::told(result);
  const Report report(made);
  REQUIRE(without_effect(report).size() == 1);
  CHECK_THAT(without_effect(report)[0], StartsWith("/stack/network has no effect"));
  CHECK_THAT(report_table(result), Contains("/stack/network has no effect"));
  CHECK_THAT(report_html(result), Contains("/stack/network has no effect"));
}

TEST_CASE("the table has one aligned line per point and job", "[experiments][report]")
{
  const std::string table = report_table(sweep());
  const auto lines = lines_of(table);
  CHECK(lines[0] == "scaling");
  CHECK(lines[2] ==
        "GPUs  nodes  samples/s  90 % int.  step ms  speedup  eff %  time %               "
        "limited by");
  CHECK(lines[3] ==
        "   1      1        100   90.0-110      640     1.00    100  compute 75, comm 25  "
        "node0/gpu0");
  CHECK(lines[6] ==
        "   8      1        440    396-484     1164     4.40     55  compute 75, comm 25  "
        "node0/ib0/tx");
}

TEST_CASE("the table stays within its columns", "[experiments][report]")
{
  Json result = sweep();
  for (Json& one : result["points"]) {
    one["settings"]["/jobs/0/batch_per_gpu"] = one["settings"]["/jobs/0/gpus"].get<int>() * 100;
    one["settings"]["/stack/network"] = "net-" + std::to_string(one["jobs"][0]["gpus"].get<int>());
    one["settings"]["/cluster/storage"] =
        "a storage system of a long name " + one["settings"].dump();
    one["warnings"] = Json::array(
        {"a long warning " + std::string(40, 'w') + " " + std::string(60, 'v') + " end"});
  }
  for (const std::string& line : lines_of(report_table(result)))
    CHECK(width_of(line) <= 110);
  CHECK(count(report_table(result), "\x1b[") == 0);
  CHECK(count(report_table(result, {110, true}), "\x1b[") > 0);
}

TEST_CASE("CSV quotes as RFC 4180 says and has one line per point and job", "[experiments][report]")
{
  Json result = sweep();
  result["points"][1]["jobs"][0]["bottleneck"]["why"] = "a, \"b\"\nc";
  result["points"].push_back(failed({{"/jobs/0/gpus", 16}}, "too, many"));
  const std::string csv = report_csv(result);
  CHECK_THAT(csv, StartsWith("point,/jobs/0/gpus,job,gpus,nodes,throughput_samples_per_s,"));
  CHECK_THAT(csv, Contains("\r\n1,1,train,1,1,100,90,") && Contains("\"a, \"\"b\"\"\nc\"") &&
                      Contains("\r\n5,16,,,") && Contains(",\"too, many\"\r\n"));
  CHECK(count(csv, "\r\n") == 6);
  const auto lines = lines_of(csv);
  CHECK(count(lines[0], ",") == count(lines[1], ",")); // no field of the first point holds a comma
}

TEST_CASE("CSV columns do not depend on what a result holds", "[experiments][report]")
{
  const std::string empty = lines_of(report_csv(Json::object()))[0];
  const std::string full = lines_of(report_csv(result_of({point({}, {job(1, 1, "a")})})))[0];
  CHECK(empty == full);
  CHECK_THAT(full, Contains(",time_straggler_wait_s,") && Contains(",bottleneck_why,"));
}

TEST_CASE("the page is one file that shows all there is", "[experiments][report]")
{
  Json result = sweep();
  result["description"] = "1 < 2 & \"3\"";
  result["warnings"] = Json::array({"all of it"});
  result["points"][3]["warnings"] = Json::array({"extrapolated"});
  result["points"][0]["parameters"] = {
      {{"name", "gpu/rate"}, {"value", "9 GB/s"}, {"source", "sheet"}}};
  result["points"][1]["parameters"] = {
      {{"name", "gpu/rate"}, {"value", "8 GB/s"}, {"source", "log"}}};
  result["input"] = {{"cluster", "here"}};
  const std::string html = report_html(result);
  CHECK_THAT(html, StartsWith("<!doctype html>"));
  for (const char* part :
       {"1 &lt; 2 &amp; &quot;3&quot;", "scaling stops paying after 4&nbsp;GPUs",
        "id=\"throughput\"", "id=\"scaling\"", "id=\"step\"", "id=\"limits\"", "id=\"numbers\"",
        "id=\"parameters\"", "id=\"settings\"", "all of it", "extrapolated <small>8 GPUs</small>",
        "9 GB/s", "8 GB/s", "class=\"differs\"", "&quot;cluster&quot;: &quot;here&quot;",
        "version 0.1.0, seed 7, fidelity coupled"})
    CHECK_THAT(html, Contains(part));
  for (const char* outside : {"http:", "https:", "src=", "url(", "@import", "<link"})
    CHECK_THAT(html, !Contains(outside));
  CHECK(count(html, "<svg") == count(html, "</svg>"));
  CHECK(count(html, "<tr") - count(html, "<tr>") ==
        count(html, "<tr class=\"differs\">") + count(html, "<tr class=\"source\">"));
}

TEST_CASE("GPUs that bring more than one of them alone say what held the others back",
          "[experiments][report]")
{
  Json result = {
      {"experiment", "scaling"}, {"version", "0.1.0"}, {"seed", 7}, {"fidelity", "coupled"}};
  for (const auto& [gpus, speedup] : {std::pair(5, 2.0), std::pair(8, 5.0)})
    result["points"].push_back(point({{"/jobs/0/gpus", gpus}}, {job(gpus, speedup, "adapter")}));
  CHECK_THAT(report_html(result), !Contains("That is more than one"));
  result["points"][1]["jobs"][0] = job(8, 5.9, "adapter");
  CHECK_THAT(report_html(result),
             Contains("alone does. That is more than one: 5&nbsp;GPUs are held back more, by "
                      "adapter."));
}

TEST_CASE("added GPUs that slow a job down are told to take more than they bring",
          "[experiments][report]")
{
  Json result = {
      {"experiment", "scaling"}, {"version", "0.1.0"}, {"seed", 7}, {"fidelity", "coupled"}};
  for (const auto& [gpus, speedup] : {std::pair(1, 1.0), std::pair(4, 0.9)})
    result["points"].push_back(point({{"/jobs/0/gpus", gpus}}, {job(gpus, speedup, "adapter")}));
  const std::string html = report_html(result);
  CHECK_THAT(html, Contains("the rate falls to 90&nbsp;%") &&
                       Contains("the added&nbsp;GPUs take more than they bring.") &&
                       !Contains("brings 0"));
}

TEST_CASE("no text of a result becomes markup or a terminal command", "[experiments][report]")
{
  const std::string evil = "<script>alert('x')</script>\x1b[2J\"";
  Json bad = job(2, 2, evil, evil);
  bad["all_reduce"] = evil;
  Json result = result_of({point({{evil, evil}}, {bad}), point({{evil, 2}}, {bad})});
  for (const char* key : {"experiment", "description", "version", "input"})
    result[key] = evil;
  result["warnings"] = Json::array({evil});
  result["points"][0]["parameters"] =
      Json::array({Json{{"name", evil}, {"value", evil}, {"source", evil}}});
  result["points"].push_back(failed({{evil, 3}}, evil));
  const std::string html = report_html(result);
  CHECK(count(html, "<script") == 1);
  CHECK(count(html, "\x1b") == 0);
  CHECK(count(report_table(result), "\x1b") == 0);
  CHECK(count(report_csv(result), "\r\n") == 4);
}

TEST_CASE("results of nothing, of failures and of no rate are shown", "[experiments][report]")
{
  const char* text =
      GENERATE("{}", R"({"points": [{"settings": {"/jobs/0/gpus": 8}, "error": "no such model"}]})",
               R"({"points": [{"settings": {"/jobs/0/gpus": 1}, "jobs": [{"gpus": 1,
          "throughput_samples_per_s": {"median": 0}, "speedup": 0}]},
          {"settings": {"/jobs/0/gpus": 2}, "jobs": [{"gpus": 2,
          "throughput_samples_per_s": {"median": 0}, "time_s": {"compute": 0}}]}]})",
               R"({"points": [{"settings": {"/x": 1}, "jobs": [{}]},
          {"settings": {"/x": -1e300}, "jobs": [{}]}]})");
  CAPTURE(text);
  const Json result = Json::parse(text);
  CHECK_FALSE(report_table(result).empty());
  CHECK_FALSE(report_csv(result).empty());
  const std::string html = report_html(result);
  CHECK_THAT(html, Contains("</html>"));
  CHECK_THAT(html, !Contains("\"nan") && !Contains("\"inf") && !Contains("NaN"));
}

TEST_CASE("text that is no UTF-8 does not stop a report", "[experiments][report]")
{
  Json result = sweep();
  result["points"][0]["settings"]["/x"] = Json::array({"\xff\xfe"});
  result["points"][1]["settings"]["/x"] = "\xff";
  result["experiment"] = "\xc3";
  CHECK_FALSE(report_table(result).empty());
  CHECK_FALSE(report_csv(result).empty());
  CHECK_FALSE(report_html(result).empty());
}

TEST_CASE("hundreds of points: all in the table, some unfolded, some drawn",
          "[experiments][report]")
{
  Json result = result_of({});
  for (int batch = 1; batch <= 30; ++batch)
    for (int gpus = 1; gpus <= 10; ++gpus)
      result["points"].push_back(point({{"/jobs/0/batch_per_gpu", batch}, {"/jobs/0/gpus", gpus}},
                                       {job(gpus, 0.9 * gpus + 0.1, "a")}));
  const std::string html = report_html(result);
  CHECK(count(html.substr(html.find("id=\"numbers\"")), "<tr>") >= 300);
  CHECK_THAT(html, Contains("100 more are not shown here"));
  CHECK(count(html, "class=\"chart\"") <= 12);
  CHECK(lines_of(report_table(result)).size() > 300);
}

TEST_CASE("settings that a sweep varies together count as one", "[experiments][report]")
{
  Json result = result_of({});
  for (const char* precision : {"fp32", "fp16"})
    for (const int gpus : {1, 2, 4})
      result["points"].push_back(
          point({{"/jobs/0/precision", precision},
                 {"/jobs/0/batch_per_gpu", precision == std::string("fp16") ? 256 : 128},
                 {"/cluster/nodes", gpus > 2 ? 2 : 1},
                 {"/jobs/0/gpus", gpus}},
                {job(gpus, gpus * (precision == std::string("fp16") ? 0.8 : 0.9), "node0/gpu0")}));
  const ExperimentResult made = test::told(result);
  const Report report(made);
  CHECK(report.varying() == std::vector<std::string>{"/jobs/0/precision", "/jobs/0/gpus"});
  CHECK(report.label(report.rows().back()) == "fp16, 4 GPUs");
  CHECK(report.leader_of("/cluster/nodes") == "/jobs/0/gpus");
  CHECK(
      report.linked_sentences() ==
      std::vector<std::string>{"batch_per_gpu varies with precision.", "nodes varies with gpus."});
  CHECK(all_scaling(report).size() == 2);
  CHECK_THAT(report_csv(result), StartsWith("point,/jobs/0/precision,/jobs/0/batch_per_gpu,"));
}

TEST_CASE("curves that hide one another are named", "[experiments][report]")
{
  Json result = result_of({});
  for (const char* network : {"tcp", "rdma", "slow"})
    for (const int gpus : {1, 2})
      result["points"].push_back(
          point({{"/stack/network", network}, {"/jobs/0/gpus", gpus}},
                {job(gpus, network == std::string("slow") ? 1 : gpus, "node0/gpu0")}));
  CHECK_THAT(report_html(result), Contains("tcp and rdma coincide."));
}

TEST_CASE("an interrupted run says so", "[experiments][report]")
{
  Json result = sweep();
  result["interrupted"] = true;
  CHECK_THAT(report_table(result), Contains("interrupted"));
  CHECK_THAT(report_html(result), Contains("interrupted"));
}

TEST_CASE("Limits are told as people call them, each once, whatever the node")
{
  const auto limited = [](const char* resource, const char* name) {
    Json one = job(8, 4, resource);
    if (name != nullptr)
      one["bottleneck"]["name"] = name;
    return one;
  };
  const Json result =
      result_of({point({{"/x", 1}}, {limited("node0/ib0/tx", "network adapters")}),
                 point({{"/x", 2}}, {limited("node13/ib0/tx", "network adapters")}),
                 point({{"/x", 3}}, {limited("node1/gpu0/compute", "GPUs")}),
                 point({{"/x", 4}}, {limited("storage/disks", nullptr)})}); // of an older program
  const std::string table = report_table(result);
  CHECK_THAT(table, Contains("network adapters (2 of 4 lines)"));
  CHECK_THAT(table, Contains("GPUs (1 of 4 lines)"));
  CHECK_THAT(table, Contains("storage/disks (1 of 4 lines)"));
}

TEST_CASE("a large model is told in tokens, with its memory and its pipeline",
          "[experiments][report]")
{
  Json large = job(8, 7, "H100");
  large["tokens_per_s"] = range(40'000);
  large["tokens_per_s_per_gpu"] = 5'000;
  large["mfu"] = {{"full", 0.5}, {"causal", 0.4}};
  large["training_tokens"] = 2e12;
  large["days"] = range(579);
  large["cost"] = range(111'000);
  large["device_memory_byte"] = {
      {"needed", 90e9},
      {"available", 80e9},
      {"parts", {{"weights", 30e9}, {"activations", 60e9}, {"gradients", 0}}}};
  const Json piece = {{"forward_s", 1}, {"backward_s", 2}, {"weights_s", 0.8}, {"transfer_s", 0}};
  large["pipeline"] = {{"stages", 2},        {"virtual_stages", 1},
                       {"schedule", "1f1b"}, {"micro_batches", 3},
                       {"blocking", false},  {"pieces", Json::array({piece, piece})}};
  const auto page_of = [](const Json& one) { return report_html(result_of({point({}, {one})})); };
  const std::string page = page_of(large);
  CHECK_THAT(page, Contains("It does not fit: 40,000 tokens/s with more memory, limited by H100"));
  CHECK_THAT(page, Contains("2 T tokens take 579 days (521 to 637) and cost 111,000"));
  CHECK_THAT(page, Contains("does not fit") && Contains("weights 30.0 GB"));
  // (m + p - 1) x 3 s = 12 s, of which each stage works 9.
  CHECK_THAT(page, Contains("stages work 75") && Contains("12,000 ms"));
  CHECK_THAT(page, Contains("stage 1, micro-batch 0, forward: 1,000 to 2,000 ms"));
  large["pipeline"]["pieces"] = Json::array({piece});
  CHECK_THAT(page_of(large), !Contains("<section id=\"pipeline\""));
  large.erase("pipeline");
  CHECK_THAT(page_of(large), !Contains("<section id=\"pipeline\""));
}

} // namespace foretrain::report_result_test
