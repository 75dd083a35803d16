// A local page that answers while one looks.
#include "experiments/serve/server.hpp"

#include "experiments/cli/command.hpp"
#include "sim/base/error.hpp"

#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

extern char** environ;

namespace foretrain::cli {

namespace {

struct ServeArguments {
  std::string given;
  std::string address = "127.0.0.1";
  int port = 0;
  bool no_browser = false;
};

// The desktop's own way; where there is none, nothing happens: the link stands on the terminal.
void open_in_browser(const std::string& link)
{
  const bool desktop =
      std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  std::string name = "xdg-open", word = link;
  char* words[] = {name.data(), word.data(), nullptr};
  pid_t pid = 0;
  if (desktop)
    posix_spawnp(&pid, name.c_str(), nullptr, nullptr, words, environ);
}

int run_serve(const ServeArguments& a)
{
  serve::ServeSetting setting;
  setting.program = std::filesystem::read_symlink("/proc/self/exe");
  setting.given = serve::given_by(a.given);
  setting.address = a.address;
  setting.port = a.port;
  setting.cores = cores();
  if (!serve::is_loopback(a.address))
    std::cerr
        << "warning: others in the network can reach " << a.address
        << "; whoever has the link can run simulations here, and what is said is not encrypted\n";
  serve::serve(setting, [&a](const std::string& link) {
    std::cout << link << std::endl;
    std::cerr << "Ctrl-C ends the page\n";
    if (!a.no_browser)
      open_in_browser(link);
  });
  return done;
}

} // namespace

std::function<int()> serve(CLI::App& app)
{
  const auto a = std::make_shared<ServeArguments>();
  app.add_option(
      "FILE", a->given,
      "experiment, plan or fleet, or the name of a bundled one, or a file of results of a sweep");
  app.add_option("--port", a->port, "default: one that is free")->check(CLI::Range(1, 65535));
  app.add_option("--listen", a->address,
                 "address to listen on; default 127.0.0.1: this machine alone");
  app.add_flag("--no-browser", a->no_browser, "print the link only");
  return [a] { return run_serve(*a); };
}

} // namespace foretrain::cli
