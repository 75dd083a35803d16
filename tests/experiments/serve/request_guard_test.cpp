#include "experiments/serve/request_guard.hpp"

#include <catch2/catch.hpp>

namespace foretrain::request_guard_test {

using namespace foretrain::serve;

namespace {

const std::string kToken = "0123456789abcdef";
const std::vector<std::string> kNames{"localhost"};

RequestHead right()
{
  return {"POST",
          "/" + kToken + "/run",
          "127.0.0.1:80",
          "http://127.0.0.1:80",
          "same-origin",
          "application/json",
          ""};
}

int status(const RequestHead& head)
{
  return refusal_of(head, kToken, kNames).status;
}

} // namespace

TEST_CASE("Hosts are addresses or the machine's own names", "[serve]")
{
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:80", "LOCALHOST:1", "[::1]:80", "[::1]", "10.1.2.3:9"})
    CHECK(known_host(host, kNames));
  for (const char* host : {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil:80",
                           "::1x", "[evil]:80", ":80"})
    CHECK_FALSE(known_host(host, kNames));
}

TEST_CASE("A request passes with the token, its own origin and JSON", "[serve]")
{
  CHECK(status(right()) == 0);
  auto head = right();
  head.origin = "http://localhost:80"; // another page of this machine
  CHECK(status(head) == 403);
  head = right();
  head.origin = "";
  head.fetch_site = ""; // no browser
  CHECK(status(head) == 0);
  head.fetch_site = "cross-site";
  CHECK(status(head) == 403);
  head = right();
  head.host = "evil.example:80";
  head.origin = "http://evil.example:80"; // its name means 127.0.0.1 by now
  CHECK(status(head) == 421);
  head = right();
  head.content_type = "text/plain"; // what forms of other pages can send
  CHECK(status(head) == 415);
  head = right();
  head.content_encoding = "gzip";
  CHECK(status(head) == 415);
  head = right();
  head.method = "PUT";
  CHECK(status(head) == 405);
}

TEST_CASE("The token is the path's first step, all of it", "[serve]")
{
  for (const std::string& path :
       {std::string("/run"), "/" + kToken.substr(1) + "/run", "/" + kToken + "0/run",
        std::string(""), std::string("/"), "//" + kToken + "/run", "/x/" + kToken}) {
    auto head = right();
    head.path = path;
    CHECK(status(head) == 403);
  }
  CHECK(path_below_token("/t/run") == "run");
  CHECK(path_below_token("/t/") == "");
  CHECK(path_below_token("/t/a/../b") == "a/../b"); // a name that nothing has
  CHECK_FALSE(same_secret("", kToken));
  CHECK(same_secret(kToken, kToken));
}

} // namespace foretrain::request_guard_test
