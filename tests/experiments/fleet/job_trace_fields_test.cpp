// Each kind of trace tells all that it has of a job, and why it leaves a line out.
#include "experiments/fleet/job_trace.hpp"

#include "experiments/fleet/fleet.hpp"
#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/fleet/trace_text.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

namespace foretrain::job_trace_fields_test {

using namespace foretrain::experiments;

namespace {

JobTrace read(TraceKind kind, const std::string& text, TakeJobs take = TakeJobs::ended)
{
  const test::TextFile file("fields", text);
  return read_job_trace(file.path(), kind, take);
}

// "id queue account gpus nodes submit work limit priority" of each job.
std::string jobs_in(const JobTrace& trace)
{
  std::string text;
  for (const models::fleet::Job& job : trace.workload.jobs)
    text += fmt::format("{} {} {} {} {} {:g} {:g} {:g} {:g}\n", job.id,
                        trace.workload.queues[job.queue], trace.workload.accounts[job.account],
                        job.gpus, job.nodes, job.submit.value(), job.work.value(),
                        job.limit.value(), job.priority);
  return text;
}

std::string notes_of(const JobTrace& trace)
{
  std::string text;
  for (const TraceNote& note : trace.notes)
    text += fmt::format("{} {} ({})\n", note.jobs, note.what, note.first);
  return text;
}

const std::string kSacctHead =
    "JobID|JobIDRaw|Partition|Account|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|"
    "AllocTRES|Priority|Restarts\n";
const std::string kOne = R"({"requests": {"nvidia.com/gpu": "1"}})";

std::string kueue(const std::string& spec, const std::string& status)
{
  return R"({"metadata": {"name": "w", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
             "spec": {)" +
         spec + R"(}, "status": {)" + status + "}}";
}
std::string condition(const std::string& type, const std::string& time,
                      const std::string& status = "True")
{
  return R"({"type": ")" + type + R"(", "status": ")" + status + R"(", "lastTransitionTime": ")" +
         time + "\"}";
}

} // namespace

