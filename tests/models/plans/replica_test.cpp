#include "models/plans/replica.hpp"

#include "models/network.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::models {

namespace {

TransformerFile preset(const std::string& name)
{
  return load_transformer(resolve_preset(name, kNetworkKind));
}

StepSetting setting_of(const TransformerFile& file)
{
  StepSetting s;
  s.memory.model = file.transformer;
  s.memory.batch.sequence = 512;
  s.memory.batch.micro_batch = 2;
  s.device.half.peak = s.device.attention.peak = 100e12;
  s.device.half.memory = s.device.attention.memory = 1e12;
  s.device.memory = BytesPerSecond(1e12);
  s.variation = 0;
  return s;
}

struct Alone final : ExchangeTimes {
  Seconds time(PlanGroup, Operation, Bytes) override { return Seconds(0); }
  int ranks(PlanGroup) const override { return 1; }
  Seconds transfer(int, Bytes) override { return Seconds(1e-4); }
};

double trained_in(const Network& network)
{
  double sum = 0;
  for (const Layer& layer : network.layers)
    for (const std::int64_t tensor : layer.gradient_tensors)
      sum += static_cast<double>(tensor);
  return sum;
}

} // namespace

TEST_CASE("a transformer as a network has its gradients and takes its time", "[plans]")
{
  Alone alone;
  for (const char* name : {"gpt2-small", "llama-3-8b", "mixtral-8x7b", "deepseek-v2-lite"}) {
    CAPTURE(name);
    TransformerFile file = preset(name);
    StepSetting s = setting_of(file);
    for (const auto recompute : {Recompute::none, Recompute::full}) {
      s.memory.recompute = recompute;
      const Replica replica = replica_of(file, s);
      const StepParts parts = large_step(s, alone).parts;
      CHECK(replica.network.layers.size() == static_cast<std::size_t>(file.transformer.layers + 2));
      CHECK(trained_in(replica.network) == Approx(parameters(file.transformer).total()));
      CHECK((replica.profile.forward() + replica.profile.backward()).value() ==
            Approx((parts.compute + parts.recompute).value()).epsilon(1e-9));
      CHECK(replica.profile.optimizer == parts.optimizer);
    }
  }
}

TEST_CASE("micro-batches before the last one pass before its first layer", "[plans]")
{
  const TransformerFile file = preset("gpt2-small");
  StepSetting s = setting_of(file);
  const Replica one = replica_of(file, s);
  s.memory.batch.micro_batches = 4;
  const Replica four = replica_of(file, s);
  CHECK(four.profile.backward() == one.profile.backward());
  CHECK((four.profile.forward() + four.profile.backward()).value() ==
        Approx(4 * (one.profile.forward() + one.profile.backward()).value()));
}

TEST_CASE("beside adapters only theirs are gradients, and further tokens have layers", "[plans]")
{
  TransformerFile file = preset("llama-3-8b");
  StepSetting s = setting_of(file);
  s.memory.adapters = Adapters{8};
  const Transformer& t = file.transformer;
  CHECK(trained_in(replica_of(file, s).network) ==
        Approx(t.layers * adapter_parameters(t, Adapters{8}, false).total()));
  s.memory.adapters.reset();
  s.memory.model.mtp_layers = 1;
  file.transformer.mtp_layers = 1;
  const Replica further = replica_of(file, s);
  CHECK(trained_in(further.network) == Approx(parameters(file.transformer).total()));
  Alone alone;
  CHECK((further.profile.forward() + further.profile.backward()).value() ==
        Approx(large_step(s, alone).parts.compute.value()).epsilon(1e-9));
}

} // namespace foretrain::models
