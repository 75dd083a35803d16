// Who is next when more is asked than the machine can do at a time.
//
// Of those who wait, the one goes first whose address, then whose page, has least running, then was
// served longest ago. A page may have a few requests waiting, an address some more; what is beyond
// is refused at once. Long work never takes the last place, so that a change is answered beside it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>

namespace foretrain::serve {

struct QueueLimits {
  int places = 2;         // that run at a time
  int long_places = 1;    // of these, at most, long work
  int page_places = 1;    // of these, at most, a page's
  int page_waits = 4;     // requests of a page that wait
  int address_waits = 32; // of an address
};

struct Asker {
  std::string address, page;
  bool is_long = false;
};

class FairQueue {
public:
  using Ticket = std::uint64_t; // 0: refused

  explicit FairQueue(QueueLimits limits) : limits_(limits) {}

  /// A ticket that waits, or 0 where the page or its address has too many.
  Ticket ask(const Asker& asker);
  /// Whether it is this one's turn; waits up to `patience` for it. It then runs until leave().
  bool enter(Ticket ticket, std::chrono::milliseconds patience);
  /// It has ended, or no longer waits.
  void leave(Ticket ticket);

  int waiting() const;
  int running() const;

private:
  struct Entry {
    Ticket ticket;
    Asker asker;
    bool runs = false;
  };
  using Entries = std::list<Entry>;

  Entries::iterator find(Ticket ticket);
  int running_of(const std::string& address, const std::string* page) const;
  bool is_next(const Entry& entry) const;

  QueueLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;                             // in order of arrival
  std::map<std::string, std::uint64_t> served_; // pages that are in entries_ -> when, as a count
  std::uint64_t tickets_ = 0, turns_ = 0;
};

} // namespace foretrain::serve