TEST_CASE("every field of a trace's line is the job's", "[fleet][trace]")
{
  // Of a second job, so that times count from the first.
  const auto second = [](TraceKind kind, const std::string& text) {
    const std::string jobs = jobs_in(read(kind, text));
    return jobs.substr(jobs.find('\n') + 1);
  };
  const std::string time = "2026-03-01 10:00:";
  CHECK(second(TraceKind::sacct,
               kSacctHead +
                   "8|8|p|a|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:00:01|1|60|"
                   "COMPLETED|1|gres/gpu=1|0|0\n"
                   "9|7|gpu|lab|2026-03-01T10:00:03|2026-03-01T10:00:05|2026-03-01T10:01:05|60|2|"
                   "COMPLETED|2|gres/gpu:v100=4,gres/gpu:a100=2|11|0\n") ==
        "7 gpu lab 6 2 3 60 120 11\n");
  CHECK(second(TraceKind::swf, "1 5 0 9 1 -1 -1 1 9 -1 1 1 0 -1 0 -1 -1 -1\n"
                               "2 7 1 3 4 -1 -1 8 60 -1 1 1 3 -1 6 -1 -1 -1\n") ==
        "2 queue 6 group 3 8 0 2 3 60 0\n");
  CHECK(second(TraceKind::batsim, R"({"jobs": [
                 {"id": 0, "subtime": 1, "walltime": 9, "res": 2, "profile": 4},
                 {"id": "b", "subtime": 4, "walltime": 11, "res": 3, "profile": "p", "priority": 5}],
               "profiles": {"4": {"delay": 7}, "p": {"delay": 8}}})") ==
        "b default  3 0 3 8 11 5\n");
  CHECK(second(TraceKind::philly, "timestamp,duration,num_gpus,cluster\n" + time + "00,1,1,\n" +
                                      time + "07,12,8,c\n") == "1 c  8 0 7 12 inf 0\n");
  const std::string attempt = R"("attempts": [{"start_time": ")" + time + R"(10", "end_time": ")" +
                              time + R"(30", "detail": [
                 {"ip": "m", "gpus": ["gpu0"]}, {"ip": "n", "gpus": ["gpu0", "gpu1"]}]}]})";
  CHECK(second(TraceKind::philly,
               R"([{"vc": "v", "jobid": "x", "user": "u", "submitted_time": ")" + time + "00\", " +
                   attempt + R"(, {"vc": "w", "jobid": "y", "user": "t", "submitted_time": ")" +
                   time + "05\", " + attempt + "]") == "y w t 3 0 5 20 inf 0\n");
  CHECK(second(TraceKind::helios,
               "job_id,user,vc,gpu_num,node_num,submit_time,duration\n"
               "1,u,v,1,1,2020-04-01 00:00:01,5\n"
               "2,t,w,16,2,2020-04-01 00:00:04,6\n") == "2 w t 16 2 3 6 inf 0\n");
  CHECK(second(TraceKind::helios,
               "job_id,user,tenant,num_chips,num_nodes,submit_time,duration_s\n"
               "1,u,v,8,1,1000000,24.0\n2,t,w,16,2,3500000,25.0\n") == "2 w t 16 2 2.5 25 inf 0\n");
  CHECK(
      second(TraceKind::acme, "job_id,user,node_num,gpu_num,type,submit_time,start_time,duration\n"
                              "a,u,1,8,," +
                                  time + "00," + time + "01,10\nb,t,2,16,Pretrain," + time + "09," +
                                  time + "11,20\n") == "b Pretrain t 16 2 9 20 inf 0\n");
  CHECK(second(TraceKind::openb,
               "name,num_gpu,gpu_milli,qos,creation_time,deletion_time,scheduled_time\n"
               "p,1,1000,,3,100,10\nq,2,1000,BE,7,100,40\n") == "q BE  2 1 4 60 inf 0\n");
  const std::string ran = R"("conditions": [)" + condition("Admitted", "2026-01-01T00:00:10Z") +
                          ", " + condition("Finished", "2026-01-01T00:01:10Z") + "]";
  const std::string pods =
      R"("podSets": [{"count": 2, "template": {"spec": {"containers": [{"resources": )" + kOne +
      R"(}, {"resources": {"requests": {"nvidia.com/gpu": 3}}}]}}},
                     {"count": 5, "template": {"spec": {"containers": [{}]}}},
                     {"template": {"spec": {"containers": [{"resources": )" +
      kOne + "}]}}}]";
  CHECK(jobs_in(read(TraceKind::kueue, "[" + kueue(pods, ran) + "]")) ==
        "n/w  n 9 3 0 60 inf 0\n"); // a pod set without count is one pod
  const std::string limits = R"("podSets": [{"template": {"spec": {"containers": [
      {"resources": {"limits": {"nvidia.com/gpu": "4", "cpu": "9"}}},
      {"resources": {"limits": {"amd.com/gpu": 2}, "requests": {"amd.com/gpu": "1"}}}]}}}])";
  CHECK(jobs_in(read(TraceKind::kueue, "[" + kueue(limits, ran) + "]")) ==
        "n/w  n 5 1 0 60 inf 0\n"); // what is not requested is what the limits say
  CHECK(jobs_in(read(TraceKind::kueue, "[" +
                                           kueue(pods + R"(, "priority": 7, "queueName": "mine",
                                          "maximumExecutionTimeSeconds": 90)",
                                                 ran) +
                                           "]")) == "n/w mine n 9 3 0 60 90 7\n");
  CHECK(
      jobs_in(read(TraceKind::kueue, R"({"items": [)" +
                                         kueue(pods + R"(, "queueName": "mine")",
                                               ran + R"(, "admission": {"clusterQueue": "ours"})") +
                                         "]}")) == "n/w ours n 9 3 0 60 inf 0\n");
}

TEST_CASE("what a trace does not tell is the default of all", "[fleet][trace]")
{
  CHECK(jobs_in(read(TraceKind::swf, "1 5 0 9 4 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n")) ==
        "1 default  4 0 0 9 inf 0\n");
  const JobTrace bare = read(TraceKind::sacct, "JobID|Submit|Start|End|State|ReqGRES\n"
                                               "1|2026-03-01T10:00:00|2026-03-01T10:00:05|"
                                               "2026-03-01T10:00:35|COMPLETED|gpu\n");
  CHECK(jobs_in(bare) == "1 default  1 0 0 30 inf 0\n");
  CHECK(notes_of(bare) == "1 column NNodes is missing (the header)\n"
                          "1 column Partition is missing (the header)\n"
                          "1 column Account is missing (the header)\n"
                          "1 column Timelimit is missing (the header)\n"
                          "1 have no limit: schedulers expect their run time (line 2)\n");
  CHECK(jobs_in(read(TraceKind::acme, "job_id,gpu_num,submit_time,start_time,duration\n"
                                      "a,8,2026-01-01 00:00:00,x,10\n")) ==
        "a default  8 0 0 10 inf 0\n");
}

