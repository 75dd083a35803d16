#include "experiments/serve/child.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

namespace foretrain::child_test {

using namespace foretrain::serve;

namespace {

ChildSetting shell()
{
  ChildSetting setting;
  setting.program = "/bin/sh";
  setting.folder = "/";
  return setting;
}

Wish go_on(const std::string&)
{
  return Wish::go_on;
}

} // namespace

TEST_CASE("A child gets its input and gives output, messages and exit code", "[serve]")
{
  const auto result =
      run_child({"-c", "cat; echo told >&2; exit 3"}, std::string(300000, 'x'), shell(), go_on);
  CHECK(result.end == ChildEnd::ended);
  CHECK(result.status == 3);
  CHECK(result.output == std::string(300000, 'x'));
  CHECK(result.messages == "told\n");
}

TEST_CASE("A child's end is seen whatever went wrong before", "[serve]")
{
  ChildSetting setting = shell();
  setting.time = std::chrono::seconds(3);
  const auto result = run_child({"-c", "sleep 0.3"}, "", setting, [](const std::string&) {
    errno = EINTR; // of an older call
    return Wish::go_on;
  });
  CHECK(result.end == ChildEnd::ended);
  CHECK(result.status == 0);
}

TEST_CASE("A child's lines of progress are told, not kept", "[serve]")
{
  std::vector<std::string> told;
  const auto result = run_child({"-c", "echo 'progress: 1/2 points' >&2; echo note >&2"}, "",
                                shell(), [&](const std::string& text) {
                                  if (!text.empty())
                                    told.push_back(text);
                                  return Wish::go_on;
                                });
  CHECK(told == std::vector<std::string>{"1/2 points"});
  CHECK(result.messages == "note\n");
}

TEST_CASE("A child that does not read or dies is an answer", "[serve]")
{
  CHECK(run_child({"-c", "exit 0"}, std::string(300000, 'x'), shell(), go_on).end ==
        ChildEnd::ended);
  const auto died = run_child({"-c", "kill -9 $$"}, "", shell(), go_on);
  CHECK(died.end == ChildEnd::died);
  CHECK(died.status == 9);
  auto setting = shell();
  setting.program = "/nonsuch";
  CHECK(run_child({}, "", setting, go_on).end == ChildEnd::not_started);
}

TEST_CASE("Time, output and memory of a child are bounded", "[serve][long]")
{
  auto setting = shell();
  setting.time = std::chrono::seconds(1);
  CHECK(run_child({"-c", "sleep 30 & sleep 30"}, "", setting, go_on).end == ChildEnd::too_long);
  setting = shell();
  setting.output_byte = 1000;
  CHECK(run_child({"-c", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxx; done"}, "", setting, go_on)
            .end == ChildEnd::too_large);
}

TEST_CASE("Who waits can stop a child, and one that listens ends with what it has", "[serve]")
{
  CHECK(run_child({"-c", "sleep 30"}, "", shell(), [](const std::string&) {
          return Wish::end;
        }).end == ChildEnd::stopped);
  const auto asked =
      run_child({"-c", "trap 'echo partly; exit 0' INT; while :; do sleep 0.05; done"}, "", shell(),
                [](const std::string&) { return Wish::finish; });
  CHECK(asked.end == ChildEnd::ended);
  CHECK(asked.output == "partly\n");
}

TEST_CASE("A child has its own environment and folder, and no other descriptor", "[serve]")
{
  auto setting = shell();
  setting.folder = "/usr";
  setting.environment = {"FORETRAIN_FOLDERS=/a:/b", "HOME=/nowhere"};
  const auto result = run_child(
      {"-c", "pwd; echo $FORETRAIN_FOLDERS $HOME; ls /proc/self/fd | wc -l"}, "", setting, go_on);
  CHECK(result.output == "/usr\n/a:/b /nowhere\n4\n"); // the three, and that of ls itself
}

} // namespace foretrain::child_test
