// What devices wait for their hosts in a plan's step, told as such.
#include "models/plans/optimizer_time.hpp"
#include "models/plans/stages.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/plan_parts.hpp"
#include "tests/support/small_plan.hpp"

namespace foretrain::models::plan_host_waits_test {

using test::EqualTimes;
using test::small_model;

TEST_CASE("what experts wait for their host is no computing", "[plans][closed-form]")
{
  constexpr int kLayers = 3;
  StepSetting s = small_model(kLayers);
  s.memory.model.experts = 4;
  s.memory.model.top_k = 2;
  s.rules.host_per_routing = Seconds(4e-3);
  EqualTimes times(Seconds(0));
  s.rules.dropless = true;
  const test::PlanParts waits = test::parts_of_plan(s, times);
  s.rules.dropless = false;
  const test::PlanParts none = test::parts_of_plan(s, times);
  CHECK((waits.framework - none.framework).value() ==
        Approx(s.memory.batch.micro_batches * kLayers * 4e-3).epsilon(1e-9));
  CHECK(waits.compute.value() == Approx(none.compute.value()).epsilon(1e-9));
  CHECK((waits.step - none.step).value() ==
        Approx((waits.framework - none.framework).value()).epsilon(1e-9));
}

TEST_CASE("while a host updates what is offloaded its device waits", "[plans][closed-form]")
{
  StepSetting s = small_model(2);
  s.rules.optimizer_bytes = 10;
  s.rules.host_optimizer_bytes = 40;
  s.host_link = BytesPerSecond(1e10);
  s.host_memory = BytesPerSecond(2e10);
  EqualTimes times(Seconds(0));
  const test::PlanParts here = test::parts_of_plan(s, times);
  s.memory.state.offload = 0.25;
  const test::PlanParts away = test::parts_of_plan(s, times);
  const double parameters =
      parameters_of(pieces_of(s.memory.model, s.memory.plan).front(), s.memory.model, s.memory.plan)
          .total();
  CHECK((away.framework - here.framework).value() ==
        Approx(0.25 * parameters * (6 / 1e10 + 40 / 2e10)).epsilon(1e-9));
  CHECK(away.optimizer.value() == Approx(0.75 * here.optimizer.value()).epsilon(1e-9));
}

} // namespace foretrain::models::plan_host_waits_test
