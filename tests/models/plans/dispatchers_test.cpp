// What layers of experts send, by dispatcher.
#include "models/plans/planned_layer.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/small_plan.hpp"

#include <cmath>

namespace foretrain::models::dispatchers_test {

using test::small_model;

namespace {

// Bytes that a layer of experts sends each way, in parts of what one copy for each expert is.
// `times_inside`: by how much slower a byte is among the GPUs of a node than between nodes.
double sent(Dispatcher dispatcher, int reached, double times_inside = 0)
{
  class Nodes final : public ExchangeTimes {
  public:
    Nodes(int nodes, double inside) : nodes_(nodes), inside_(inside) {}
    Seconds time(PlanGroup group, Operation, Bytes size) override
    {
      return Seconds(group == PlanGroup::expert_node ? inside_ * size.value() : size.value());
    }
    int ranks(PlanGroup group) const override
    {
      return group == PlanGroup::expert_node ? 32 / nodes_ : 32;
    }
    int nodes(PlanGroup) const override { return nodes_; }
    Seconds transfer(int, Bytes) override { return Seconds(0); }

  private:
    int nodes_;
    double inside_;
  };
  StepSetting s = small_model(1);
  s.memory.model.experts = 256;
  s.memory.model.top_k = 8;
  s.memory.plan.expert = 32;
  s.rules.dispatcher = dispatcher;
  Nodes times(reached, times_inside);
  const double tokens = s.memory.batch.sequence * 1024.0 * 2;
  return PlannedLayer(s, times, kExpertLayer).exchanges(false).expert.whole.value() /
         (2 * 8 * tokens);
}

} // namespace

TEST_CASE("libraries for experts send one copy to each node", "[plans][closed-form]")
{
  CHECK(sent(Dispatcher::all_to_all, 4) == Approx(1));
  // Of four nodes eight choices reach 4 (1 - (3/4)^8); of 32 GPUs of one node 32 (1 - (31/32)^8).
  CHECK(sent(Dispatcher::deep_ep, 4) == Approx(4 * (1 - std::pow(0.75, 8)) / 8));
  CHECK(sent(Dispatcher::hybrid_ep, 1) == Approx(32 * (1 - std::pow(31.0 / 32, 8)) / 8));
  // Handed on inside the nodes to as many GPUs as the choices reach, if that takes longer.
  const double handed_on = 32 * (1 - std::pow(31.0 / 32, 8)) / 8;
  CHECK(sent(Dispatcher::deep_ep, 4, 0.4) == Approx(4 * (1 - std::pow(0.75, 8)) / 8));
  CHECK(sent(Dispatcher::deep_ep, 4, 1) == Approx(handed_on));
  CHECK(sent(Dispatcher::hybrid_ep, 4, 2) == Approx(2 * handed_on));
  CHECK(sent(Dispatcher::all_to_all, 4, 2) == Approx(1));
  // Everything to all of 32 ranks, and back.
  CHECK(sent(Dispatcher::all_gather, 4) == Approx(32.0 / 8));
}

} // namespace foretrain::models::dispatchers_test