TEST_CASE("lines that tell no job are counted with the reason and the first of them",
          "[fleet][trace]")
{
  const auto notes = [](TraceKind kind, const std::string& text) {
    const JobTrace trace = read(kind, text);
    CHECK(trace.read == trace.left_out + trace.workload.jobs.size());
    return notes_of(trace);
  };
  const std::string no_limit = " have no limit: schedulers expect their run time ";
  CHECK(notes(TraceKind::acme, "job_id,gpu_num,submit_time,start_time,duration\n"
                               "a,8,2026-01-01 00:00:00,x,10\nb,8,soon,x,10\n"
                               "c,many,2026-01-01 00:00:00,x,10\nd,8,2026-01-01 00:00:00,,10\n"
                               "e,8,2026-01-01 00:00:00,x,long\n") ==
        "1" + no_limit +
            "(line 2)\n2 cannot be read: no submit_time or gpu_num (line 3)\n"
            "2 were cancelled before they started (line 5)\n");
  CHECK(notes(TraceKind::philly, "timestamp,duration,num_gpus\n2026-01-01 00:00:00,1,1\n"
                                 "soon,1,1\n2026-01-01 00:00:00,long,1\n"
                                 "2026-01-01 00:00:00,1,many\n") ==
        "1" + no_limit +
            "(line 2)\n"
            "3 cannot be read: no timestamp, duration or num_gpus (line 3)\n");
  const std::string head = R"([7, {"jobid": ""}, {"jobid": "a", "submitted_time": "soon",
      "attempts": []}, {"jobid": "b", "submitted_time": "2026-01-01 00:00:00"},
      {"jobid": "c", "submitted_time": "2026-01-01 00:00:00", "attempts": [9]},)";
  const std::string ran = R"({"start_time": "2026-01-01 00:00:00",
      "end_time": "2026-01-01 00:00:09", "detail": [{"gpus": ["gpu0"]}]})";
  CHECK(notes(TraceKind::philly, head + R"({"jobid": "d", "submitted_time": "2026-01-01 00:00:00",
      "attempts": [)" + ran + ", " + ran +
                                     "]}]") ==
        "2 cannot be read: no jobid (job 0)\n"
        "2 cannot be read: no submitted_time or attempts (job 2)\n1 never ran (job 4)\n"
        "1 ran in several attempts: they are replayed as one run (job 5)\n1" +
            no_limit + "(job 5)\n");
  CHECK(notes(TraceKind::batsim, R"({"jobs": [7, {"id": 1}, {"profile": "a"},
      {"id": 2, "profile": "a", "res": 1}, {"id": 3, "profile": "a", "subtime": 1},
      {"id": 4, "profile": "b", "subtime": 1, "res": 1},
      {"id": 5, "profile": "c", "subtime": 1, "res": 1},
      {"id": 6, "profile": "a", "subtime": 1, "res": 1}],
      "profiles": {"a": {"delay": 3}, "b": {"cpu": 3}}})") ==
        "3 cannot be read: no id or no profile (job 0)\n"
        "2 cannot be read: no subtime or no res (job 3)\n"
        "2 have a profile without \"delay\": it gives no run time (job 5)\n1" +
            no_limit + "(job 7)\n");
  CHECK(notes(TraceKind::helios, "job_id,vc,gpu_num,submit_time,duration\n"
                                 "1,v,1,2026-01-01 00:00:00,5\n2,v,1,soon,5\n"
                                 "3,v,many,2026-01-01 00:00:00,5\n"
                                 "4,v,1,2026-01-01 00:00:00,long\n") ==
        "1" + no_limit +
            "(line 2)\n3 cannot be read: no submit_time, duration or number of GPUs (line 3)\n");
  CHECK(notes(TraceKind::helios, "job_id,vc,gpu_num,submit_time,start_time,duration\n"
                                 "1,v,1,2026-01-01 00:00:00,2026-01-01 00:00:00,0\n"
                                 "2,v,1,2026-01-01 00:00:00,,0\n") ==
        "1" + no_limit + "(line 2)\n1 were cancelled before they started (line 3)\n");
  CHECK(notes(TraceKind::openb, "name,num_gpu,gpu_milli,creation_time,deletion_time,"
                                "scheduled_time\na,1,999,0,9,1\nb,1,1000,0,9,1\nc,1,0,0,9,1\n"
                                "d,1,1,,9,1\ne,1,1,0,,1\nf,,1,0,9,1\ng,1,1,0,9,\n") ==
        "1 asked for a part of a GPU: they get a whole one (line 2)\n3" + no_limit +
            "(line 2)\n3 cannot be read: no creation_time, deletion_time or num_gpu (line 5)\n"
            "1 were never scheduled (line 8)\n");
  const auto begun = condition("Admitted", "2026-01-01T00:00:10Z");
  const auto ended = condition("Finished", "2026-01-01T00:01:10Z");
  const std::string pod =
      R"("podSets": [{"template": {"spec": {"containers": [{"resources": )" + kOne + "}]}}}]";
  CHECK(notes(TraceKind::kueue,
              "[{}, " + kueue(pod, R"("conditions": [)" + begun + "]") + ", " +
                  kueue(pod, R"("conditions": [)" + ended + "]") + ", " +
                  kueue(pod, R"("conditions": [)" + begun + ", " +
                                 condition("Finished", "2026-01-01T00:01:10Z", "False") + "]") +
                  ", " +
                  kueue(pod, R"("requeueState": {"count": 2}, "conditions": [)" + begun + ", " +
                                 ended + "]") +
                  "]") ==
        "1 cannot be read: no creationTimestamp (item 0)\n2 had not ended (item 1)\n"
        "1 were finished without being admitted (item 2)\n"
        "1 were requeued by Kueue: their last run is replayed (item 4)\n1" +
            no_limit + "(item 4)\n");
}

