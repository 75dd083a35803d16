#include "models/plans/memory.hpp"
#include "models/plans/parallel.hpp"
#include "models/plans/piece_cost.hpp"
#include "models/plans/pipeline.hpp"
#include "tests/models/plans/llama.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace foretrain::models::plans_test {

namespace {

PipelineSetting equal_stages(int stages, int pieces, int micro_batches, PipelineSchedule schedule)
{
  PipelineSetting s;
  s.stages = stages;
  s.virtual_stages = pieces;
  s.schedule = schedule;
  s.micro_batches = micro_batches;
  s.pieces.assign(
      static_cast<std::size_t>(stages * pieces),
      {Seconds(1.0 / pieces), Seconds(2.0 / pieces), Seconds(1.0 / pieces), Seconds(0)});
  s.blocking = false;
  return s;
}

double bubble(const PipelineSetting& s)
{
  const PipelineRun run = run_pipeline(s);
  return (run.end - run.busy.front()) / run.busy.front();
}

MemorySetting gpt_layer(double tokens_per_sample)
{
  MemorySetting s;
  s.model.layers = 48;
  s.model.hidden = 6144;
  s.model.heads = 64;
  s.model.vocabulary = 51200;
  s.batch.sequence = static_cast<int>(tokens_per_sample);
  s.batch.micro_batch = 4;
  s.flash = false;
  return s;
}

constexpr double kExchange = 1e-3;

// Every exchange among two ranks takes as long.
struct EqualExchanges final : ExchangeTimes {
  Seconds time(PlanGroup, Operation, Bytes) override { return Seconds(kExchange); }
  int ranks(PlanGroup group) const override { return group == PlanGroup::tensor ? 2 : 1; }
  Seconds transfer(int, Bytes) override { return Seconds(kExchange); }
};

// Two layers of a small model, cut among two ranks, all of it repeated in the backward pass.
StepSetting small_setting()
{
  StepSetting s;
  s.memory = gpt_layer(1024);
  s.memory.model.layers = 2;
  s.memory.plan.tensor = 2;
  s.memory.recompute = Recompute::full;
  s.memory.element = 2;
  s.device.half.peak = 300e12;
  s.device.half.efficiency = 0.8;
  s.device.half.memory = 2e12;
  s.device.half.memory_efficiency = 0.9;
  s.device.half.processors = 108;
  s.device.memory = BytesPerSecond(2e12);
  s.rules.optimizer_bytes = 0;
  return s;
}

double operations_of_layer()
{
  const StepSetting s = small_setting();
  double operations = 0;
  for (const Operator& op : layer_operators(s.memory.model, operator_shape(s), kDenseLayer))
    operations += op.forward_kernels;
  return operations;
}

PieceCost small_piece(Seconds per_operation, Seconds host_per_exchange)
{
  StepSetting s = small_setting();
  s.device.launches = HostLaunches{.per_operation = per_operation, .per_kernel = Seconds(0)};
  s.rules.host_per_exchange = host_per_exchange;
  EqualExchanges exchanges;
  Piece piece;
  piece.runs = {{kDenseLayer, 2}};
  return piece_cost(s, piece, exchanges);
}

} // namespace

TEST_CASE("where the host is the limit a layer takes its time, and exchanges fill the gaps",
          "[plans]")
{
  const PieceCost quick = small_piece(Seconds(0), Seconds(0));
  CHECK(quick.tensor.value() == Approx(2 * 6 * kExchange)); // layers x (2 + 2 repeated + 2)
  const Seconds each(1 / operations_of_layer());
  const PieceCost slow = small_piece(each, Seconds(0));
  CHECK(slow.forward_compute.value() == Approx(2 * 1.0).epsilon(1e-2));
  CHECK((slow.backward_compute + slow.recompute).value() == Approx(2 * 2.0).epsilon(1e-2));
  CHECK(slow.tensor.value() == 0);
  const PieceCost launched = small_piece(each, Seconds(0.1));
  CHECK(launched.forward_compute.value() == Approx(2 * 1.2).epsilon(1e-2));
  CHECK((launched.backward_compute + launched.recompute).value() == Approx(2 * 2.4).epsilon(1e-2));
  // What is left of a pass's last kernels when the host goes on counts in the next pass.
  CHECK((slow.forward_compute + slow.backward_compute + slow.recompute).value() == Approx(6));
}

