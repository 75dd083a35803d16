// The wire format of protocol buffers, against bytes of its specification.
#include "sim/base/wire_format.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace foretrain::wire_format_test {

TEST_CASE("fields are read as the encoding guide writes them")
{
  // 150 as field 1; "testing" as field 2; a fixed64 as field 3; a fixed32 as field 4.
  const std::string bytes("\x08\x96\x01\x12\x07testing\x19\x00\x00\x00\x00\x00\x00\xf8\x3f\x25\x00"
                          "\x00\x20\x40",
                          26);
  WireReader reader(bytes);
  WireField field;
  REQUIRE(reader.next(field));
  CHECK(field.number == 1);
  CHECK(field.value == 150);
  REQUIRE(reader.next(field));
  CHECK(field.bytes == "testing");
  REQUIRE(reader.next(field));
  CHECK(field.as_double() == 1.5);
  REQUIRE(reader.next(field));
  CHECK(field.as_float() == 2.5f);
  CHECK(!reader.next(field));
  CHECK(!reader.damaged());
  CHECK(reader.at_end());
}

TEST_CASE("a field has nothing of the one before it")
{
  // "ab" as field 2, then 7 as field 1, then an empty text as field 2.
  const std::string bytes("\x12\x02"
                          "ab\x08\x07\x12\x00",
                          8);
  WireReader reader(bytes);
  WireField field;
  REQUIRE(reader.next(field));
  CHECK(field.bytes == "ab");
  REQUIRE(reader.next(field));
  CHECK(field.value == 7);
  CHECK(field.bytes.empty());
  REQUIRE(reader.next(field));
  CHECK(field.value == 0);
  CHECK(field.bytes.empty());
}

TEST_CASE("negative numbers take ten bytes")
{
  const std::string bytes("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
  WireReader reader(bytes);
  WireField field;
  REQUIRE(reader.next(field));
  CHECK(field.integer() == -1);
}

TEST_CASE("what goes beyond the message's end is damage")
{
  for (const std::string& bytes :
       {std::string("\x12\x09testing"), std::string("\x08"), std::string("\x08\xff"),
        std::string("\x19\x00", 2), std::string("\x00\x01", 2), std::string("\x0b"),
        std::string(12, '\xff')}) {
    WireReader reader(bytes);
    WireField field;
    CAPTURE(bytes.size());
    CHECK(!reader.next(field));
    CHECK(reader.damaged());
  }
}

} // namespace foretrain::wire_format_test
