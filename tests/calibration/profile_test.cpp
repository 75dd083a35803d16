#include "calibration/profile.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::profile_test {

using namespace foretrain::calibration;

namespace {

Profile profile_with(double ab, double bc, double ac)
{
  Json json = {{"parameters", Json::array()}, {"correlations", Json::array()}};
  for (const char* pointer : {"/a", "/b", "/c"})
    json["parameters"].push_back({{"kind", "gpu"},
                                  {"preset", "some"},
                                  {"pointer", pointer},
                                  {"value", "20 us"},
                                  {"spread", "500 ns"}});
  json["correlations"].push_back({{"a", 0}, {"b", 1}, {"value", ab}});
  json["correlations"].push_back({{"a", 1}, {"b", 2}, {"value", bc}});
  json["correlations"].push_back({{"a", 0}, {"b", 2}, {"value", ac}});
  return read_profile(
      Value(std::shared_ptr<const Document>(parse_document(json.dump(), "profile"))));
}

} // namespace

TEST_CASE("correlations that no quantities can have are refused", "[profile]")
{
  CHECK_NOTHROW(profile_with(0.9, 0.9, 0.8));
  CHECK_THROWS_WITH(profile_with(0.9, 0.9, -0.9), Catch::Matchers::Contains("cannot all hold"));
}

TEST_CASE("a spread in units is relative to its value", "[profile]")
{
  CHECK_THAT(relative_spread(profile_with(0, 0, 0).parameters[0]), test::is(0.5 / 20));
}

TEST_CASE("units of value and spread may differ, kinds may not", "[profile]")
{
  const auto with = [](const std::string& parameter, const std::string& more = "") {
    return [=] {
      return read_profile(Value(std::shared_ptr<const Document>(parse_document(
          R"({"parameters": [{"kind": "gpu", "preset": "some", )" + parameter + "}]" + more + "}",
          "profile"))));
    };
  };
  const auto spread = [&](const std::string& parameter) {
    return relative_spread(with(R"("pointer": "/a", )" + parameter)().parameters[0]);
  };
  CHECK_THAT(spread(R"("value": "2 ms", "spread": "100 us")"), test::is(0.05));
  CHECK_THAT(spread(R"("value": "8 Gb/s", "spread": "0.5 GB/s")"), test::is(0.5));
  CHECK_THAT(spread(R"("value": -4, "spread": 1)"), test::is(0.25));
  CHECK(spread(R"("value": 0, "spread": 0)") == 0);
  CHECK(spread(R"("value": 3)") == 0);
  const auto [parameter, why] = GENERATE(table<std::string, std::string>({
      {R"("pointer": "a", "value": 1)",
       "/parameters/0/pointer must be a JSON pointer into the preset"},
      {R"("pointer": "", "value": 1)", "must be a JSON pointer into the preset"},
      {R"("pointer": "/a", "value": "much")",
       "/parameters/0/value must be a number, or a text with number and unit"},
      {R"("pointer": "/a", "value": [1])", "must be a number, or a text with number and unit"},
      {R"("pointer": "/a", "value": "1 us", "spread": 1)",
       "/parameters/0/spread must have a unit exactly when the value has one: 1 beside \"1 us\""},
      {R"("pointer": "/a", "value": 1, "spread": "1 us")", "must have a unit exactly when"},
      {R"("pointer": "/a", "value": "1 us", "spread": "1 B")",
       "must be of the kind of the value: \"1 B\" beside \"1 us\""},
      {R"("pointer": "/a", "value": 1, "spread": -1)", "must not be negative, got -1"},
      {R"("pointer": "/a", "value": 0, "spread": 1)", "must be zero beside a value of zero"},
  }));
  CAPTURE(parameter);
  CHECK_THROWS_WITH(with(parameter)(), Catch::Matchers::Contains(why));
  const std::string one = R"("pointer": "/a", "value": 1)";
  CHECK_THROWS_WITH(
      with(one, R"(, "correlations": [{"a": 0, "b": 1, "value": 0}])")(),
      Catch::Matchers::Contains("/correlations/0/b is 1, but there are 1 parameters"));
  CHECK_THROWS_WITH(with(one, R"(, "correlations": [{"a": 0, "b": 0, "value": 1}])")(),
                    Catch::Matchers::Contains("/correlations/0 must be of two different"));
}

} // namespace foretrain::profile_test