TEST_CASE("bubbles of pipelines: (p - 1) / m, and v times less when interleaved", "[plans]")
{
  for (const int p : {2, 4, 8})
    for (const int m : {8, 16, 32}) {
      CAPTURE(p, m);
      const double closed = static_cast<double>(p - 1) / m;
      CHECK(bubble(equal_stages(p, 1, m, PipelineSchedule::gpipe)) == Approx(closed));
      CHECK(bubble(equal_stages(p, 1, m, PipelineSchedule::one_f_one_b)) == Approx(closed));
      CHECK(bubble(equal_stages(p, 2, m, PipelineSchedule::interleaved)) == Approx(closed / 2));
      CHECK(bubble(equal_stages(p, 4, m, PipelineSchedule::interleaved)) == Approx(closed / 4));
      // (p - 1) (F + B - W) of m (F + B + W), arXiv:2401.10241, table 1
      CHECK(bubble(equal_stages(p, 1, m, PipelineSchedule::zero_bubble)) == Approx(closed / 3));
    }
}

TEST_CASE("1F1B goes forward as often as stages follow before it turns back", "[plans]")
{
  for (int stage = 0; stage < 4; ++stage) {
    const auto order = stage_orders(equal_stages(4, 1, 8, PipelineSchedule::one_f_one_b))
                           .at(static_cast<std::size_t>(stage));
    const auto first = std::find_if(order.begin(), order.end(),
                                    [](const PipelineSlice& slice) { return slice.backward; });
    CHECK(first - order.begin() == 4 - stage);
  }
}

TEST_CASE("a stage that blocks does nothing while it sends", "[plans]")
{
  PipelineSetting s = equal_stages(2, 1, 4, PipelineSchedule::gpipe);
  for (PieceTime& piece : s.pieces)
    piece.transfer = Seconds(0.25);
  CHECK(run_pipeline(s).slices[0][1].start == Seconds(1));
  s.blocking = true;
  CHECK(run_pipeline(s).slices[0][1].start == Seconds(1.25));
}

TEST_CASE("a stage holds as many micro-batches as its schedule says", "[plans][memory]")
{
  ParallelPlan plan;
  plan.pipeline = 8;
  CHECK(held_micro_batches(plan, 32, 0) == 8);
  CHECK(held_micro_batches(plan, 32, 7) == 1);
  CHECK(held_micro_batches(plan, 4, 0) == 4);
  plan.schedule = PipelineSchedule::zero_bubble; // those whose gradients of weights wait, too
  CHECK(held_micro_batches(plan, 32, 7) == 8);
  CHECK(held_micro_batches(plan, 4, 7) == 4);
  plan.schedule = PipelineSchedule::gpipe;
  CHECK(held_micro_batches(plan, 32, 5) == 32);
  // p (1 + (p - 1) / (p v)) micro-batches of the stage's layers (arXiv:2205.05198, section 4.2.3).
  plan.schedule = PipelineSchedule::interleaved;
  plan.virtual_stages = 4;
  CHECK(held_micro_batches(plan, 32, 0) / 4 == Approx(8 * (1 + 7.0 / (8 * 4))).epsilon(0.03));
}

