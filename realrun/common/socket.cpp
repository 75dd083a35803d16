#include "realrun/common/socket.hpp"

#include "realrun/common/clock.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

namespace foretrain::realrun {

namespace {

constexpr std::uint64_t kLongestMessage = 256ULL << 20;

std::string reason(int error)
{
  return std::generic_category().message(error);
}

void make_ready(int fd)
{
  const int on = 1;
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int milliseconds(double seconds)
{
  return static_cast<int>(std::clamp(seconds * 1e3, 0.0, 3.6e6)) + 1;
}

std::string timed_out(const std::string& peer, double timeout_s)
{
  return "no progress with " + peer + " for " + std::to_string(static_cast<int>(timeout_s)) +
         " s (is it still running? see --timeout)";
}

bool would_block(int error)
{
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/// Bytes moved, 0 when the socket is not ready; throws when the peer is gone.
std::size_t try_send(const Socket& socket, const char* data, std::size_t bytes)
{
  const ssize_t n = ::send(socket.fd(), data, bytes, MSG_NOSIGNAL);
  if (n >= 0)
    return static_cast<std::size_t>(n);
  if (would_block(errno))
    return 0;
  throw PeerError("lost " + socket.peer() + " while sending: " + reason(errno));
}

std::size_t try_receive(const Socket& socket, char* data, std::size_t bytes)
{
  const ssize_t n = ::recv(socket.fd(), data, bytes, 0);
  if (n > 0)
    return static_cast<std::size_t>(n);
  if (n == 0)
    throw PeerError("lost " + socket.peer() + ": it closed the connection");
  if (would_block(errno))
    return 0;
  throw PeerError("lost " + socket.peer() + " while receiving: " + reason(errno));
}

std::string address_text(const sockaddr_storage& address)
{
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host.data(),
                    host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  return host.data();
}

addrinfo* resolve(const std::string& host, int port, int flags)
{
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                  std::to_string(port).c_str(), &hints, &found);
  if (error != 0)
    throw PeerError("cannot resolve '" + host + "': " + ::gai_strerror(error));
  return found;
}

} // namespace

Socket::Socket(int fd, std::string peer) : fd_(fd), peer_(std::move(peer))
{
  make_ready(fd_);
}

Socket::~Socket()
{
  if (fd_ >= 0)
    ::close(fd_);
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), peer_(std::move(other.peer_))
{
}

Socket& Socket::operator=(Socket&& other) noexcept
{
  std::swap(fd_, other.fd_);
  std::swap(peer_, other.peer_);
  return *this;
}

void Socket::send(const void* data, std::size_t bytes, double timeout_s) const
{
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const std::size_t n = try_send(*this, from, bytes);
    from += n;
    bytes -= n;
    pollfd ready{fd_, POLLOUT, 0};
    if (bytes > 0 && n == 0 && ::poll(&ready, 1, milliseconds(timeout_s)) == 0)
      throw PeerError(timed_out(peer_, timeout_s));
  }
}

void Socket::receive(void* data, std::size_t bytes, double timeout_s) const
{
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    const std::size_t n = try_receive(*this, to, bytes);
    to += n;
    bytes -= n;
    pollfd ready{fd_, POLLIN, 0};
    if (bytes > 0 && n == 0 && ::poll(&ready, 1, milliseconds(timeout_s)) == 0)
      throw PeerError(timed_out(peer_, timeout_s));
  }
}

void Socket::send_message(const std::string& message, double timeout_s) const
{
  const std::uint64_t size = message.size();
  send(&size, sizeof size, timeout_s);
  send(message.data(), message.size(), timeout_s);
}

std::string Socket::receive_message(double timeout_s) const
{
  std::uint64_t size = 0;
  receive(&size, sizeof size, timeout_s);
  if (size > kLongestMessage)
    throw PeerError(peer_ + " sent something that is not a realrun message");
  std::string message(size, '\0');
  receive(message.data(), message.size(), timeout_s);
  return message;
}

void Socket::check_open() const
{
  char byte = 0;
  const ssize_t n = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0 || (n < 0 && !would_block(errno)))
    throw PeerError("lost " + peer_ + ": it closed the connection");
}

void Socket::shut_down() const
{
  if (fd_ >= 0)
    ::shutdown(fd_, SHUT_RDWR);
}

std::string Socket::local_address() const
{
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  return address_text(address);
}

Listener::Listener(const std::string& address, int port)
{
  addrinfo* found = resolve(address, port, AI_PASSIVE);
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool ok = ::bind(fd_, found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd_, 256) == 0;
  const int error = errno;
  ::freeaddrinfo(found);
  if (!ok) {
    ::close(fd_);
    throw PeerError("cannot listen on " + (address.empty() ? std::string("*") : address) + ":" +
                    std::to_string(port) + ": " + reason(error));
  }
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&bound), &size);
  port_ = ntohs(bound.sin_port);
}

Listener::~Listener()
{
  ::close(fd_);
}

Socket Listener::accept(double timeout_s, const std::string& waiting_for) const
{
  const double deadline = now_s() + timeout_s;
  for (;;) {
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, milliseconds(deadline - now_s())) > 0) {
      const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0)
        return {fd, "a peer"};
    }
    if (now_s() >= deadline)
      throw PeerError("waited " + std::to_string(static_cast<int>(timeout_s)) + " s for " +
                      waiting_for + " to connect to port " + std::to_string(port_));
  }
}

Socket connect_to(const std::string& host, int port, double timeout_s, const std::string& peer)
{
  const double deadline = now_s() + timeout_s;
  for (;;) {
    addrinfo* found = resolve(host, port, 0);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = ::connect(fd, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
    ::freeaddrinfo(found);
    if (error == EINPROGRESS) {
      pollfd ready{fd, POLLOUT, 0};
      socklen_t size = sizeof error;
      if (::poll(&ready, 1, milliseconds(deadline - now_s())) <= 0)
        error = ETIMEDOUT;
      else
        ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0)
      return {fd, peer};
    ::close(fd);
    if (now_s() >= deadline)
      throw PeerError("cannot reach " + peer + " at " + host + ":" + std::to_string(port) +
                      " within " + std::to_string(static_cast<int>(timeout_s)) +
                      " s: " + reason(error));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void exchange(const Socket& to, const void* send_data, std::size_t send_bytes, const Socket& from,
              void* receive_data, std::size_t receive_bytes, double timeout_s,
              const std::function<void(std::size_t)>& arrived)
{
  const auto* out = static_cast<const char*>(send_data);
  auto* in = static_cast<char*>(receive_data);
  std::size_t sent = 0;
  std::size_t received = 0;
  while (sent < send_bytes || received < receive_bytes) {
    std::size_t moved = 0;
    if (received < receive_bytes) {
      moved = try_receive(from, in + received, receive_bytes - received);
      received += moved;
      if (moved > 0)
        arrived(received);
    }
    if (sent < send_bytes) {
      const std::size_t n = try_send(to, out + sent, send_bytes - sent);
      sent += n;
      moved += n;
    }
    if (moved > 0)
      continue;
    std::array<pollfd, 2> ready{pollfd{sent < send_bytes ? to.fd() : -1, POLLOUT, 0},
                                pollfd{received < receive_bytes ? from.fd() : -1, POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), milliseconds(timeout_s)) == 0)
      throw PeerError(timed_out(received < receive_bytes ? from.peer() : to.peer(), timeout_s));
  }
}

} // namespace foretrain::realrun
