#include "realrun/common/record.hpp"
#include "sim/base/error.hpp"

#include <catch2/catch.hpp>

#include <sstream>

using namespace foretrain;
using namespace foretrain::realrun;

namespace {

Record sample_record()
{
  Record record = begin_record("training", "test", "realrun-test", {"realrun-test", "--fast"});
  record.settings = {{"batch", 8}, {"overlap", "on"}};
  Recorder recorder;
  for (int repetition = 0; repetition < 2; ++repetition) {
    recorder.next_repetition();
    for (int i = 0; i < 30; ++i) {
      recorder.add("step_time", "s", 0.001 * (1 + i + repetition));
      recorder.add("layer_forward", "s", 0.0001 * (1 + i), {{"layer", "conv0"}});
    }
  }
  record.series = recorder.series();
  return record;
}

std::string text_of(const Record& record)
{
  std::ostringstream out;
  write_record(record, "", out);
  return out.str();
}

Record reread(const std::string& text)
{
  return check_record(parse_document(text, "r.json"));
}

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("a record comes back as it was written")
{
  const Record read = reread(text_of(sample_record()));
  CHECK(read.kind == "training");
  CHECK(read.command == std::vector<std::string>{"realrun-test", "--fast"});
  CHECK(read.settings.at("batch") == 8);
  REQUIRE(read.series.size() == 2);
  REQUIRE(read.series[0].repetitions.size() == 2);
  CHECK_THAT(read.series[0].repetitions[1],
             Catch::Approx(sample_record().series[0].repetitions[1]).epsilon(1e-8));
}

TEST_CASE("series of layers are thinned evenly, others are kept")
{
  const Record read = reread(text_of(sample_record()));
  CHECK(read.series[0].repetitions[0].size() == 30);
  CHECK(read.series[1].repetitions[0].size() == kSamplesPerLabel);
  CHECK(read.series[1].repetitions[0].front() == Approx(0.0001));
}

TEST_CASE("a record says where and how it was made")
{
  const Json json = Json::parse(text_of(sample_record()));
  CHECK(json.at("machine").at("cores").get<int>() >= 1);
  CHECK_FALSE(json.at("machine").at("kernel").get<std::string>().empty());
  CHECK_FALSE(json.at("made_by").at("build").at("git_revision").get<std::string>().empty());
  CHECK(json.at("machine").at("network").is_array());
}

TEST_CASE("a record edited by hand is refused with its place")
{
  const std::string text = text_of(sample_record());
  CHECK_NOTHROW(reread(text));
  CHECK_THROWS_WITH(reread(replaced(text, "\"median\":0.016", "\"median\":0.015")),
                    Catch::Contains("r.json:") && Catch::Contains("disagrees with the samples"));
  CHECK_THROWS_WITH(reread(replaced(text, "measurement/1", "measurement/2")),
                    Catch::Contains("foretrain.measurement/1"));
  CHECK_THROWS_WITH(reread(replaced(text, "\"unit\": \"s\"", "\"unit\": \"ms\"")),
                    Catch::Contains("must be one of"));
  CHECK_THROWS_WITH(reread(replaced(text, "\"settings\"", "\"setings\"")),
                    Catch::Contains("setings"));
  CHECK_THROWS_WITH(reread(replaced(text, "\"overlap\":\"on\"", "\"overlap\":[1]")),
                    Catch::Contains("/settings/overlap"));
  CHECK_THROWS_AS(reread(text.substr(0, text.size() / 2)), ConfigError);
}

TEST_CASE("what cannot be read back is not written")
{
  Record record = sample_record();
  record.series[0].repetitions[0][0] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(text_of(record), ConfigError);
  record = sample_record();
  record.series.clear();
  CHECK_THROWS_WITH(text_of(record), Catch::Contains("at least one series"));
  record = sample_record();
  record.kind = "trainig";
  CHECK_THROWS_AS(text_of(record), ConfigError);
}

TEST_CASE("series survive the way from rank to rank")
{
  const Record record = sample_record();
  const auto back = unpack(pack(record.series));
  REQUIRE(back.size() == record.series.size());
  CHECK(back[1].labels == record.series[1].labels);
  CHECK(back[1].repetitions == record.series[1].repetitions);
}
