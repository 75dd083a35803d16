#include "experiments/serve/server.hpp"

#include "experiments/serve/asked.hpp"
#include "experiments/serve/request_guard.hpp"
#include "experiments/serve/told.hpp"
#include "experiments/serve/work.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>

namespace foretrain::serve {

namespace {

constexpr std::size_t kMostBody = std::size_t{8} << 20;
constexpr std::size_t kConnections = 96; // at a time; each has a thread, which mostly sleeps
constexpr const char* kJson = "application/json";

std::string new_token()
{
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw UsageError("the system has no random numbers for the link's token");
  std::string token;
  for (const unsigned char byte : bytes)
    token += fmt::format("{:02x}", byte);
  return token;
}

std::vector<std::string> own_names(const std::string& address)
{
  std::vector<std::string> names{"localhost", address}; // Host is compared in small letters
  std::array<char, 256> name{};
  if (address != "127.0.0.1" && gethostname(name.data(), name.size() - 1) == 0)
    names.emplace_back(name.data());
  for (std::string& own : names)
    own = lower_case(own);
  return names;
}

// Nothing of this page may be framed, kept, guessed, or do what its own files do not say.
httplib::Headers headers()
{
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
           "'self'; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

RequestHead head_of(const httplib::Request& request)
{
  const std::string type = request.get_header_value("Content-Type");
  return {request.method,
          request.path,
          request.get_header_value("Host"),
          request.get_header_value("Origin"),
          request.get_header_value("Sec-Fetch-Site"),
          type.substr(0, type.find(';')),
          request.get_header_value("Content-Encoding")};
}

void refuse(httplib::Response& response, int status, const std::string& words)
{
  response.status = status;
  response.set_content(words + "\n", "text/plain; charset=utf-8");
}

std::string dumped(const Json& json)
{
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_at(const Json& body, const char* key)
{
  if (!body.is_object())
    throw UsageError("the request is no JSON object");
  if (!body.contains(key) || !body.at(key).is_string())
    throw UsageError(fmt::format("the request has no text '{}'", key));
  return body.at(key).get<std::string>();
}

class Page {
public:
  Page(const ServeSetting& setting, Work& work, std::string token)
      : work_(work), token_(std::move(token)), names_(own_names(setting.address)),
        files_(page_files()), catalogue_(dumped(catalogue(setting.given)))
  {
  }

  void set_up(httplib::Server& server)
  {
    server.new_task_queue = [] { return new httplib::ThreadPool(kConnections); };
    server.set_default_headers(headers());
    server.set_payload_max_length(kMostBody);
    server.set_read_timeout(5);
    server.set_write_timeout(5);
    server.set_keep_alive_timeout(2);
    server.set_keep_alive_max_count(100);
    server.set_tcp_nodelay(true);
    server.set_socket_options([](int socket) { // not SO_REUSEPORT: a port that is taken is taken
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          const Refusal refusal = refusal_of(head_of(request), token_, names_);
          if (refusal.status == 0)
            return httplib::Server::HandlerResponse::Unhandled;
          refuse(response, refusal.status, refusal.words);
          return httplib::Server::HandlerResponse::Handled;
        });
    server.set_exception_handler(
        [](const auto&, httplib::Response& response, std::exception_ptr thrown) {
          try {
            std::rethrow_exception(std::move(thrown));
          } catch (const ConfigError& error) {
            response.status = 400;
            response.set_content(dumped({{"messages", messages_in(error.what())}}), kJson);
          } catch (const std::exception& error) {
            refuse(response, 400, error.what());
          }
        });
    server.Get(R"(/[^/]*/(.*))",
               [this](const httplib::Request& request, httplib::Response& response) {
                 get(path_below_token(request.path), request, response);
               });
    server.Post(R"(/[^/]*/(.*))",
                [this](const httplib::Request& request, httplib::Response& response) {
                  post(path_below_token(request.path), request, response);
                });
  }

private:
  void get(const std::string& name, const httplib::Request& request, httplib::Response& response)
  {
    const auto file = files_.find(name.empty() ? "index.html" : name);
    if (file != files_.end())
      response.set_content(file->second.text, file->second.type);
    else if (name == "catalogue")
      response.set_content(catalogue_, kJson);
    else if (name == "bundled")
      response.set_content(
          bundled_text(request.get_param_value("kind"), request.get_param_value("name")),
          "text/plain; charset=utf-8");
    else
      refuse(response, 404, "there is nothing of that name");
  }

  void post(const std::string& name, const httplib::Request& request, httplib::Response& response)
  {
    if (name == "run")
      return run(request, response);
    const Json body = Json::parse(request.body, nullptr, false);
    if (name == "read")
      response.set_content(read(text_at(body, "text")), kJson);
    else if (name == "tell")
      tell(body, request.remote_addr, response);
    else if (name == "stop")
      work_.stop(text_at(body, "page"), text_at(body, "run"));
    else
      refuse(response, 404, "there is nothing of that name");
  }

  void run(const httplib::Request& request, httplib::Response& response)
  {
    const auto asked = std::make_shared<const Asked>(read_asked(request.body));
    const std::string address = request.remote_addr;
    response.set_chunked_content_provider(
        "application/x-ndjson", [this, asked, address](std::size_t, httplib::DataSink& sink) {
          const Tell line = [&sink](const std::string& text) {
            const std::string whole = text + "\n";
            return sink.is_writable() && sink.write(whole.data(), whole.size());
          };
          try {
            work_.answer(*asked, address, line);
          } catch (const std::exception& error) {
            line(dumped({{"messages", message(error.what())}}));
          }
          sink.done();
          return true;
        });
  }

  // The text's value, for forms: JSON may carry comments, YAML is another language.
  static std::string read(const std::string& text)
  {
    check_length(text);
    try {
      return dumped({{"value", parse_document(text, "standard input")->root}});
    } catch (const ConfigError& error) {
      return dumped({{"messages", messages_in(error.what())}});
    }
  }

  void tell(const Json& body, const std::string& address, httplib::Response& response)
  {
    const std::string format = text_at(body, "format");
    if (format != "csv" && format != "table" && format != "html")
      return refuse(response, 400, "csv, table and html are what an answer can be told as");
    const ChildResult told =
        work_.told_as(text_at(body, "answer"), format, {address, text_at(body, "page"), false});
    if (told.end != ChildEnd::ended || told.status != 0)
      return refuse(response, told.end == ChildEnd::not_started ? 429 : 400, told.messages);
    response.set_content(told.output,
                         "text/plain; charset=utf-8"); // the page saves it; nobody looks at it here
  }

  Work& work_;
  const std::string token_;
  const std::vector<std::string> names_;
  const std::map<std::string, PageFile> files_;
  const std::string catalogue_;
};

WorkSetting work_setting(const ServeSetting& setting)
{
  WorkSetting work;
  work.program = setting.program;
  work.given = setting.given;
  work.queue.places = std::max(3, setting.cores + 1);
  work.queue.page_places = work.queue.places - 1;
  work.queue.long_places = std::max(1, setting.cores - 1);
  work.jobs = std::min(4, setting.cores);
  return work;
}

} // namespace

bool is_loopback(const std::string& address)
{
  return address == "::1" || address == "localhost" || address.starts_with("127.");
}

void serve(const ServeSetting& setting, const std::function<void(const std::string& link)>& ready)
{
  Work work(work_setting(setting));
  const std::string token = new_token();
  Page page(setting, work, token);
  httplib::Server server;
  page.set_up(server);
  const int port = setting.port > 0
                       ? (server.bind_to_port(setting.address, setting.port) ? setting.port : -1)
                       : server.bind_to_any_port(setting.address);
  if (port < 0)
    throw UsageError(fmt::format(
        "cannot listen on {}{}: is the port taken?\n  hint: without --port a free one is found",
        excerpt(setting.address), setting.port > 0 ? fmt::format(" port {}", setting.port) : ""));
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr); // in all threads: the one below waits for them
  std::thread([&server, &work, ends] {
    int signal = 0;
    sigwait(&ends, &signal);
    work.close();
    server.stop();
  }).detach();
  const std::string host =
      setting.address == "0.0.0.0" || setting.address == "::" ? own_names(setting.address).back()
      : setting.address.find(':') != std::string::npos        ? "[" + setting.address + "]"
                                                              : setting.address;
  ready(fmt::format("http://{}:{}/{}/",
                    is_loopback(setting.address) && host != "[::1]" ? "127.0.0.1" : host, port,
                    token));
  server.listen_after_bind();
}

} // namespace foretrain::serve
