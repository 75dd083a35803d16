#include "experiments/run/simulate/sharing.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::sharing_test {

using namespace foretrain::experiments;

TEST_CASE("Jobs meet where one waits most beyond what it does alone, counted for one rank")
{
  const auto of = [](sim::ResourceKind kind, double seconds) {
    return Limited{{kind, 0, ""}, seconds};
  };
  using enum sim::ResourceKind;
  const LimitedPerStep alone{{"link", of(pcie, 4)}, {"disk", of(disk, 1)}};
  const LimitedPerStep together{
      {"link", of(pcie, 10)}, {"disk", of(disk, 3)}, {"gpu", of(compute, 60)}};
  const auto shared = [](const sim::Resource& resource) { return resource.kind != compute; };
  const auto meeting = meeting_resource(together, alone, 3, Seconds(5), shared);
  REQUIRE(meeting);
  CHECK(meeting->resource == "link");
  CHECK_THAT(meeting->added.value(), test::is(2));
  // No more than the step has grown.
  CHECK_THAT(meeting_resource(together, alone, 3, Seconds(1.5), shared)->added.value(),
             test::is(1.5));
  CHECK(!meeting_resource(alone, alone, 3, Seconds(5), shared));
}

} // namespace foretrain::sharing_test
