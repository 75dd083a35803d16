#include "experiments/spec/placement.hpp"

#include "tests/support/catch.hpp"

using namespace foretrain;
using namespace foretrain::experiments;
using platforms::GpuPlace;

TEST_CASE("Round-robin goes on where the last job ended, spread begins anew")
{
  const bool round_robin = GENERATE(true, false);
  const auto document = parse_document(
      round_robin ? R"({"placement": "round-robin"})" : R"({"placement": "spread"})", "job");
  const Value at(std::shared_ptr<const Document>{document});
  JobSpec job;
  job.placement = at.at("placement");
  job.gpus = 3;
  Placer placer(4, 2);
  using Places = std::vector<GpuPlace>;
  CHECK(placer.place(job, at) == Places{{0, 0}, {1, 0}, {2, 0}});
  job.gpus = 2;
  CHECK(placer.place(job, at) == (round_robin ? Places{{3, 0}, {3, 1}} : Places{{0, 1}, {3, 0}}));
}
