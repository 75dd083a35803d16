// How the ranks of a run find each other without MPI: rank 0 listens on the root address, everybody
// connects to it and keeps that connection for small control messages (a star).
#pragma once

#include "realrun/common/socket.hpp"

#include <string>
#include <vector>

namespace foretrain::realrun {

/// Where rank 0 is met. With `file` set, rank 0 takes any free port and writes "address port" to
/// that file, which must be on a file system all ranks see; else `host`:`port` is used.
struct Meeting {
  int rank = 0;
  int world = 1;
  std::string host = "127.0.0.1";
  int port = 0;
  std::string file;
  double timeout_s = 30.0;
};

class World {
public:
  /// Blocks until all ranks are there. Throws PeerError after the timeout, naming who is missing.
  explicit World(const Meeting& meeting);

  int rank() const { return rank_; }
  int size() const { return size_; }
  double timeout_s() const { return timeout_s_; }
  bool is_root() const { return rank_ == 0; }

  /// Rank 0 gets the texts of all ranks in rank order, the others an empty list.
  std::vector<std::string> gather(const std::string& mine);
  /// Everybody gets rank 0's text.
  std::string broadcast(const std::string& from_root);
  std::vector<std::string> all_gather(const std::string& mine);
  void barrier();
  /// Throws PeerError when a control connection was closed: its rank has ended. Does not wait.
  void check_peers() const;

  /// The address by which the other ranks reach this one.
  const std::string& my_address() const { return my_address_; }

private:
  void meet_as_root(const Meeting& meeting);
  void meet_as_member(const Meeting& meeting);

  int rank_;
  int size_;
  double timeout_s_;
  std::string my_address_ = "127.0.0.1";
  std::vector<Socket> members_; // on rank 0: index is the rank, entry 0 unused
  Socket root_;                 // elsewhere
};

} // namespace foretrain::realrun
