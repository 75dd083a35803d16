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

} // namespace foretrain::profile_test