TEST_CASE("activations of a layer are those of Korthikanti's table", "[plans][memory]")
{
  MemorySetting s = gpt_layer(2048);
  const double h = s.model.hidden, a = s.model.heads, n = s.batch.sequence;
  const double sbh = n * s.batch.micro_batch * h;
  CHECK(layer_activations(s, kDenseLayer).value() ==
        Approx(sbh * (34 + 5 * a * n / h)).epsilon(0.02));
  s.plan.tensor = 8;
  const double t = 8;
  CHECK(layer_activations(s, kDenseLayer).value() ==
        Approx(sbh * (10 + 24 / t + 5 * a * n / (h * t))).epsilon(0.02));
  s.plan.sequence_parallel = true;
  CHECK(layer_activations(s, kDenseLayer).value() ==
        Approx(sbh / t * (34 + 5 * a * n / h)).epsilon(0.02));
  s.recompute = Recompute::selective;
  CHECK(layer_activations(s, kDenseLayer).value() == Approx(sbh * 34 / t).epsilon(0.02));
  s.plan.sequence_parallel = false;
  CHECK(layer_activations(s, kDenseLayer).value() == Approx(sbh * (10 + 24 / t)).epsilon(0.02));
  s.recompute = Recompute::full;
  CHECK(layer_activations(s, kDenseLayer).value() == Approx(2 * sbh));
}

TEST_CASE("more sharing and more recomputation never need more memory", "[plans][memory]")
{
  MemorySetting s = gpt_layer(2048);
  s.batch.data = 8;
  s.batch.micro_batches = 8;
  s.plan.pipeline = 4;
  const auto most = [&] {
    Bytes all;
    for (const StageMemory& stage : stage_memory(s))
      all = std::max(all, stage.total());
    return all;
  };
  Bytes before = most();
  for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
    s.recompute = recompute;
    CHECK(most() <= before);
    before = most();
  }
  for (const int zero : {1, 2, 3}) {
    s.plan.zero = zero;
    CHECK(most() <= before);
    before = most();
  }
}

TEST_CASE("layers that do not divide go where Llama 3 puts them", "[plans]")
{
  Transformer t;
  t.layers = 126;
  t.hidden = 16384;
  t.heads = 128;
  t.vocabulary = 128256;
  ParallelPlan plan;
  plan.pipeline = 16;
  const auto pieces = pieces_of(t, plan);
  CHECK(pieces.front().layers() == 7);
  CHECK(pieces.back().layers() == 7);
  CHECK(pieces[1].layers() == 8);
  double sum = 0;
  for (const Piece& piece : pieces)
    sum += parameters_of(piece, t, plan).total();
  t.tied = true;
  CHECK(sum == Approx(parameters(t).total() + 128256.0 * 16384)); // a second copy of the embedding
}

TEST_CASE("tensor parallelism cuts products of layers with and without experts, not norms",
          "[plans][closed-form]")
{
  Transformer t;
  t.layers = 4;
  t.hidden = 1024;
  t.heads = 16;
  t.vocabulary = 32000;
  t.experts = 8;
  const Piece piece{{{kDenseLayer, 1}, {kExpertLayer, 3}}, false, false, 0};
  ParallelPlan whole, halves;
  halves.tensor = 2;
  const LayerParameters plain = layer_parameters(t, kDenseLayer),
                        with = layer_parameters(t, kExpertLayer);
  CHECK(parameters_of(piece, t, whole).shared ==
        Approx(4 * (plain.mixer + plain.norms) + plain.dense + 3 * with.dense));
  CHECK(parameters_of(piece, t, halves).shared ==
        Approx(4 * (plain.mixer / 2 + plain.norms) + (plain.dense + 3 * with.dense) / 2));
  CHECK(parameters_of(piece, t, halves).experts == Approx(3 * with.experts));
}

TEST_CASE("a tensor-parallel rank has a whole head of keys and values at least",
          "[plans][closed-form]")
{
  Transformer t;
  t.layers = 4;
  t.hidden = 1024;
  t.heads = 16;
  t.kv_heads = 4;
  t.vocabulary = 32000;
  t.norm = "rms";
  const Piece piece{{{kDenseLayer, 4}}, false, false, 0};
  const LayerParameters one = layer_parameters(t, kDenseLayer);
  const double head = 1024.0 * 64;
  for (const int tensor : {1, 2, 4, 8, 16}) {
    CAPTURE(tensor);
    ParallelPlan plan;
    plan.tensor = tensor;
    const double copies = std::max(0.0, 1 - 4.0 / tensor); // of a key's head and a value's
    CHECK(parameters_of(piece, t, plan).shared ==
          Approx(4 * ((one.mixer + one.dense) / tensor + one.norms + 2 * copies * head)));
  }
}

