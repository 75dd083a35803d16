// Exchanges and waits of one layer of a plan, where exchanges take what the test says.
#include "models/plans/planned_layer.hpp"

#include "tests/support/small_plan.hpp"

#include <catch2/catch.hpp>

#include <cmath>

namespace foretrain::models::planned_layer_test {

using test::EqualTimes;
using test::kExchange;
using test::small_model;

namespace {

// A layer of Llama 3 70B under eight tensor-parallel ranks, and an exchange of it that takes
// `exchange`.
Seconds exposed_of_tensor(Seconds exchange, double peak, bool joined = true, bool backward = false)
{
  StepSetting s = small_model(1);
  Transformer& t = s.memory.model;
  t.hidden = 8192;
  t.heads = 64;
  t.kv_heads = 8;
  t.ffn = 28672;
  t.gated = t.rotary = true;
  t.vocabulary = 0;
  s.memory.batch.gpus = 8;
  s.memory.batch.data = 1;
  s.memory.batch.sequence = 4096;
  s.memory.plan.tensor = 8;
  s.memory.plan.sequence_parallel = true;
  s.device.half.peak = peak;
  s.device.half.memory = 1e21;
  s.device.half.processors = 132;
  s.rules.overlap_tensor = true;
  s.rules.overlap_cost = 0;
  s.rules.joined_projections = joined;
  EqualTimes times(exchange);
  return PlannedLayer(s, times, kDenseLayer).exchanges(backward).tensor.exposed;
}

} // namespace

TEST_CASE("a product hides the exchange beside it, and no other", "[plans][closed-form]")
{
  // Very long products: of each of four exchanges the first of eight parts is left.
  CHECK(exposed_of_tensor(kExchange, 1e12).value() == Approx(4 * kExchange.value() / 8));
  // Products that take no time hide nothing.
  CHECK(exposed_of_tensor(kExchange, 1e21).value() == Approx(4 * kExchange.value()).epsilon(0.1));
  // The product behind the attention is the shortest: it hides less than the wider ones.
  const double middle = exposed_of_tensor(kExchange, 1.5e15).value();
  CHECK(middle > 4 * kExchange.value() / 8 * 1.01);
  CHECK(middle < 4 * kExchange.value());
}

TEST_CASE("a sum of several products that is exchanged is beside none of them",
          "[plans][closed-form]")
{
  // Of long products, each by itself, what comes in is beside all of them ...
  const auto left = [](bool joined, bool backward) {
    return exposed_of_tensor(kExchange, 1e12, joined, backward).value() / kExchange.value();
  };
  CHECK(left(false, false) == Approx(4.0 / 8));
  // ... and of gradients that of their sum is not, but what is brought together before is.
  CHECK(left(true, true) == Approx(4.0 / 8));
  CHECK(left(false, true) == Approx(2 + 2.0 / 8));
  // Shorter ones hide together what each is too short for, and take longer than if joined.
  const double together = exposed_of_tensor(kExchange, 1.5e15, false).value();
  CHECK(together < exposed_of_tensor(kExchange, 1.5e15).value());
  CHECK(together > 0.8 * exposed_of_tensor(kExchange, 1.5e15).value());
}

namespace {

// Notes calls of one layer's context-parallel ranks, four of them.
PlannedCalls context_calls(ContextExchange exchange, int heads, bool backward)
{
  StepSetting s = small_model(1);
  s.memory.model.kv_heads = 4;
  s.memory.plan.context = 4;
  s.memory.plan.context_exchange = exchange;
  s.memory.plan.context_heads = heads;
  s.memory.batch.gpus = 4;
  s.memory.batch.data = 1;
  EqualTimes times(kExchange);
  return PlannedLayer(s, times, kDenseLayer).exchanges(backward).context.calls;
}

} // namespace

TEST_CASE("context-parallel ranks send keys, gather them or turn heads", "[plans][closed-form]")
{
  const double tokens = 512 * 2.0; // bytes of 2,048 tokens' values on a rank
  const double keys = tokens * 2 * 4 * 64;
  for (const bool backward : {false, true}) {
    const auto ring = context_calls(ContextExchange::ring, 1, backward);
    REQUIRE(ring.size() == 1);
    CHECK(ring[0].group == PlanGroup::ring);
    CHECK(ring[0].times == 3);
    CHECK(ring[0].size.value() == (backward ? 2 : 1) * keys);
    const auto all = context_calls(ContextExchange::all_gather, 1, backward);
    REQUIRE(all.size() == (backward ? 2U : 1U));
    CHECK(all[0].operation == Operation::all_gather);
    CHECK(all[0].group == PlanGroup::context);
    CHECK(all[0].size.value() == 4 * keys);
    if (backward)
      CHECK(all[1].operation == Operation::reduce_scatter);
    // Queries, keys and values one way, 16 heads of results the other.
    const auto heads = context_calls(ContextExchange::ring, 4, backward);
    REQUIRE(heads.size() == 2);
    CHECK(heads[backward ? 1 : 0].size.value() == tokens * (16 + 2 * 4) * 64);
    CHECK(heads[backward ? 0 : 1].size.value() == tokens * 16 * 64);
    CHECK(heads[0].operation == Operation::all_to_all);
    CHECK(heads[0].group == PlanGroup::heads);
    const auto both = context_calls(ContextExchange::ring, 2, backward);
    REQUIRE(both.size() == 3);
    CHECK(both[2].times == 1);
    CHECK(both[2].size.value() == (backward ? 2 : 1) * keys);
  }
}

namespace {

// A layer of 1,024 values and 2,048 tokens under four tensor-parallel ranks with adapters.
StepSetting adapted(const Adapters& adapters)
{
  StepSetting s = small_model(1);
  s.memory.plan.tensor = 4;
  s.memory.plan.sequence_parallel = true;
  s.memory.batch.gpus = 4;
  s.memory.batch.data = 1;
  s.memory.adapters = adapters;
  return s;
}

// Its adapters' exchanges, which stand behind those of the layer itself.
PlannedCalls adapter_calls(const StepSetting& s, bool backward)
{
  EqualTimes times(kExchange);
  PlannedCalls calls = PlannedLayer(s, times, kDenseLayer).exchanges(backward).tensor.calls;
  const auto own = s.memory.plan.sequence_parallel ? 4 : 2;
  calls.erase(calls.begin(), calls.begin() + own);
  return calls;
}

} // namespace

TEST_CASE("what a framework fuses reaches its operators", "[plans]")
{
  StepSetting s = small_model(1);
  CHECK(operator_shape(s).fused_rotary);
  CHECK(!operator_shape(s).op_fuser);
  s.rules.fused_rotary = false;
  s.rules.op_fuser = true;
  CHECK(!operator_shape(s).fused_rotary);
  CHECK(operator_shape(s).op_fuser);
}

TEST_CASE("adapters of products that are cut exchange what they make", "[plans][closed-form]")
{
  const double tokens = 2048 * 2.0; // bytes of the tokens' values
  const auto check = [](const PlannedCall& call, Operation operation, double size) {
    CHECK(call.group == PlanGroup::tensor);
    CHECK(call.operation == operation);
    CHECK(call.size.value() == size);
    CHECK(call.times == 1);
  };
  // Cut by columns: sixteen values of a token are gathered, and their gradient is added up.
  StepSetting s = adapted({16, {AdapterTarget::linear_qkv}});
  auto calls = adapter_calls(s, false);
  REQUIRE(calls.size() == 1);
  check(calls[0], Operation::all_gather, tokens * 16);
  calls = adapter_calls(s, true);
  REQUIRE(calls.size() == 1);
  check(calls[0], Operation::all_reduce, tokens * 16);
  // Cut by rows: they are added up, and all columns of all tokens are gathered, forward for the
  // result, backward for its gradient; or a fourth of them is turned.
  s = adapted({16, {AdapterTarget::linear_proj, AdapterTarget::linear_fc2}});
  for (const bool backward : {false, true}) {
    s.memory.adapters->all_to_all = false;
    calls = adapter_calls(s, backward);
    REQUIRE(calls.size() == 4);
    check(calls[2], Operation::all_reduce, tokens * 16);
    check(calls[3], Operation::all_gather, tokens * 1024);
    s.memory.adapters->all_to_all = true;
    calls = adapter_calls(s, backward);
    REQUIRE(calls.size() == 4);
    check(calls[0], Operation::all_reduce, tokens * 16);
    check(calls[1], Operation::all_to_all, tokens * 1024 / 4);
  }
  // Where each rank has all tokens, gradients of what goes in are added up whole, and the result is
  // gathered alone.
  s = adapted({16, {AdapterTarget::linear_fc1, AdapterTarget::linear_fc2}});
  s.memory.plan.sequence_parallel = false;
  calls = adapter_calls(s, false);
  REQUIRE(calls.size() == 3);
  check(calls[2], Operation::all_gather, tokens * 1024);
  calls = adapter_calls(s, true);
  REQUIRE(calls.size() == 3);
  check(calls[1], Operation::all_reduce, tokens * 1024);
  check(calls[2], Operation::all_reduce, tokens * 16);
  s.memory.plan.tensor = 1;
  EqualTimes times(kExchange);
  CHECK(PlannedLayer(s, times, kDenseLayer).exchanges(false).tensor.calls.empty());
}

TEST_CASE("what an adapter takes, too, is beside no product", "[plans][closed-form]")
{
  const auto exposed = [](std::vector<AdapterTarget> targets, bool backward) {
    StepSetting s = adapted({16, std::move(targets)});
    s.device.half.peak = 1e9; // very long products
    s.rules.overlap_tensor = true;
    s.rules.overlap_cost = 0;
    EqualTimes times(kExchange);
    return PlannedLayer(s, times, kDenseLayer).exchanges(backward).tensor.exposed.value() /
           kExchange.value();
  };
  for (const bool backward : {false, true}) {
    CHECK(exposed({}, backward) == Approx(4 * 0.25));
    CHECK(exposed({AdapterTarget::linear_qkv}, backward) == Approx(3 * 0.25 + 1 + 1));
    CHECK(exposed({AdapterTarget::linear_proj}, backward) == Approx(4 * 0.25 + 2));
  }
}

TEST_CASE("parallel parts of a layer exchange once, and are added up at once",
          "[plans][closed-form]")
{
  StepSetting s = small_model(1);
  s.memory.model.norm = "rms";
  s.memory.plan.tensor = 2;
  s.memory.plan.sequence_parallel = true;
  EqualTimes times(kExchange);
  const auto exchanged = [&] {
    return PlannedLayer(s, times, kDenseLayer).exchanges(false).tensor.whole.value();
  };
  const auto forward = [&] { return PlannedLayer(s, times, kDenseLayer).forward().device.value(); };
  CHECK(exchanged() == Approx(4 * kExchange.value()));
  const double sequential = forward();
  s.device.kernel_floor = Seconds(0);
  const double without_floors = forward();
  s.memory.model.block = Block::parallel;
  CHECK(exchanged() == Approx(2 * kExchange.value()));
  // Half of the tokens' values: of two sums that read and write three one reads and writes four.
  const double pass = 1024 * 1024 * 2.0 / 1e12;
  CHECK(without_floors - forward() == Approx(2 * pass));
  s.memory.model.block = Block::parallel_one_norm;
  CHECK(without_floors - forward() == Approx(4 * pass)); // a norm reads and writes
  CHECK(sequential > without_floors);
}

TEST_CASE("experts of the fullest GPU get more tokens, work and bytes", "[plans][closed-form]")
{
  StepSetting s = small_model(1);
  s.memory.model.experts = 8;
  s.memory.model.top_k = 2;
  s.memory.plan.expert = 2;
  EqualTimes times(kExchange);
  const auto layer = [&](double load) {
    s.memory.expert_load = load;
    return PlannedLayer(s, times, kExpertLayer);
  };
  CHECK(layer(1.5).exchanges(false).expert.calls[0].size.value() ==
        Approx(1.5 * layer(1).exchanges(false).expert.calls[0].size.value()));
  CHECK(layer(1.5).forward().device > layer(1).forward().device);
  const auto kept = [&](double load) {
    s.memory.expert_load = load;
    return layer_activations(s.memory, kExpertLayer).value();
  };
  // Of each token to two experts: what goes in and out, and what is before and behind the
  // activation.
  CHECK(kept(1.5) - kept(1) == Approx(0.5 * 2048 * 2 * 2.0 * (2 * 1024 + 2 * 4096)));
}

TEST_CASE("a dropless layer waits for its numbers of tokens once a forward pass", "[plans]")
{
  StepSetting s = small_model(1);
  s.memory.model.experts = 8;
  s.memory.model.top_k = 2;
  EqualTimes times(kExchange);
  const auto forward = [&] {
    return PlannedLayer(s, times, kExpertLayer).forward().time().value();
  };
  const auto backward = [&] {
    return PlannedLayer(s, times, kExpertLayer).backward().time().value();
  };
  const double without = forward();
  const double back = backward();
  s.rules.host_per_routing = Seconds(5e-3);
  s.rules.host_per_expert = Seconds(1e-3); // of eight, all on each GPU
  CHECK(forward() == Approx(without + 13e-3));
  CHECK(backward() == Approx(back));
  // Whose numbers are known is launched expert by expert all the same, as behind a graph.
  s.rules.dropless = false;
  CHECK(forward() == Approx(without + 8e-3));
  s.rules.dropless = true;
  s.rules.cuda_graphs = CudaGraphs::layer;
  CHECK(forward() == Approx(without + 8e-3));
  s.memory.plan.expert = 4;
  const double of_two = forward();
  s.rules.host_per_expert = Seconds(0);
  CHECK(of_two - forward() == Approx(2e-3));
  s.rules.host_per_expert = Seconds(1e-3);
  s.memory.plan.expert = 1;
  s.rules.cuda_graphs = CudaGraphs::all;
  CHECK(forward() == Approx(without));
  // Where launches are the limit, a graph of them takes a microsecond for each.
  s.rules.cuda_graphs = CudaGraphs::none;
  s.device.launches = HostLaunches{.per_kernel = Seconds(1e-3)};
  const double launched = PlannedLayer(s, times, kExpertLayer).forward().host.value() - 13e-3;
  s.rules.cuda_graphs = CudaGraphs::all;
  CHECK(PlannedLayer(s, times, kExpertLayer).forward().host.value() == Approx(1e-3 * launched));
}

TEST_CASE("passes without another micro-batch beside them hide no exchange of experts",
          "[plans][closed-form]")
{
  StepSetting s = small_model(4);
  s.memory.model.experts = 8;
  s.memory.model.top_k = 2;
  s.memory.plan.expert = 2;
  s.memory.batch.micro_batches = 8;
  s.rules.overlap_expert = true;
  s.rules.overlap_cost = 0;
  s.rules.host_per_routing = Seconds(8e-3);
  EqualTimes times(kExchange); // shorter than half a pass
  const auto layer = [&] { return PlannedLayer(s, times, kExpertLayer); };
  const auto exposed = [&] { return layer().exchanges(false).expert.exposed.value(); };
  const double both = 2 * kExchange.value();
  // The first forward pass and the last backward one of eight.
  CHECK(exposed() == Approx(both / 8));
  CHECK(layer().exchanges(true).expert.exposed.value() == Approx(both / 8));
  // On four stages the first passes of the mean stage, however many pieces each has.
  s.memory.plan.pipeline = 4;
  CHECK(exposed() == Approx(both * 4 / 8));
  s.memory.batch.micro_batches = 2;
  CHECK(exposed() == Approx(both));
  // Passes that go down and up meet from the start.
  s.memory.plan.schedule = PipelineSchedule::dualpipe_v;
  CHECK(exposed() == Approx(0).margin(1e-12));
  // Waits for numbers of tokens are hidden as long.
  s.memory.plan.schedule = PipelineSchedule::interleaved;
  s.memory.plan.pipeline = 1;
  s.memory.batch.micro_batches = 4;
  const double waiting = layer().forward().time().value();
  s.rules.host_per_routing = Seconds(0);
  CHECK(waiting - layer().forward().time().value() == Approx(2e-3));
  // What is launched for each of four experts stands in one stream with the other micro-batch.
  const double asked = layer().forward().time().value();
  s.rules.host_per_expert = Seconds(1e-3);
  CHECK(layer().forward().time().value() - asked == Approx(4e-3));
}

TEST_CASE("a framework says which kernels a gate has and whether heads are copied", "[plans]")
{
  StepSetting s = small_model(1);
  s.memory.model.gated = true;
  EqualTimes times(kExchange);
  const auto device = [&] { return PlannedLayer(s, times, kDenseLayer).forward().device.value(); };
  const double fused = device();
  s.rules.fused_activation = false;
  const double apart = device();
  CHECK(apart > fused);
  s.rules.copied_heads = true;
  CHECK(device() > apart);
}

TEST_CASE("a layer of one part exchanges half as often as one of two", "[plans][closed-form]")
{
  StepSetting s = small_model(1);
  s.memory.plan.tensor = 2;
  s.memory.plan.sequence_parallel = true;
  s.memory.model.mamba = Mamba{32, 64, 128, 8, 4, 128};
  EqualTimes times(kExchange);
  const auto whole = [&](Mixer mixer, FeedForward feed) {
    return PlannedLayer(s, times, {mixer, feed}).exchanges(false).tensor.whole.value();
  };
  CHECK(whole(Mixer::attention, FeedForward::dense) == Approx(4 * kExchange.value()));
  CHECK(whole(Mixer::mamba, FeedForward::none) == Approx(2 * kExchange.value()));
  CHECK(whole(Mixer::none, FeedForward::dense) == Approx(2 * kExchange.value()));
  s.memory.plan.sequence_parallel = false;
  CHECK(whole(Mixer::mamba, FeedForward::none) == Approx(kExchange.value()));
  // The host starts each of them.
  s.rules.host_per_exchange = Seconds(1);
  const auto host = [&](Mixer mixer, FeedForward feed) {
    return PlannedLayer(s, times, {mixer, feed}).forward().host.value();
  };
  CHECK(host(Mixer::mamba, FeedForward::none) == Approx(1).epsilon(1e-3));
  CHECK(host(Mixer::mamba, FeedForward::dense) == Approx(2).epsilon(1e-3));
  CHECK(host(Mixer::none, FeedForward::dense) == Approx(1).epsilon(1e-3));
}

TEST_CASE("context-parallel ranks turn a scan's tokens into heads and back", "[plans][closed-form]")
{
  class Sizes final : public ExchangeTimes {
  public:
    Seconds time(PlanGroup group, Operation operation, Bytes size) override
    {
      const bool turns = group == PlanGroup::context && operation == Operation::all_to_all;
      return Seconds(turns ? size.value() : 0);
    }
    int ranks(PlanGroup) const override { return 2; }
    Seconds transfer(int, Bytes) override { return Seconds(0); }
  };
  StepSetting s = small_model(1);
  s.memory.plan.context = 2;
  s.memory.model.mamba = Mamba{32, 64, 128, 8, 4, 128};
  Sizes times;
  const PlannedLayer layer(s, times, {Mixer::mamba, FeedForward::none});
  const Mamba& m = *s.memory.model.mamba;
  const double tokens = s.memory.batch.sequence / 2.0;
  CHECK(layer.exchanges(false).context.whole.value() ==
        Approx(tokens * (m.projected() + m.inner()) * 2));
  CHECK(layer.exchanges(true).context.exposed.value() ==
        Approx(tokens * (m.projected() + m.inner()) * 2));
  CHECK(PlannedLayer(s, times, {Mixer::none, FeedForward::dense})
            .exchanges(false)
            .context.whole.value() == 0);
}

TEST_CASE("tokens are sent to experts as wide as these see them", "[plans][closed-form]")
{
  class Sizes final : public ExchangeTimes {
  public:
    Seconds time(PlanGroup, Operation, Bytes size) override { return Seconds(size.value()); }
    int ranks(PlanGroup) const override { return 8; }
    Seconds transfer(int, Bytes) override { return Seconds(0); }
  };
  StepSetting s = small_model(1);
  s.memory.model.experts = 8;
  s.memory.model.top_k = 2;
  s.memory.plan.expert = 8;
  Sizes times;
  const auto sent = [&] {
    return PlannedLayer(s, times, kExpertLayer).exchanges(false).expert.whole.value();
  };
  CHECK(sent() == Approx(2 * s.memory.batch.sequence * 2.0 * 1024 * 2));
  s.memory.model.expert_hidden = 256;
  CHECK(sent() == Approx(2 * s.memory.batch.sequence * 2.0 * 256 * 2));
}

} // namespace foretrain::models::planned_layer_test
