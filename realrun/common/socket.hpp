// TCP sockets that never wait for ever: each call has a deadline, and a peer that is gone is an
// exception that names it.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>

namespace foretrain::realrun {

/// A peer hung up, did not answer in time or could not be reached (exit 3).
class PeerError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A connected TCP socket with a name for messages ("rank 2").
class Socket {
public:
  Socket() = default;
  Socket(int fd, std::string peer);
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Sends or receives exactly `bytes`; throws PeerError when `timeout_s` passes without progress.
  void send(const void* data, std::size_t bytes, double timeout_s) const;
  void receive(void* data, std::size_t bytes, double timeout_s) const;
  /// A length-prefixed message; at most 256 MiB.
  void send_message(const std::string& message, double timeout_s) const;
  std::string receive_message(double timeout_s) const;

  /// Throws PeerError when the peer has closed the connection; reads nothing, does not wait.
  void check_open() const;

  /// Wakes every thread that waits on this socket, with an error. Safe from another thread.
  void shut_down() const;

  int fd() const { return fd_; }
  const std::string& peer() const { return peer_; }
  void rename(std::string peer) { peer_ = std::move(peer); }
  std::string local_address() const;

private:
  int fd_ = -1;
  std::string peer_;
};

/// A listening socket on `address` (port 0: the system chooses).
class Listener {
public:
  Listener(const std::string& address, int port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }
  /// Throws PeerError when nobody connects within `timeout_s`; `waiting_for` goes into the message.
  Socket accept(double timeout_s, const std::string& waiting_for) const;

private:
  int fd_ = -1;
  int port_ = 0;
};

/// Connects, trying again until `timeout_s` has passed (the other side may start later).
Socket connect_to(const std::string& host, int port, double timeout_s, const std::string& peer);

/// Sends `send_bytes` to one peer while receiving `receive_bytes` from another, so that a ring of
/// callers cannot block itself. `arrived(n)` is called whenever the first n bytes are there.
void exchange(const Socket& to, const void* send_data, std::size_t send_bytes, const Socket& from,
              void* receive_data, std::size_t receive_bytes, double timeout_s,
              const std::function<void(std::size_t)>& arrived);

} // namespace foretrain::realrun