TEST_CASE("plans that do not divide name the nearest that do", "[plans]")
{
  Transformer t;
  t.layers = 32;
  t.hidden = 4096;
  t.heads = 32;
  t.vocabulary = 32000;
  ParallelPlan plan;
  plan.tensor = 3;
  const Value job(
      parse_document(R"({"gpus": 8, "parallel": {"tensor": 3}, "global_batch": 8})", "job.json"));
  CHECK_THROWS_WITH(check_plan(job, t, plan, 8, 2048, 1, 8),
                    Catch::Contains("32 heads") && Catch::Contains("2, 4"));
  Transformer uneven = t; // what divides the heads alone is no help
  uneven.heads = 12;
  uneven.hidden = 1536;
  uneven.ffn = 4864;
  plan.tensor = 8;
  CHECK_THROWS_WITH(check_plan(job, uneven, plan, 8, 2048, 1, 8),
                    Catch::Contains("12 heads") && Catch::Contains("nearest that does: 4"));
  plan.tensor = 4;
  CHECK(problem_of(t, plan, 8, 2048, 1, 8).empty());
  CHECK(check_plan(job, t, plan, 8, 2048, 1, 8).micro_batches == 4);
  CHECK_THROWS_WITH(check_plan(job, t, plan, 6, 2048, 1, 8), Catch::Contains("4, 8"));
  CHECK_THROWS_WITH(check_plan(job, t, plan, 8, 2048, 1, 7), Catch::Contains("multiple"));
  plan.pipeline = 64;
  CHECK_THROWS_WITH(check_plan(job, t, plan, 256, 2048, 1, 8), Catch::Contains("32 layers"));
}

TEST_CASE("embedding and loss may be pieces of their own", "[plans]")
{
  Transformer t;
  t.layers = 126;
  t.hidden = 16384;
  t.heads = 128;
  t.vocabulary = 128256;
  ParallelPlan plan;
  plan.pipeline = 16;
  plan.virtual_stages = 8;
  plan.schedule = PipelineSchedule::interleaved;
  CHECK(problem_of(t, plan, 128, 8192, 1, 128).empty());
  const auto pieces = pieces_of(t, plan);
  CHECK(pieces.front().layers() == 0);
  CHECK(pieces.back().layers() == 0);
  CHECK(std::all_of(pieces.begin() + 1, pieces.end() - 1,
                    [](const Piece& piece) { return piece.layers() == 1; }));
  plan.virtual_stages = 9;
  CHECK(!problem_of(t, plan, 128, 8192, 1, 128).empty());
}

TEST_CASE("a stage may have as many pieces as leave each equally many layers", "[plans]")
{
  CHECK(even_virtual_stages(96, 8) == std::vector<int>{1, 2, 3, 4, 6, 12});
  CHECK(even_virtual_stages(126, 8) == std::vector<int>{1, 2, 4, 8});
  CHECK(even_virtual_stages(30, 4) == std::vector<int>{1, 2, 4});
}

TEST_CASE("a schedule of one piece is refused where a stage has several", "[plans]")
{
  Transformer t;
  t.layers = 80;
  t.hidden = 8192;
  t.heads = 64;
  t.vocabulary = 32000;
  ParallelPlan plan;
  plan.pipeline = 4;
  plan.virtual_stages = 5;
  const auto check = [&](const char* parallel) {
    const Value job(
        parse_document(R"({"gpus": 4, "parallel": )" + std::string(parallel) + "}", "job.json"));
    return check_plan(job, t, plan, 4, 2048, 1, 8).micro_batches;
  };
  CHECK_THROWS_WITH(check(R"({"pipeline": 4, "virtual_stages": 5, "schedule": "1f1b"})"),
                    Catch::Contains("1f1b") && Catch::Contains("interleaved"));
  CHECK(check(R"({"pipeline": 4, "virtual_stages": 5})") == 8);
}

