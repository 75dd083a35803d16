#include "realrun/common/world.hpp"

#include "realrun/common/clock.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

namespace foretrain::realrun {

namespace {

constexpr int kGreeting = 0x46545231; // "FTR1"

struct Hello {
  int greeting = kGreeting;
  int rank = 0;
  int world = 0;
};

std::string missing_ranks(const std::vector<Socket>& members)
{
  std::string names;
  for (std::size_t rank = 1; rank < members.size(); ++rank)
    if (members[rank].fd() < 0)
      names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
  return names;
}

void write_meeting_file(const std::string& file, const std::string& host, int port)
{
  const std::string temporary = file + ".writing";
  std::ofstream(temporary) << host << ' ' << port << '\n';
  std::error_code error;
  std::filesystem::rename(temporary, file, error);
  if (error)
    throw PeerError("cannot write the meeting file '" + file + "': " + error.message());
}

void read_meeting_file(const std::string& file, std::string& host, int& port, double timeout_s)
{
  const double deadline = now_s() + timeout_s;
  while (now_s() < deadline) {
    if (std::ifstream(file) >> host >> port)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw PeerError("rank 0 has not written the meeting file '" + file + "' within " +
                  std::to_string(static_cast<int>(timeout_s)) + " s");
}

} // namespace

World::World(const Meeting& meeting)
    : rank_(meeting.rank), size_(meeting.world), timeout_s_(meeting.timeout_s)
{
  if (size_ == 1)
    return;
  if (rank_ == 0)
    meet_as_root(meeting);
  else
    meet_as_member(meeting);
}

void World::meet_as_root(const Meeting& meeting)
{
  const Listener listener("", meeting.port);
  if (!meeting.file.empty())
    write_meeting_file(meeting.file, meeting.host, listener.port());
  my_address_ = meeting.host;
  members_.resize(static_cast<std::size_t>(size_));
  const double deadline = now_s() + timeout_s_;
  for (int present = 1; present < size_; ++present) {
    Socket member = listener.accept(deadline - now_s(), missing_ranks(members_));
    Hello hello;
    member.receive(&hello, sizeof hello, timeout_s_);
    if (hello.greeting != kGreeting || hello.world != size_ || hello.rank < 1 ||
        hello.rank >= size_)
      throw PeerError("a process of another run came to port " + std::to_string(listener.port()) +
                      ": it says rank " + std::to_string(hello.rank) + " of " +
                      std::to_string(hello.world));
    Socket& place = members_[static_cast<std::size_t>(hello.rank)];
    if (place.fd() >= 0)
      throw PeerError("rank " + std::to_string(hello.rank) + " came twice");
    member.rename("rank " + std::to_string(hello.rank));
    place = std::move(member);
  }
  if (!meeting.file.empty())
    std::filesystem::remove(meeting.file);
}

void World::meet_as_member(const Meeting& meeting)
{
  std::string host = meeting.host;
  int port = meeting.port;
  if (!meeting.file.empty())
    read_meeting_file(meeting.file, host, port, timeout_s_);
  root_ = connect_to(host, port, timeout_s_, "rank 0");
  const Hello hello{kGreeting, rank_, size_};
  root_.send(&hello, sizeof hello, timeout_s_);
  my_address_ = root_.local_address();
}

std::vector<std::string> World::gather(const std::string& mine)
{
  if (!is_root()) {
    root_.send_message(mine, timeout_s_);
    return {};
  }
  std::vector<std::string> all{mine};
  for (std::size_t rank = 1; rank < members_.size(); ++rank)
    all.push_back(members_[rank].receive_message(timeout_s_));
  return all;
}

std::string World::broadcast(const std::string& from_root)
{
  if (!is_root())
    return root_.receive_message(timeout_s_);
  for (std::size_t rank = 1; rank < members_.size(); ++rank)
    members_[rank].send_message(from_root, timeout_s_);
  return from_root;
}

std::vector<std::string> World::all_gather(const std::string& mine)
{
  std::string packed;
  for (const auto& text : gather(mine))
    packed += std::to_string(text.size()) + ' ' + text;
  packed = broadcast(packed);
  std::vector<std::string> all;
  for (std::size_t at = 0; at < packed.size();) {
    const std::size_t space = packed.find(' ', at);
    const std::size_t length = std::stoul(packed.substr(at, space - at));
    all.push_back(packed.substr(space + 1, length));
    at = space + 1 + length;
  }
  return all;
}

void World::barrier()
{
  gather("");
  broadcast("");
}

void World::check_peers() const
{
  if (size_ > 1 && !is_root())
    root_.check_open();
  for (std::size_t rank = 1; rank < members_.size(); ++rank)
    members_[rank].check_open();
}

} // namespace foretrain::realrun
