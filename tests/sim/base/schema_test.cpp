#include "sim/base/schema.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::schema_test {

using Catch::Matchers::Contains;

namespace {

enum class Shape { ring, tree };
constexpr auto choices(Shape)
{
  return std::to_array<Choice<Shape>>({{Shape::ring, "ring"}, {Shape::tree, "tree"}});
}

struct Inner {
  Shape kind = Shape::ring;
};

struct Sample {
  int gpus = 0;
  BytesPerSecond bandwidth;
  Seconds latency{1e-6};
  std::optional<double> anchor;
  std::vector<Inner> inner;
};

template <class V>
void describe(V& v, Inner& s)
{
  v.optional("kind", s.kind, "algorithm");
}

template <class V>
void describe(V& v, Sample& s)
{
  v.format("test.sample/1");
  v.required("gpus", s.gpus, "number of GPUs", at_least(1));
  v.required("bandwidth", s.bandwidth, "of a link", positive());
  v.optional("latency", s.latency, "of a link", non_negative());
  v.optional("anchor", s.anchor, "measured", positive());
  v.optional("inner", s.inner, "parts");
  v.removed("wires", "'bandwidth'");
  v.abbreviated({{"bw", "bandwidth"}});
}

// What an answer tells: null where there is nothing.
struct Told {
  std::optional<int> best;
};
template <class V>
void describe(V& v, Told& s)
{
  v.required("best", s.best, "a place, or null");
}

Sample read(const std::string& text)
{
  return read_as<Sample>(Value(parse_document(text, "s.json")));
}

std::string error_of(const std::string& text)
{
  try {
    read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("a struct is read with units, defaults and lists", "[base]")
{
  const Sample s = read(R"({"format": "test.sample/1", "gpus": 4, "bandwidth": "100 Gb/s",
                            "inner": [{}, {"kind": "tree"}]})");
  CHECK(s.gpus == 4);
  CHECK(s.bandwidth.value() == 12.5e9);
  CHECK(s.latency.value() == 1e-6);
  CHECK_FALSE(s.anchor.has_value());
  REQUIRE(s.inner.size() == 2);
  CHECK(s.inner[1].kind == Shape::tree);
}

TEST_CASE("every mistake is refused with place, finding and advice", "[base]")
{
  using Case = std::pair<const char*, const char*>;
  const auto [text, expected] = GENERATE(
      Case{R"({"gpus": 4, "bandwidth": "1 GB/s", "latancy": "1 us"})", "did you mean 'latency'?"},
      Case{R"({"gpus": 4})", "/bandwidth is missing"},
      Case{"{}", "/gpus is missing\n  hint: also missing here: bandwidth"},
      Case{R"({"gpus": 0, "bandwidth": "1 GB/s"})", "/gpus must be at least 1, got 0"},
      Case{R"({"gpus": 1.5, "bandwidth": "1 GB/s"})", "/gpus must be a whole number, got 1.5"},
      Case{R"({"gpus": 9999999999, "bandwidth": "1 GB/s"})", "/gpus is out of range"},
      Case{R"({"gpus": "4", "bandwidth": "1 GB/s"})", "/gpus must be a whole number, got \"4\""},
      Case{R"({"gpus": 4, "bandwidth": 450})", "/bandwidth needs a unit, got 450"},
      Case{R"({"gpus": 4, "bandwidth": "450"})", "/bandwidth needs a unit"},
      Case{R"({"gpus": 4, "bandwidth": "450 GiB"})", "has a unit that is not a bandwidth: 'GiB'"},
      Case{R"({"gpus": 4, "bandwidth": "fast"})", "must begin with a finite number"},
      Case{R"({"gpus": 4, "bandwidth": "nan GB/s"})", "must begin with a finite number"},
      Case{R"({"gpus": 4, "bandwidth": "-1 GB/s"})", "must be greater than zero"},
      Case{R"({"gpus": 4, "bandwidth": "1 GB/s", "latency": "-0.5 us"})", "must not be negative"},
      Case{R"({"gpus": 4, "bandwidth": "1 GB/s", "inner": {}})", "/inner must be a list"},
      Case{R"({"gpus": 4, "bandwidth": "1 GB/s", "inner": [{"kind": "rign"}]})",
           "/inner/0/kind must be one of ring, tree; got 'rign'\n  hint: did you mean 'ring'?"},
      Case{R"({"format": "test.other/1", "gpus": 4, "bandwidth": "1 GB/s"})",
           "is this the right file?"},
      Case{R"([1])", "must be an object"});
  CAPTURE(text);
  CHECK_THAT(error_of(text), Contains(expected));
  CHECK_THAT(error_of(text), Contains("s.json:1:"));
}

TEST_CASE("a key that was removed names what tells it now", "[base]")
{
  CHECK_THAT(error_of(R"({"gpus": 1, "bandwidth": "1 GB/s", "wires": 2})"),
             Contains("/wires is no longer a key") && Contains("'bandwidth' tells it now"));
  CHECK(!schema_as<Sample>().at("properties").contains("wires"));
}

TEST_CASE("what the field writes in a few letters is told by its key", "[base]")
{
  for (const char* key : {"bw", "BW"})
    CHECK_THAT(error_of(fmt::format(R"({{"gpus": 1, "{}": 2, "bandwidth": "1 GB/s"}})", key)),
               Contains("is not a known key\n  hint: did you mean 'bandwidth'?"));
  CHECK(!schema_as<Sample>().at("properties").contains("bw"));
}

TEST_CASE("what is required and holds nothing is null, there and back", "[base]")
{
  CHECK(written(Told{}) == Json{{"best", nullptr}});
  CHECK(!read_from<Told>({{"best", nullptr}}, "told").best);
  CHECK(read_from<Told>(written(Told{3}), "told").best == 3);
  CHECK_THROWS_WITH(read_from<Told>(Json::object(), "told"),
                    Contains("told") && Contains("/best is missing"));
}

TEST_CASE("the schema comes from the same description", "[base]")
{
  const Json schema = schema_as<Sample>();
  CHECK(schema["required"] == Json::array({"gpus", "bandwidth"}));
  CHECK(schema["properties"]["gpus"]["minimum"] == 1);
  CHECK(schema["properties"]["latency"]["default"] == "1 us");
  CHECK(schema["properties"]["latency"]["x-minimum"] == 0);
  CHECK(schema["properties"]["latency"]["x-maximum"] == 1e9); // what is physical
  CHECK(schema["properties"]["bandwidth"]["x-exclusiveMinimum"] == 0);
  CHECK(schema["properties"]["bandwidth"]["x-unit"] == "B/s");
  CHECK(schema["properties"]["inner"]["items"]["properties"]["kind"]["enum"] ==
        Json::array({"ring", "tree"}));
  CHECK(schema["properties"]["inner"]["items"]["properties"]["kind"]["default"] == "ring");
  CHECK(schema["additionalProperties"] == false);
}

TEST_CASE("an enumeration and its words lead to each other", "[base]")
{
  CHECK(words_of<Shape>() == std::vector<std::string>{"ring", "tree"});
  for (const Shape shape : {Shape::ring, Shape::tree})
    CHECK(choice_of<Shape>(word_of(shape)) == shape);
  CHECK_FALSE(choice_of<Shape>("rign"));
}

TEST_CASE("quantities print in the unit that reads best", "[base]")
{
  CHECK(to_text(BytesPerSecond(12.5e9)) == "12.5 GB/s");
  CHECK(to_text(Seconds(1.5e-6)) == "1.5 us");
  CHECK(to_text(Bytes(64.0 * 1024 * 1024)) == "64 MiB");
  CHECK(to_text(Bytes(16e9)) == "16 GB");
  CHECK(to_text(FlopsPerSecond(15.7e12)) == "15.7 TFLOP/s");
  CHECK(to_text(Flops(4e9)) == "4 GFLOP");
  CHECK(to_text(Hertz(2.4e9)) == "2.4 GHz");
  CHECK(to_text(PerSecond(250e3)) == "250 k/s");
}

static_assert(!std::is_convertible_v<double, Seconds>);
static_assert(!std::is_convertible_v<Bytes, Seconds>);

} // namespace foretrain::schema_test
