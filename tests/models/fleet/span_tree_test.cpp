#include "models/fleet/span_tree.hpp"

#include "sim/engine/random.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::span_tree_test {

using namespace foretrain::models::fleet;

namespace {

constexpr ClusterShape kShape{3, 4, 0};

GpuSet all_free()
{
  GpuSet free(kShape);
  for (int node = 0; node < kShape.nodes; ++node)
    free.add({node, first_gpus(kShape.gpus_per_node)});
  return free;
}

// By following each span's successors.
SpanTree::Id long_enough(const SpanTree& spans, SpanTree::Id from, int gpus, Seconds length)
{
  for (; from != SpanTree::kNone; from = spans.next(from)) {
    SpanTree::Id id = from;
    while (id != SpanTree::kNone && spans.count(id) >= gpus)
      id = spans.next(id);
    if (id == SpanTree::kNone || spans.begin(id) >= spans.begin(from) + length)
      return spans.count(from) >= gpus ? from : SpanTree::kNone;
  }
  return SpanTree::kNone;
}

} // namespace

TEST_CASE("spans with enough free GPUs for long enough are those that a walk finds",
          "[fleet][oracle]")
{
  sim::RandomStream stream(3, "spans");
  const auto up_to = [&](int most) { return static_cast<int>(stream.uniform() * (most + 1)); };
  SpanTree spans(Seconds(0), all_free());
  for (int round = 0; round < 400; ++round) {
    const Seconds from(up_to(100)), until = from + Seconds(1 + up_to(30));
    spans.cut(from);
    spans.cut(until);
    const Allocation gpus{{up_to(2), first_gpus(1 + up_to(3))}};
    stream.uniform() < 0.6 ? spans.remove(gpus, from, until) : spans.add(gpus, from, until);
    // Spans that differ are joined: the first one's GPUs count. Several at once, so that what was
    // kept of them is asked for before a change of GPUs makes it anew.
    for (int joined = round % 3 == 0 ? 4 : 0; joined > 0; --joined)
      if (const auto id = spans.at(Seconds(up_to(100))); spans.previous(id) != SpanTree::kNone)
        spans.join(id);
    if (round % 100 == 99)
      spans.forget_before(Seconds(round / 20.0));
    for (int asked = 0; asked < 20; ++asked) {
      const auto id = spans.at(Seconds(up_to(120)));
      const int wanted = 1 + up_to(kShape.gpus());
      const Seconds length(1 + up_to(40));
      CAPTURE(round, spans.begin(id).value(), wanted, length.value());
      CHECK(spans.long_enough_from(id, wanted, length) == long_enough(spans, id, wanted, length));
    }
  }
}

} // namespace foretrain::span_tree_test
