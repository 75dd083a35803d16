#include "models/fleet/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace foretrain::models::fleet {

namespace {

constexpr double kHour = 3600; // seconds

double mean_of(const std::vector<double>& rates)
{
  return rates.empty()
             ? 1
             : std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
}

// Relative rate of a profile at a time, with a mean of 1.
double rate_at(const std::vector<double>& rates, double time, double slot)
{
  if (rates.empty())
    return 1;
  const auto i =
      static_cast<std::size_t>(std::fmod(time / slot, static_cast<double>(rates.size())));
  return rates[i] / mean_of(rates);
}

double greatest(const std::vector<double>& rates)
{
  return rates.empty() ? 1 : *std::max_element(rates.begin(), rates.end()) / mean_of(rates);
}

double exponential(sim::RandomStream& stream, double mean)
{
  return -mean * std::log1p(-stream.uniform());
}

class Drawing {
public:
  Drawing(const Arrivals& arrivals, std::uint64_t seed)
      : arrivals_(arrivals), times_(seed, "fleet arrivals"), kinds_(seed, "fleet mix"),
        works_(seed, "fleet run times")
  {
    for (const ArrivalKind& kind : arrivals.kinds)
      shares_ += kind.share;
  }

  std::vector<Job> jobs()
  {
    std::vector<Job> all;
    for (Seconds time = next(Seconds(0)); time < arrivals_.until; time = next(time))
      for (int i = burst(); i > 0; --i) {
        all.push_back(draw());
        all.back().submit = time;
        all.back().id = std::to_string(all.size());
      }
    return all;
  }

private:
  double relative_rate(double time) const
  {
    return rate_at(arrivals_.by_hour, time, kHour) *
           rate_at(arrivals_.by_weekday, time, 24 * kHour);
  }

  Seconds next(Seconds after)
  {
    return arrivals_.process == ArrivalProcess::poisson ? next_by_chance(after) : next_even(after);
  }

  // At equal distances in what is to come: where the rate's integral has grown by one.
  Seconds next_even(Seconds after) const
  {
    double time = after.value();
    for (double left = arrivals_.burst / arrivals_.per_second; time < arrivals_.until.value();) {
      const double rate = relative_rate(time);
      const double end = (std::floor(time / kHour) + 1) * kHour; // until then it is the same
      if (rate * (end - time) >= left)
        return Seconds(time + left / rate);
      left -= rate * (end - time);
      time = end;
    }
    return arrivals_.until;
  }

  // A process of the greatest rate, of which a part is taken (Lewis and Shedler 1979).
  Seconds next_by_chance(Seconds after)
  {
    const double most = greatest(arrivals_.by_hour) * greatest(arrivals_.by_weekday);
    const double between = arrivals_.burst / (arrivals_.per_second * most);
    double time = after.value();
    do {
      time += exponential(times_, between);
    } while (time < arrivals_.until.value() && times_.uniform() * most >= relative_rate(time));
    return Seconds(time);
  }

  int burst()
  {
    if (arrivals_.burst <= 1)
      return 1;
    const double go_on = 1 - 1 / arrivals_.burst;
    return 1 + static_cast<int>(std::log1p(-times_.uniform()) / std::log(go_on));
  }

  Job draw()
  {
    double left = kinds_.uniform() * shares_;
    std::size_t i = 0;
    while (i + 1 < arrivals_.kinds.size() && left >= arrivals_.kinds[i].share)
      left -= arrivals_.kinds[i++].share;
    const ArrivalKind& kind = arrivals_.kinds[i];
    Job job = kind.job;
    if (kind.law == RunTimeLaw::exponential)
      job.work = Seconds(exponential(works_, kind.job.work.value()));
    else if (kind.law == RunTimeLaw::log_normal)
      job.work = works_.spread(kind.spread) * kind.job.work;
    return job;
  }

  const Arrivals& arrivals_;
  sim::RandomStream times_, kinds_, works_;
  double shares_ = 0;
};

} // namespace

std::vector<Job> draw_jobs(const Arrivals& arrivals, std::uint64_t seed)
{
  return Drawing(arrivals, seed).jobs();
}

void shuffle_ties(std::vector<Job>& jobs, std::uint64_t seed)
{
  sim::RandomStream stream(seed, "fleet ties");
  for (auto first = jobs.begin(); first != jobs.end();) {
    const auto last = std::find_if(first, jobs.end(),
                                   [&](const Job& job) { return job.submit != first->submit; });
    std::vector<Job> tied(std::make_move_iterator(first), std::make_move_iterator(last));
    stream.shuffle(tied);
    first = std::move(tied.begin(), tied.end(), first);
  }
}

} // namespace foretrain::models::fleet