TEST_CASE("sacct: jobs that ran again, are suspended, have no time, or a damaged one",
          "[fleet][trace]")
{
  const std::string begin = "|gpu|lab|2026-03-01T10:00:00|2026-03-01T10:00:05|";
  const JobTrace trace =
      read(TraceKind::sacct, kSacctHead + "1|1" + begin +
                                 "2026-03-01T10:00:35|30|1|COMPLETED|1|gres/gpu=1|0|2\n"
                                 "2|2" +
                                 begin +
                                 "Unknown|30|1|SUSPENDED|1|gres/gpu=1|0|0\n"
                                 "3|3|gpu|lab|soon|2026-03-01T10:00:05|"
                                 "2026-03-01T10:00:35|30|1|COMPLETED|1|gres/gpu=1|0|0\n"
                                 "4|4" +
                                 begin +
                                 "2026-03-01T10:00:35|30|1|COMPLETED|1|gres/gpu=1e30|0|0\n"
                                 "5|5" +
                                 begin +
                                 "2026-03-01T10:00:35|30|1|COMPLETED|1|gpu:x|0|0\n"
                                 "6|6" + // its length alone is known
                                 begin +
                                 "Unknown|50|1|COMPLETED|1|gres/gpu=1|0|0\n");
  CHECK(jobs_in(trace) == "1 gpu lab 1 1 0 30 60 0\n6 gpu lab 1 1 0 50 60 0\n");
  CHECK(notes_of(trace) == "1 were requeued by Slurm: their last run is replayed (line 2)\n"
                           "1 are suspended (line 3)\n"
                           "1 cannot be read: no time of submission (line 4)\n"
                           "2 use no GPU (line 5)\n");
}

TEST_CASE("times with their distance from UTC are on one clock", "[fleet][trace]")
{
  const auto at = [](const char* rest) {
    return *time_of(std::string("2026-03-01T10:00:00") + rest);
  };
  CHECK(at("Z") == at(""));
  CHECK(at("+0100") == at("") - 3600);
  CHECK(at("-03:30") == at("") + 3.5 * 3600);
  CHECK(at(".250+02") == at("") - 7200);
  CHECK(at(" UTC") == at(""));
  CHECK_FALSE(time_of("2026-03-01T10:00:00+1"));
}

