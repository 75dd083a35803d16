#include "sim/engine/task_graph.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::task_graph_test {

using namespace foretrain::sim;

TEST_CASE("a diamond ends after its longer side and runs again the same way",
          "[graph][closed-form]")
{
  Engine engine;
  TaskGraph graph(engine, "diamond");
  const TaskId top = graph.add_delay("top", 0, Seconds(1));
  const TaskId left = graph.add_delay("left", 0, Seconds(2));
  const TaskId right = graph.add_delay("right", 0, Seconds(5));
  const TaskId bottom = graph.add_join("bottom");
  graph.add_edge(top, left);
  graph.add_edge(top, right);
  graph.add_edge(left, bottom);
  graph.add_edge(right, bottom);
  int runs = 0;
  std::vector<double> ends;
  const std::function<void()> again = [&] {
    ends.push_back(graph.finished(bottom).value());
    if (++runs < 3)
      graph.start(again);
  };
  graph.start(again);
  engine.run();
  REQUIRE(ends.size() == 3);
  CHECK_THAT(ends[0], test::is(6));
  CHECK_THAT(ends[2], test::is(18));
}

TEST_CASE("a barrier waits for the slowest of its ranks", "[graph][closed-form]")
{
  Engine engine;
  TaskGraph graph(engine, "step");
  const TaskId barrier = graph.add_join("barrier");
  double slowest = 0;
  for (int rank = 0; rank < 64; ++rank) {
    const double seconds = 1.0 + 0.01 * ((rank * 37) % 64);
    slowest = std::max(slowest, seconds);
    graph.add_edge(graph.add_delay("compute", rank, Seconds(seconds)), barrier);
  }
  graph.start(nullptr);
  engine.run();
  CHECK_THAT(graph.finished(barrier).value(), test::is(slowest));
}

TEST_CASE("two flows on one GPU without an edge share it; with an edge they queue", "[graph]")
{
  const bool ordered = GENERATE(false, true);
  Engine engine;
  const auto gpu = make_path({{engine.add_resource("gpu", 1).value, 1.0}});
  TaskGraph graph(engine, "stream");
  const TaskId a = graph.add_flow("kernel", 0, gpu, 1.0);
  const TaskId b = graph.add_flow("kernel", 1, gpu, 1.0);
  if (ordered)
    graph.add_edge(a, b);
  graph.start(nullptr);
  engine.run();
  CHECK_THAT(graph.finished(a).value(), test::is(ordered ? 1 : 2));
  CHECK_THAT(graph.finished(b).value(), test::is(2));
}

TEST_CASE("foreign work that never ends is a stall that names the task", "[graph]")
{
  Engine engine;
  TaskGraph graph(engine, "job train");
  graph.add_edge(graph.add_foreign("batch", 3, [](const std::function<void()>&) {}),
                 graph.add_join("forward", 3));
  graph.start(nullptr);
  try {
    engine.run();
    FAIL("no stall reported");
  } catch (const StallError& error) {
    CHECK_THAT(error.what(), Catch::Matchers::Contains("forward 3 of job train"));
  }
}

TEST_CASE("a cycle is refused", "[graph]")
{
  Engine engine;
  TaskGraph graph(engine, "loop");
  const TaskId a = graph.add_join("a");
  const TaskId b = graph.add_join("b");
  graph.add_edge(a, b);
  graph.add_edge(b, a);
  CHECK_THROWS_AS(graph.start(nullptr), std::logic_error);
}

TEST_CASE("limits of a task add up over runs until they are cleared", "[graph][closed-form]")
{
  Engine engine;
  const auto link = make_path({{engine.add_resource("link", 2).value, 1.0}});
  TaskGraph graph(engine, "step");
  const TaskId task = graph.add_flow("transfer", 0, link, 1.0);
  graph.keep_limits(task);
  int runs = 0;
  const std::function<void()> again = [&] {
    if (++runs < 3)
      graph.start(again);
  };
  graph.start(again);
  engine.run();
  REQUIRE(graph.limits(task).size() == 1);
  CHECK_THAT(graph.limits(task)[0].time.value(), test::is(1.5));
  graph.clear_limits();
  CHECK(graph.limits(task).empty());
}

} // namespace foretrain::task_graph_test
