#include "experiments/serve/fair_queue.hpp"

#include <algorithm>
#include <tuple>

namespace foretrain::serve {

namespace {

std::string key_of(const Asker& asker)
{
  return asker.address + " " + asker.page;
}

} // namespace

FairQueue::Ticket FairQueue::ask(const Asker& asker)
{
  const std::lock_guard lock(mutex_);
  const auto waits = [&](bool of_page) {
    return std::count_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
      return !e.runs && e.asker.address == asker.address &&
             (!of_page || e.asker.page == asker.page);
    });
  };
  if (waits(true) >= limits_.page_waits || waits(false) >= limits_.address_waits)
    return 0;
  entries_.push_back({++tickets_, asker});
  return tickets_;
}

FairQueue::Entries::iterator FairQueue::find(Ticket ticket)
{
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const Entry& e) { return e.ticket == ticket; });
}

int FairQueue::running_of(const std::string& address, const std::string* page) const
{
  return static_cast<int>(std::count_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.runs && e.asker.address == address && (page == nullptr || e.asker.page == *page);
  }));
}

bool FairQueue::is_next(const Entry& entry) const
{
  const auto count = [&](bool only_long) {
    return std::count_if(entries_.begin(), entries_.end(),
                         [&](const Entry& e) { return e.runs && (!only_long || e.asker.is_long); });
  };
  if (count(false) >= limits_.places)
    return false;
  const bool long_full = count(true) >= limits_.long_places;
  const auto rank = [&](const Entry& e) {
    const auto served = served_.find(key_of(e.asker));
    return std::tuple(running_of(e.asker.address, nullptr),
                      running_of(e.asker.address, &e.asker.page),
                      served == served_.end() ? 0 : served->second, e.ticket);
  };
  const auto may_run = [&](const Entry& e) {
    return !(long_full && e.asker.is_long) &&
           running_of(e.asker.address, &e.asker.page) < limits_.page_places;
  };
  return may_run(entry) && std::none_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
           return !other.runs && may_run(other) && rank(other) < rank(entry);
         });
}

bool FairQueue::enter(Ticket ticket, std::chrono::milliseconds patience)
{
  std::unique_lock lock(mutex_);
  const auto at = find(ticket);
  if (at == entries_.end() ||
      !changed_.wait_for(lock, patience, [&] { return at->runs || is_next(*at); }))
    return false;
  at->runs = true;
  served_[key_of(at->asker)] = ++turns_;
  changed_.notify_all();
  return true;
}

void FairQueue::leave(Ticket ticket)
{
  const std::lock_guard lock(mutex_);
  const auto at = find(ticket);
  if (at == entries_.end())
    return;
  const std::string key = key_of(at->asker);
  entries_.erase(at);
  if (std::none_of(entries_.begin(), entries_.end(),
                   [&](const Entry& e) { return key_of(e.asker) == key; }))
    served_.erase(key); // pages come and go: nothing is kept of those that do
  changed_.notify_all();
}

int FairQueue::waiting() const
{
  const std::lock_guard lock(mutex_);
  return static_cast<int>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.runs; }));
}

int FairQueue::running() const
{
  const std::lock_guard lock(mutex_);
  return static_cast<int>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.runs; }));
}

} // namespace foretrain::serve
