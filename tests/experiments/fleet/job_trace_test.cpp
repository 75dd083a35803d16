#include "experiments/fleet/job_trace.hpp"

#include "sim/base/error.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/damage.hpp"

namespace foretrain::job_trace_test {

using namespace foretrain::experiments;

namespace {

std::string noted(const JobTrace& trace)
{
  std::string text;
  for (const TraceNote& note : trace.notes)
    text += std::to_string(note.jobs) + " " + note.what + " (" + note.first + ")\n";
  return text;
}

const std::string kSacct =
    "JobID|JobIDRaw|Partition|Account|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|"
    "AllocTRES\n"
    "11|11|gpu|façade|2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T11:00:05|3600|120|"
    "COMPLETED|2|billing=16,gres/gpu=8,gres/gpu:v100=8,node=2\n"
    "11.batch|11.batch|||2026-03-01T10:00:05|2026-03-01T10:00:05|2026-03-01T11:00:05|3600|||1|\n"
    "12|12|gpu|lab|2026-03-01T10:00:01|None|2026-03-01T10:30:00|0|60|CANCELLED by 1000|2|\n"
    "13|13|gpu|lab|2026-03-01T10:00:02|2026-03-29T01:30:00|2026-03-29T03:30:00|3600|60|"
    "COMPLETED|1|gres/gpu:v100=4\n"
    "14|14|gpu|lab|2026-03-01T10:00:03|2026-03-01T10:00:05|2026-03-01T11:01:00|3655|60|TIMEOUT|1|"
    "gres/gpu=1\n"
    "15|15|cpu|lab|2026-03-01T10:00:04|2026-03-01T10:00:05|2026-03-01T10:00:06|1|60|COMPLETED|1|"
    "cpu=16,node=1\n"
    "13|13|gpu|lab|2026-03-01T10:00:06|2026-03-02T10:00:00|2026-03-02T10:01:00|60|60|COMPLETED|1|"
    "gres/gpu:v100=4\n"
    "16|16|gpu|lab|2026-03-01T10:00:07|Unknown|Unknown|0|60|PENDING|1|\n"
    "17|what\n"
    "18|18|gpu|lab|2026-03-01T10:00:08|2026-03-01T10:30:00|2026-03-01T10:30:00|0|60|"
    "CANCELLED by 0|1|\n";

} // namespace

TEST_CASE("sacct -P: jobs, and what is left out or odd, each told with its line", "[fleet]")
{
  const test::TextFile file("jobs.txt", kSacct);
  const JobTrace trace = read_job_trace(file.path(), TraceKind::sacct);
  REQUIRE(trace.workload.jobs.size() == 4);
  const auto& first = trace.workload.jobs[0];
  CHECK(first.id == "11");
  CHECK(first.gpus == 8); // not 16: the typed ones are the same
  CHECK(first.nodes == 2);
  CHECK(first.work == Seconds(3600));
  CHECK(first.limit == Seconds(7200));
  CHECK(trace.workload.accounts[first.account] == "façade");
  CHECK(trace.workload.jobs[1].submit == Seconds(2));
  CHECK(trace.workload.jobs[3].id == "13#2");
  CHECK(trace.read == 10);
  CHECK(trace.left_out == 6);
  CHECK(noted(trace) ==
        "1 are steps of jobs (sacct without -X) (line 3)\n"
        "2 were cancelled before they started (line 4)\n"
        "1 ran across a change of the clock by an hour: their elapsed time counts (line 5)\n"
        "1 ran longer than their limit: the limit is their run time (line 6)\n"
        "1 use no GPU (line 7)\n"
        "1 have the id of an earlier job: further runs of it (line 8)\n"
        "1 had not ended (line 9)\n"
        "1 cannot be read: another number of fields (line 10)\n");
}

TEST_CASE("sacct without header has the fields that Open XDMoD asks for", "[fleet]")
{
  const auto check = [](const std::string& line, const std::string& queue) {
    const test::TextFile file("xdmod.txt", line);
    const JobTrace trace = read_job_trace(file.path(), TraceKind::sacct);
    REQUIRE(trace.workload.jobs.size() == 1);
    CHECK(trace.workload.jobs[0].gpus == 4);
    CHECK(trace.workload.jobs[0].work == Seconds(3 * 86400 + 6 * 3600 + 16 * 60 + 53));
    CHECK(trace.workload.jobs[0].limit == Seconds(125 * 86400));
    CHECK(trace.workload.queues[trace.workload.jobs[0].queue] == queue);
  };
  const std::string times = "2016-12-26T21:17:42|2016-12-26T21:17:42|2016-12-26T21:17:45|"
                            "2016-12-30T03:34:38|3-06:16:53|0:0|COMPLETED|1|16|16|2147487648Mn|";
  const std::string end = "125-00:00:00|cpn-f14-06|schön\n";
  check("1|1|m|pikelet|normal|cashew|refbl|104681|façade|250487|" + times +
            "cpu=16,node=1|billing=16,gres/gpu=4,node=1|" + end,
        "pikelet");
  check("1|1|m|pikelet|cashew|refbl|104681|façade|250487|" + times + "cpu=16|gres/gpu=4,node=1|" +
            end,
        "pikelet");
  check("1|1|m|pikelet|cashew|refbl|104681|façade|250487|" + times + "gpu:v100:4|" + end,
        "pikelet");
  const test::TextFile other("other.txt", "1|2|3\n");
  CHECK_THROWS_WITH(read_job_trace(other.path(), TraceKind::sacct),
                    Catch::Contains("has no header, and 3 fields"));
}

TEST_CASE("SWF, Batsim, Philly, Helios, Acme, openb and Kueue", "[fleet]")
{
  struct Sample {
    TraceKind kind;
    std::string text;
    int gpus;
    double run, submit; // of the second job
  };
  const std::vector<Sample> samples{
      {TraceKind::swf,
       "; header\n"
       "1 100 5 30 4 -1 -1 8 60 -1 1 1 2 -1 1 -1 -1 -1\n"
       "2 110 5 40 4 -1 -1 -1 60 -1 1 1 2 -1 1 -1 -1 -1 ; end\n",
       4, 40, 10},
      {TraceKind::batsim,
       R"({"nb_res": 4, "jobs": [{"id": 0, "subtime": 1, "walltime": 9, "res": 2, "profile": "a"},
           {"id": "w!1", "subtime": 3, "res": 4, "profile": "b"}],
          "profiles": {"a": {"type": "delay", "delay": 7}, "b": {"type": "DelayProfile", "delay": 8}}})",
       4, 8, 2},
      {TraceKind::philly,
       "timestamp,duration,num_gpus,gpu_time,cluster\n"
       "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n2017-10-09 07:02:00,12,8,1,6214e9\n",
       8, 12, 5},
      {TraceKind::philly,
       R"([{"status": "Pass", "vc": "a", "jobid": "x", "user": "u", "submitted_time": "2017-10-09 07:00:00",
            "attempts": [{"start_time": "2017-10-09 07:01:00", "end_time": "2017-10-09 07:02:00",
                          "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]},
           {"status": "Killed", "vc": "a", "jobid": "y", "user": "u", "submitted_time": "2017-10-09 07:00:09",
            "attempts": [{"start_time": "2017-10-09 07:01:00", "end_time": "2017-10-09 07:01:30",
                          "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]},
                         {"start_time": "2017-10-09 08:01:00", "end_time": "2017-10-09 08:01:30",
                          "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}]}])",
       2, 60, 9},
      {TraceKind::helios,
       "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"
       "queue\n1,u,vc1,1,4,1,COMPLETED,2020-04-01 00:00:01,,,5,0\n"
       "2,u,vc1,16,4,2,FAILED,2020-04-01 00:00:04,,,6,0\n",
       16, 6, 3},
      {TraceKind::helios,
       "# a slice\njob_id,user,tenant,class,submit_time,num_chips,chip_type,num_nodes,duration_s,"
       "walltime_limit_s,final_status\n1,u,t,,1000000,8,,1,24.0,24.0,CANCELED\n"
       "2,u,t,,3500000,8,,1,25.0,24.0,CANCELED\n",
       8, 25, 2.5},
      {TraceKind::acme,
       "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration\n"
       "a,u,1,8,1,Other,COMPLETED,2023-07-01 00:00:00+08:00,2023-07-01 00:00:01+08:00,,10\n"
       "b,u,2,16,1,Pretrain,FAILED,2023-07-01 00:01:00+08:00,2023-07-01 00:02:00+08:00,,20\n",
       16, 20, 60},
      {TraceKind::openb,
       "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
       "deletion_time,scheduled_time\np0,1,1,1,460,,LS,Running,0,100,10\n"
       "p1,1,1,2,1000,,BE,Running,7,100,40\n",
       2, 60, 7},
      {TraceKind::kueue,
       R"({"items": [{"metadata": {"name": "a", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"podSets": [{"count": 1, "template": {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "4"}}}]}}}]},
            "status": {"conditions": [{"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"},
                                      {"type": "Finished", "status": "True", "lastTransitionTime": "2026-01-01T00:01:10Z"}]}},
           {"metadata": {"name": "b", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:30Z"},
            "spec": {"priority": 7, "podSets": [{"count": 1, "template": {"spec": {"containers": [{}]}}},
                      {"count": 3, "template": {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": 4}}}]}}}]},
            "status": {"conditions": [{"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:02:00Z"},
                                      {"type": "Finished", "status": "True", "lastTransitionTime": "2026-01-01T00:05:00Z"}]}}]})",
       12, 180, 30},
  };
  for (const Sample& sample : samples) {
    CAPTURE(word_of(sample.kind), sample.text);
    const test::TextFile file("trace", sample.text);
    const JobTrace trace = read_job_trace(file.path(), sample.kind);
    REQUIRE(trace.workload.jobs.size() == 2);
    CHECK(trace.workload.jobs[1].gpus == sample.gpus);
    CHECK(trace.workload.jobs[1].work == Seconds(sample.run));
    CHECK(trace.workload.jobs[1].submit == Seconds(sample.submit));
  }
  // Damaged ones are read in part or refused, but never end in anything else.
  std::mt19937 random(7);
  for (int i = 0; i < 1500; ++i) {
    const Sample& sample = samples[static_cast<std::size_t>(i) % samples.size()];
    const test::TextFile file("trace", test::damaged(sample.text, random));
    try {
      const JobTrace trace = read_job_trace(file.path(), sample.kind);
      CHECK(trace.workload.jobs.size() + trace.left_out == trace.read);
      for (const auto& job : trace.workload.jobs)
        CHECK((job.gpus > 0 && job.work >= Seconds(0) && job.submit >= Seconds(0)));
    } catch (const ConfigError&) {
    }
  }
}

TEST_CASE("a table that lacks a column names it, and those that it has", "[fleet]")
{
  const test::TextFile file("helios.csv", "job_id,submit_time,vc\n1,2,3\n");
  CHECK_THROWS_WITH(read_job_trace(file.path(), TraceKind::helios),
                    Catch::Contains("has no column gpu_num or num_chips") &&
                        Catch::Contains("columns found: job_id, submit_time, vc"));
  const test::TextFile none("none.swf", "; only a header\n");
  CHECK_THROWS_WITH(read_job_trace(none.path(), TraceKind::swf),
                    Catch::Contains("holds no job that can be replayed"));
  CHECK_THROWS_WITH(read_job_trace("/nowhere/x.swf", TraceKind::swf),
                    Catch::Contains("/nowhere/x.swf") && Catch::Contains("cannot be read"));
}

TEST_CASE("clocks that contradict each other are told", "[fleet]")
{
  const std::string head = kSacct.substr(0, kSacct.find('\n') + 1);
  const auto notes = [&](const std::string& times) {
    const test::TextFile file("odd.txt",
                              head + "11|11|gpu|lab|" + times + "|120|COMPLETED|1|gres/gpu=1\n");
    return noted(read_job_trace(file.path(), TraceKind::sacct));
  };
  CHECK(notes("2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T10:30:06|1800").empty());
  CHECK(notes("2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T10:30:07|1800") ==
        "1 ran another time than from start to end: their elapsed time counts (line 2)\n");
  CHECK(notes("2026-03-01T10:00:00|2026-03-01T09:59:59|2026-03-01T10:29:59|1800") ==
        "1 started before they were submitted (line 2)\n");
}

TEST_CASE("what is no sacct -P is told as what it is", "[fleet]")
{
  const auto refused = [](const std::string& text, const std::string& why) {
    const test::TextFile file("odd.txt", text);
    CHECK_THROWS_WITH(read_job_trace(file.path(), TraceKind::sacct), Catch::Contains(why));
  };
  refused("", "is empty");
  refused("JobID,State\n1,COMPLETED\n", "has no | between fields: 'JobID,State'");
  refused("Submit|Start|End|ElapsedRaw|State|AllocTRES\n", "has no header");
}

TEST_CASE("sacct: elapsed times in words, arrays that wait, jobs of other runs", "[fleet]")
{
  const std::string head = "JobID|Submit|Start|End|Elapsed|Timelimit|State|AllocTRES\n";
  const auto read = [&](const std::string& lines, TakeJobs take) {
    const test::TextFile file("words.txt", head + lines);
    return read_job_trace(file.path(), TraceKind::sacct, take);
  };
  const std::string begin = "|2026-03-01T10:00:00|2026-03-01T10:00:05|";
  const JobTrace trace =
      read("1" + begin + "Unknown|01:30:10|2-00:00:00|COMPLETED|gres/gpu=1\n" +        //
               "2" + begin + "Unknown|3-01:00:00|4-0:0:0|COMPLETED|gres/gpu=1\n" +     //
               "3" + begin + "Unknown|20:30|60:00|COMPLETED|gres/gpu=1\n" +            //
               "4" + begin + "Unknown|30|60:00|COMPLETED|gres/gpu=1\n" +               //
               "5" + begin + "Unknown|1:2:3:4|60:00|COMPLETED|gres/gpu=1\n" +          //
               "6" + begin + "2026-03-01T10:01:05|x|60:00|COMPLETED|gres/gpu=1\n" +    //
               "7" + begin + "2026-03-01T10:01:05|-1:30|60:00|COMPLETED|gres/gpu=1\n", //
           TakeJobs::ended);
  const auto& jobs = trace.workload.jobs;
  REQUIRE(jobs.size() == 5);
  CHECK(jobs[0].work == Seconds(5410));
  CHECK(jobs[0].limit == Seconds(2 * 86400));
  CHECK(jobs[1].work == Seconds(3 * 86400 + 3600));
  CHECK(jobs[2].work == Seconds(20 * 60 + 30));
  CHECK(jobs[2].limit == Seconds(3600));
  CHECK(jobs[3].work == Seconds(60)); // from start to end
  CHECK(jobs[4].work == Seconds(60));
  CHECK_THAT(noted(trace), Catch::Contains("2 cannot be read: no run time (line 5)"));

  const test::TextFile older("gres.txt", "JobID|NNodes|Submit|Start|ElapsedRaw|State|AllocGRES\n"
                                         "1|2|2016-03-01T10:00:00|2016-03-01T10:00:05|60|COMPLETED|"
                                         "gpu:k80:4\n");
  CHECK(read_job_trace(older.path(), TraceKind::sacct).workload.jobs.at(0).gpus == 8); // each node

  const JobTrace queue = read("8_[1-9]|2026-03-01T10:00:00|Unknown|Unknown|0|60:00|PENDING|"
                              "gres/gpu=1\n9|2026-03-01T10:00:00|2026-03-01T10:00:05|Unknown|"
                              "30:00|60:00|RUNNING|gres/gpu=1\n10|2026-03-01T10:00:00|"
                              "2026-03-01T10:00:05|Unknown||60:00|RUNNING|gres/gpu=1\n",
                              TakeJobs::unfinished);
  REQUIRE(queue.workload.jobs.size() == 2);
  CHECK(queue.elapsed == std::vector<double>{0.5, 0});
  CHECK_THAT(noted(queue),
             Catch::Contains("1 are of arrays that wait: an array counts as one job (line 2)") &&
                 Catch::Contains("1 cannot be read: no run time (line 4)"));
}

TEST_CASE("tables with quoted cells, limits of 0, jobs that were cancelled", "[fleet]")
{
  const test::TextFile quoted(
      "quoted.csv", "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
                    "duration,queue\n1,\"a, b\",\"the \"\"fast\"\" ones\",3,4,1,COMPLETED,"
                    "2020-04-01 00:00:01,,,5,0\n");
  const JobTrace helios = read_job_trace(quoted.path(), TraceKind::helios);
  REQUIRE(helios.workload.jobs.size() == 1);
  CHECK(helios.workload.jobs[0].gpus == 3);
  CHECK(helios.workload.queues.back() == "the \"fast\" ones");
  const test::TextFile batsim("walltime.json", R"({"nb_res": 4, "jobs": [
    {"id": 0, "subtime": 1, "walltime": 0, "res": 2, "profile": "a"},
    {"id": 1, "subtime": 1, "walltime": 8, "res": 2, "profile": "a"}],
    "profiles": {"a": {"type": "delay", "delay": 7}}})");
  const JobTrace walltimes = read_job_trace(batsim.path(), TraceKind::batsim);
  REQUIRE(walltimes.workload.jobs.size() == 2);
  CHECK(walltimes.workload.jobs[0].limit == models::fleet::kNever);
  CHECK(walltimes.workload.jobs[1].limit == Seconds(8));
  const test::TextFile swf("cancelled.swf", "1 1 0 0 2 -1 -1 2 200 -1 5 1 0 -1 0 -1 -1 -1\n"
                                            "2 1 0 9 2 -1 -1 2 200 -1 5 1 0 -1 0 -1 -1 -1\n"
                                            "3 1 0 0 2 -1 -1 2 200 -1 1 1 0 -1 0 -1 -1 -1\n");
  const JobTrace cancelled = read_job_trace(swf.path(), TraceKind::swf);
  REQUIRE(cancelled.workload.jobs.size() == 2);
  CHECK(cancelled.workload.jobs[0].id == "2");
  CHECK(noted(cancelled) == "1 were cancelled before they started (line 1)\n");
}

TEST_CASE("SWF: a job whose submission is not known is left out", "[fleet]")
{
  const test::TextFile file("odd.swf", "1 -1 0 100 2 -1 -1 2 200 -1 1 1 0 -1 0 -1 -1 -1\n"
                                       "2 0 0 100 2 -1 -1 2 200 -1 1 1 0 -1 0 -1 -1 -1\n");
  const JobTrace trace = read_job_trace(file.path(), TraceKind::swf);
  CHECK(trace.workload.jobs.size() == 1);
  CHECK(noted(trace) == "1 have no time of submission (line 1)\n");
  CHECK(note_text(trace.notes[0]) == "1 has no time of submission (first: line 1)");
  CHECK(note_text({"were cancelled", 1, "line 2"}) == "1 was cancelled (first: line 2)");
  CHECK(note_text({"are suspended", 2, "line 3"}) == "2 are suspended (first: line 3)");
}

TEST_CASE("numbers of GPUs that no integer holds are left out as what they are", "[fleet]")
{
  const test::TextFile file("vast.swf", "1 0 0 100 1e22 -1 -1 1e22 200 -1 1 1 0 -1 0 -1 -1 -1\n"
                                        "2 0 0 100 -1e22 -1 -1 -1 200 -1 1 1 0 -1 0 -1 -1 -1\n"
                                        "3 0 0 100 2 -1 -1 2 200 -1 1 1 1e20 -1 2e20 -1 -1 -1\n");
  const JobTrace trace = read_job_trace(file.path(), TraceKind::swf);
  REQUIRE(trace.workload.jobs.size() == 1);
  CHECK(trace.workload.jobs[0].id == "3");
  CHECK(trace.workload.queues ==
        std::vector<std::string>{"default", "queue 200000000000000000000"});
  std::vector<std::string> notes;
  for (const TraceNote& note : trace.notes)
    notes.push_back(note.what);
  CHECK(notes == std::vector<std::string>{"have more than 16,777,216 GPUs", "use no GPU"});
}

} // namespace foretrain::job_trace_test