TEST_CASE("layers with and without experts take turns", "[plans]")
{
  Transformer t;
  t.layers = 48;
  t.hidden = 5120;
  t.heads = 40;
  t.vocabulary = 202048;
  t.experts = 128;
  t.experts_every = 2;
  ParallelPlan plan;
  plan.pipeline = 4;
  CHECK(count_of(t.runs(), kExpertLayer) == 24);
  for (const Piece& piece : pieces_of(t, plan)) {
    CHECK(count_of(piece.runs, kExpertLayer) == 6);
    CHECK(count_of(piece.runs, kDenseLayer) == 6);
  }
  t.dense_layers = 3;
  t.layers = 7;
  plan.pipeline = 1;
  CHECK(count_of(pieces_of(t, plan).front().runs, kExpertLayer) == 2); // the fifth and the seventh
}

TEST_CASE("where every second product is kept, so is its result and no other", "[plans][memory]")
{
  MemorySetting s = test::llama();
  s.recompute = Recompute::selective;
  s.selective = SelectiveRecompute::operations;
  // The layer's input, q, v, the attention, gate and the result of down.
  const double kept = 4096 + 32 * 128 + 8 * 128 + 4096 + 14336 + 4096;
  CHECK(layer_activations(s, kDenseLayer).value() == Approx(8192.0 * 2 * kept));
  MemorySetting all = s;
  all.recompute = Recompute::none;
  const double one = layer_activations(all, kDenseLayer).value();
  CHECK(stage_memory(s).front().activations.value() == Approx(31 * 8192.0 * 2 * kept + one));
  // Every second layer: half of what all keep, half of what inputs take.
  s.selective = SelectiveRecompute::half;
  CHECK(layer_activations(s, kDenseLayer).value() == Approx(0.5 * (one + 8192.0 * 2 * 4096)));
}

TEST_CASE("pieces before one that predicts further tokens are filled", "[plans]")
{
  Transformer t;
  t.layers = 61;
  t.hidden = 512;
  t.heads = 8;
  t.vocabulary = 1000;
  ParallelPlan plan;
  plan.pipeline = 16;
  const auto layers = [&](std::size_t piece) { return pieces_of(t, plan)[piece].layers(); };
  CHECK(layers(15) == 3);
  t.mtp_layers = 1;
  CHECK(layers(0) == 4);
  CHECK(layers(14) == 4);
  CHECK(layers(15) == 1 + 1);
  plan.pipeline = 8;
  CHECK(layers(0) == 8);
  CHECK(layers(7) == 5 + 1);
  t.layers = 64; // divides
  CHECK(layers(7) == 8 + 1);
  t.layers = 17; // 3 each would leave less than none for the last
  CHECK(layers(7) == 2 + 1);
}

TEST_CASE("heads and groups of a scan must divide", "[plans]")
{
  Transformer t;
  t.layers = 4;
  t.hidden = 1024;
  t.heads = 16;
  t.vocabulary = 1000;
  t.mamba = Mamba{64, 64, 128, 8, 4, 128};
  ParallelPlan plan;
  plan.tensor = 16;
  CHECK_THAT(problem_of(t, plan, 16, 512, 1, 16), Catch::Contains("8 groups of Mamba"));
  plan.tensor = 8;
  CHECK(problem_of(t, plan, 16, 512, 1, 16).empty());
  plan.context = 16;
  CHECK_THAT(problem_of(t, plan, 128, 512, 1, 16), Catch::Contains("8 heads of Mamba"));
}

} // namespace foretrain::models::plans_test