TEST_CASE("unfinished jobs: those that run hold their GPUs first, for what their limit leaves",
          "[fleet][trace]")
{
  const std::string head = "JobID|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|AllocTRES\n";
  const std::string when = "|2026-03-01T10:00:0";
  const JobTrace trace =
      read(TraceKind::sacct,
           head + "1" + when + "1|Unknown|Unknown|0|2|PENDING|gres/gpu=1\n" + //
               "0" + when + "0|Unknown|Unknown|0|3|PENDING|gres/gpu=1\n" +    //
               "2" + when + "7|2026-03-01T10:00:08|Unknown|30|1|RUNNING|gres/gpu=2\n" + "3" + when +
               "2|2026-03-01T10:00:03|Unknown|0|1|RUNNING|gres/gpu=3\n" + "4" + when +
               "4|2026-03-01T10:00:05|2026-03-01T10:00:20|15|1|COMPLETED|gres/gpu=1\n" + "5" +
               when + "4|2026-03-01T10:00:05|2026-03-01T10:03:20|195|1|TIMEOUT|gres/gpu=1\n" + "6" +
               when + "4|2026-03-01T10:00:05|Unknown|60|1|RUNNING|gres/gpu=1\n" + //
               "7" + when + "4|2026-03-01T10:00:05|Unknown|9|UNLIMITED|RUNNING|gres/gpu=1\n",
           TakeJobs::unfinished);
  CHECK(jobs_in(trace) == "2 default  2 0 0 30 30 0\n3 default  3 0 0 60 60 0\n"
                          "7 default  1 0 0 inf inf 0\n"
                          "0 default  1 0 1e-06 180 180 0\n1 default  1 0 1e-06 120 120 0\n");
  CHECK(trace.elapsed == std::vector<double>{0.5, 0, 0, 0, 0});
  CHECK(trace.used_of_limit == std::vector<double>{0.25, 1});
  CHECK_THAT(
      notes_of(trace),
      Catch::Contains("2 have ended: they tell how much of their limits jobs take (line 6)") &&
          Catch::Contains("1 should have ended: their limit is over (line 8)") &&
          Catch::Contains("1 have no limit: nobody knows how long they run, and they are "
                          "taken to hold their GPUs for ever (line 9)"));
  // A job that runs takes the share of one that took more; one that waits, of any.
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    models::fleet::Workload workload = trace.workload;
    draw_run_times(workload, trace, seed);
    CHECK(workload.jobs[0].work == Seconds(30)); // 1 alone is above one half
    CHECK((workload.jobs[4].work == Seconds(30) || workload.jobs[4].work == Seconds(120)));
    CHECK(workload.jobs[2].work == models::fleet::kNever);
    models::fleet::Workload again = trace.workload;
    draw_run_times(again, trace, seed);
    CHECK(again.jobs[4].work == workload.jobs[4].work);
  }
}

TEST_CASE("a fleet's answer tells what its trace left out, and why", "[fleet][trace]")
{
  const test::TextFile trace("two.swf", "1 5 0 9 1 -1 -1 1 9 -1 1 1 0 -1 0 -1 -1 -1\nnothing\n");
  const test::TextFile file("fleet.json",
                            R"({"cluster": {"nodes": 1, "gpus_per_node": 1}, "jobs": {
                                "kind": "swf", "trace": ")" +
                                trace.path().string() + "\"}}");
  const LoadedFleet fleet = load_fleet(file.path(), {}, "");
  const Json told = written(fleet_answer(fleet, run_fleet(fleet, {1, 1, false, {}})));
  CHECK(told.at("trace") ==
        Json{{"read", 2},
             {"left_out", 1},
             {"notes",
              {{{"what", "cannot be read: not 18 numbers"}, {"jobs", 1}, {"first", "line 2"}}}}});
}

TEST_CASE("trace files of another kind are refused with what they lack", "[fleet][trace]")
{
  CHECK_THROWS_WITH(read(TraceKind::batsim, "{\"jobs\": []}"),
                    Catch::Contains("is no workload of Batsim: it has no \"profiles\""));
  CHECK_THROWS_WITH(read(TraceKind::batsim, "[1]"),
                    Catch::Contains("is no workload of Batsim: it has no \"jobs\""));
  CHECK_THROWS_WITH(read(TraceKind::kueue, "{\"kind\": \"List\"}"),
                    Catch::Contains("is no list of Workloads: it has no \"items\""));
  CHECK_THROWS_WITH(read(TraceKind::swf, "1 5 0 9 4 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n",
                         TakeJobs::unfinished),
                    Catch::Contains("holds no job that runs or waits"));
}

} // namespace foretrain::job_trace_fields_test
