#include "experiments/serve/asked.hpp"
#include "experiments/serve/told.hpp"
#include "sim/base/error.hpp"

#include <catch2/catch.hpp>

namespace foretrain::told_test {

using namespace foretrain::serve;

TEST_CASE("Messages keep file, place, pointer, problem and hint", "[serve]")
{
  const Json told =
      messages_in("standard input:5:15: error: /jobs/0/model is not a known model: 'resnet5'\n"
                  "  hint: did you mean 'resnet50'?\n"
                  "a:b.json: error: is not valid JSON\n"
                  "foretrain: predict: --seed is wrong\n"
                  "standard input: expectation not met: /speedup\n"
                  "wrote out/report.html\n");
  REQUIRE(told.size() == 4);
  CHECK(told[0] == Json{{"kind", "error"},
                        {"line", 5},
                        {"column", 15},
                        {"file", "standard input"},
                        {"pointer", "/jobs/0/model"},
                        {"problem", "is not a known model: 'resnet5'"},
                        {"hint", "did you mean 'resnet50'?"}});
  CHECK(told[1] == Json{{"kind", "error"}, {"file", "a:b.json"}, {"problem", "is not valid JSON"}});
  CHECK(told[2].at("problem") == "predict: --seed is wrong");
  CHECK(told[3] == Json{{"kind", "note"}, {"problem", "expectation not met: /speedup"}});
}

TEST_CASE("An answer in a line keeps every digit", "[serve]")
{
  CHECK(in_a_line("{\n  \"a\": 0.10000000000000001,\n  \"b\": \"x\\ny\"\n}\n") ==
        "{   \"a\": 0.10000000000000001,   \"b\": \"x\\ny\" } ");
}

TEST_CASE("The main part of a report is what its outer element holds", "[serve]")
{
  CHECK(main_of("<html><main>a<p>b</p></main>c</html>") == "a<p>b</p>");
  CHECK(main_of("nothing").empty());
  CHECK(main_of("</main><main>").empty());
}

TEST_CASE("There is nothing to draw where every point failed", "[serve]")
{
  const Json failed{{"settings", Json::object()}, {"error", "x"}};
  const Json good{{"settings", Json::object()}, {"jobs", {{{"name", "train"}}}}};
  CHECK_FALSE(has_result({{"points", {failed, failed}}}));
  CHECK(has_result({{"points", {failed, good}}}));
  CHECK_FALSE(has_result({{"points", Json::array()}}));
  CHECK(has_result({{"points", 3}, {"levers", Json::array()}})); // explain counts them
  CHECK_FALSE(has_result(nullptr));
}

TEST_CASE("Points of a fleet are no prediction, and can be drawn", "[serve]")
{
  const Json sweep{{"fleet", "small"}, {"points", Json::array()}};
  CHECK_FALSE(is_prediction(sweep));
  CHECK(has_result(sweep));
}

TEST_CASE("Two answers together have a setting that tells them apart", "[serve]")
{
  const Json now{{"points", {{{"settings", {{"/a", 1}}}}}}};
  const Json before{{"points", {{{"settings", {{"/a", 2}}}}, {{"settings", Json::object()}}}}};
  const Json both = together(now, before);
  REQUIRE(both.at("points").size() == 3);
  CHECK(both.at("points")[0].at("settings") == Json{{"/a", 1}, {"/answer", "now"}});
  CHECK(both.at("points")[1].at("settings") == Json{{"/a", 2}, {"/answer", "before"}});
  CHECK(both.at("points")[2].at("settings") == Json{{"/answer", "before"}});
}

namespace {

std::string body(const char* more)
{
  return std::string(R"({"command": "predict", "page": "p", "run": "r")") + more + "}";
}

} // namespace

TEST_CASE("Words of a command are those of its options", "[serve]")
{
  const Asked asked = read_asked(body(R"(, "text": "{}", "seed": 3, "fidelity": "edges")"));
  CHECK(words_of(asked, "/out", "/store", 2) ==
        std::vector<std::string>{"predict", "-", "--format", "json", "--seed", "3", "--fidelity",
                                 "edges", "--jobs", "2", "--out", "/out"});
  Asked other = asked;
  other.command = Question::tune;
  CHECK(words_of(other, "/out", "/store", 2) ==
        std::vector<std::string>{"tune", "-", "--format", "json"});
  other.command = Question::stored;
  CHECK(words_of(other, "/out", "/store", 2) ==
        std::vector<std::string>{"report", "/store", "--format", "json"});
  other.command = Question::fleet;
  other.seeds = 5;
  CHECK(words_of(other, "/out", "/store", 2) ==
        std::vector<std::string>{"fleet", "-", "--format", "json", "--seed", "3", "--seeds", "5",
                                 "--out", "/out"});
}

TEST_CASE("Requests are read strictly", "[serve]")
{
  for (const char* more : {R"(, "program": "/bin/sh")", R"(, "seed": -1)", R"(, "seeds": 100000)",
                           R"(, "fidelity": "--out")", R"(, "text": 5)"})
    CHECK_THROWS_AS(read_asked(body(more)), ConfigError);
  CHECK_THROWS_AS(read_asked(R"({"command": "predict", "page": "../p", "run": "r"})"), ConfigError);
  CHECK_THROWS_AS(read_asked(R"({"command": "sql", "page": "p", "run": "r"})"), ConfigError);
  CHECK_NOTHROW(read_asked(body("")));
}

TEST_CASE("Points of a sweep are counted before anything runs", "[serve]")
{
  CHECK(points_in(R"({"sweep": {"/a": [1, 2, 3], "/b": [1, 2]}})") == 6);
  CHECK(points_in("sweep: {/a: [1, 2]}") == 2);
  CHECK(points_in("{") == 1);
  CHECK(points_in("{}") == 1);
  std::string many = R"({"sweep": {"/a": [0)";
  for (int i = 0; i < 2000; ++i)
    many += ", 1";
  many += "]}}";
  CHECK(points_in(many) == kMostPoints + 1);
  CHECK_THROWS_AS(read_asked(body((", \"text\": " + Json(many).dump()).c_str())), ConfigError);
  Asked asked;
  CHECK_FALSE(is_long(asked));
  asked.text = many;
  CHECK(is_long(asked));
  asked.text.clear();
  asked.command = Question::explain;
  CHECK(is_long(asked));
}

} // namespace foretrain::told_test
