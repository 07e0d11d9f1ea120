// Streams to worlds: which processes form one MPI_COMM_WORLD, and what is known about it as a whole.
//
// Called by load_run(). A step's processes may lie in several streams (one per node), and one world may
// span steps: with mpirun inside a batch script, ranks on the first node belong to the batch step and
// the others to a step that mpirun started with srun.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/model/rank.h"
#include "tools/model/run.h"
#include "tools/model/wrapped_time.h"

namespace slurmscope {
namespace {

std::string step_key(const Stream &s) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}", s.run.job(), s.run.step(), s.run.restart(), s.run.het_group());
}

std::string world_key(const Stream &s, const v1::Process &process) {
  if (process.world_id().empty()) return "step\x1f" + step_key(s);
  return fmt::format("world\x1f{}\x1f{}\x1f{}", s.run.job(), s.run.restart(), process.world_id());
}

std::string step_label(const v1::Run &run) {
  std::string label = run.step().empty() ? "?" : run.step();
  if (!run.het_group().empty()) label += "+" + run.het_group();
  if (run.restart() > 0) label += fmt::format(".restart{}", run.restart());
  return label;
}

/// Splits processes of one key in which a rank occurs twice: the n-th life of a rank is of the n-th world
/// (a batch script that starts mpirun several times, when the MPI gave no world id).
std::vector<std::vector<RankModel>> split_lives(std::vector<RankModel> ranks) {
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankModel &a, const RankModel &b) { return a.start_ns < b.start_ns; });
  std::vector<std::vector<RankModel>> lives;
  std::map<int, size_t> seen;
  for (RankModel &rank : ranks) {
    size_t life = seen[rank.rank]++;
    if (life >= lives.size()) lives.resize(life + 1);
    lives[life].push_back(std::move(rank));
  }
  return lives;
}

/// Whether a loss makes counts and times of calls too small. The time line, samples and peers are others.
bool loses_calls(const std::string &reason) {
  for (const char *other : {"stall", "trace limit", "sample", "unnamed peer", "peer in another world", "clock went back",
                            "journal", "write error"})
    if (reason == other) return false;
  return true;
}

void set_walls(World *world) {
  int64_t first = INT64_MAX, last = INT64_MIN, last_start = INT64_MIN, first_end = INT64_MAX;
  double longest = 0;
  bool placed = true;
  for (const RankModel &rank : world->ranks) {
    longest = std::max(longest, rank.wall_s);
    placed = placed && rank.start_ns != 0;
    first = std::min(first, rank.start_ns);
    last = std::max(last, rank.end_ns);
    last_start = std::max(last_start, rank.start_ns);
    first_end = std::min(first_end, rank.end_ns);
  }
  world->wall_s = longest;
  if (placed && world->is_mpi && last_start > first_end) {
    world->notes.push_back({"", "the ranks' times do not overlap: the nodes' clocks disagree; wall time is the longest "
                                "rank's", {}});
  } else if (placed && !world->ranks.empty()) {
    world->wall_s = std::max(longest, static_cast<double>(time_between(first, last)) * 1e-9);
  }
  if (placed && !world->ranks.empty()) {
    world->start_ns = first;
    world->end_ns = last;
  }
  for (RankModel &rank : world->ranks) close_categories(&rank, world->wall_s);
  for (RankModel &rank : world->others) close_categories(&rank, rank.wall_s);
}

void add_tasks(World *world) {
  std::map<std::pair<uint32_t, std::string>, TaskEnd> tasks;
  for (const Stream *stream : world->streams)
    for (const auto &[id, task] : stream->tasks)
      tasks[{id, stream->run.step()}] = {id, task.pid(), stream->host(), task.wait_status()};
  for (auto &[key, task] : tasks) world->tasks.push_back(task);

  // Only where Slurm itself started the ranks is a task's number a rank's number.
  bool started_by_slurm = world->run.starter() == "slurm" && world->run.step() != "batch" &&
                          static_cast<int>(world->run.tasks()) == world->size;
  auto attach = [&](RankModel &rank) {
    if (rank.wait_status) return;
    for (const TaskEnd &task : world->tasks) {
      bool same_process = task.pid == rank.record->info.pid() && task.host == rank.host;
      bool same_task = started_by_slurm && rank.record->info.has_slurm_procid() &&
                       static_cast<uint32_t>(rank.record->info.slurm_procid()) == task.task;
      if (same_process || same_task) rank.wait_status = task.wait_status;
    }
  };
  for (RankModel &rank : world->ranks) attach(rank);
  for (RankModel &rank : world->others) attach(rank);
}

void add_losses(World *world, const StreamSet &set) {
  std::map<std::pair<const Stream *, uint32_t>, const RankModel *> by_process;
  for (const RankModel &rank : world->ranks) by_process[{rank.stream, rank.process_id}] = &rank;
  std::set<std::pair<const Stream *, uint32_t>> others;
  for (const RankModel &rank : world->others) others.insert({rank.stream, rank.process_id});

  for (const Stream *stream : world->streams) {
    auto rank_of = [&](uint32_t process) -> std::optional<int> {
      auto found = by_process.find({stream, process});
      if (found == by_process.end()) return {};
      return found->second->rank;
    };
    auto concerns = [&](uint32_t process) {
      return process == 0 || rank_of(process) || others.count({stream, process}) != 0;
    };
    for (const auto &[key, loss] : stream->losses) {
      if (!concerns(loss.process())) continue;
      LossModel model{loss.reason(), loss.detail(), stream->host(), rank_of(loss.process()), loss.count(),
                      stream->clock.seconds(static_cast<double>(loss.ticks())), false};
      model.loses_events = loss.count() > 0 && loses_calls(loss.reason());
      world->losses.push_back(model);
    }
    for (const v1::Note &note : stream->notes)
      if (concerns(note.process())) world->notes.push_back({stream->host(), note.text(), rank_of(note.process())});
    if (!stream->end)
      world->losses.push_back({"no end", "the file ends before the run did: it was cut, or the run is still going",
                               stream->host(), {}, 0, 0, true});
    else if (!stream->end->clean())
      world->losses.push_back({"unclean end", stream->end->detail(), stream->host(), {}, 0, 0, false});
    if (stream->clock.usable() && stream->clock.largest_realtime_step_ns() > 1000000)
      world->notes.push_back({stream->host(), fmt::format("the node's clock was set by {:.3f} s during the run",
                              static_cast<double>(stream->clock.largest_realtime_step_ns()) * 1e-9), {}});
    if (!stream->clock.usable())
      world->notes.push_back({stream->host(), "no clock anchors: no times can be shown for this node", {}});
  }
  for (const LoadedFile &file : set.files) {
    if (!file.error.empty()) world->losses.push_back({"unreadable file", file.error, "", {}, 0, 0, true});
    if (file.damage.damaged)
      world->losses.push_back({"damaged file", fmt::format("{}: {} at byte {} after {} whole frames; what precedes is shown",
                               file.path, file.damage.reason, file.damage.offset, file.damage.frames), "", {}, 0, 0, true});
  }
  std::vector<int> missing = world->missing_ranks();
  if (!missing.empty()) {
    std::string list;
    for (size_t i = 0; i < missing.size() && i < 8; ++i) list += fmt::format("{}{}", i ? ", " : "", missing[i]);
    if (missing.size() > 8) list += ", ...";
    world->losses.push_back({"missing ranks", fmt::format("{} of {} ranks left a trace; missing: {}", world->ranks.size(),
                             world->size, list), "", {}, 0, 0, true});
  }
}

void finish_world(World *world, const StreamSet &set) {
  std::sort(world->ranks.begin(), world->ranks.end(), [](const RankModel &a, const RankModel &b) { return a.rank < b.rank; });
  auto by_place = [](const RankModel &a, const RankModel &b) {
    return std::pair(a.host, a.record->info.pid()) < std::pair(b.host, b.record->info.pid());
  };
  std::sort(world->others.begin(), world->others.end(), by_place);
  std::set<const Stream *> used;
  std::set<std::string> hosts;
  for (const RankModel &rank : world->ranks) {
    used.insert(rank.stream);
    hosts.insert(rank.host);
    world->size = std::max(world->size, rank.record->info.world_size());
    for (const CallTotals &call : rank.calls) world->events += call.count;
  }
  for (const RankModel &rank : world->others) used.insert(rank.stream);
  for (const auto &stream : set.streams)
    if (used.count(stream.get())) world->streams.push_back(stream.get());
  world->hosts.assign(hosts.begin(), hosts.end());
  world->run = world->ranks.front().stream->run;
  world->label = step_label(world->run);
  if (!world->is_mpi) world->size = static_cast<int>(world->ranks.size());
  add_tasks(world);
  set_walls(world);
  add_losses(world, set);
}

/// A step without MPI: its processes take the place of ranks.
World world_of_processes(std::vector<RankModel> processes) {
  World world;
  std::sort(processes.begin(), processes.end(), [](const RankModel &a, const RankModel &b) {
    return std::pair(a.host, a.record->info.pid()) < std::pair(b.host, b.record->info.pid());
  });
  std::set<int> tasks;
  bool one_per_task = true;
  for (const RankModel &p : processes)
    one_per_task = one_per_task && p.record->info.has_slurm_procid() && tasks.insert(p.record->info.slurm_procid()).second;
  for (size_t i = 0; i < processes.size(); ++i)
    processes[i].rank = one_per_task ? processes[i].record->info.slurm_procid() : static_cast<int>(i);
  world.ranks = std::move(processes);
  return world;
}

void number_labels(std::vector<World> *worlds) {
  std::map<std::string, std::vector<World *>> by_label;
  for (World &world : *worlds) by_label[world.label].push_back(&world);
  for (auto &[label, same] : by_label) {
    std::stable_sort(same.begin(), same.end(), [](World *a, World *b) { return a->start_ns < b->start_ns; });
    for (size_t i = 1; i < same.size(); ++i) same[i]->label += fmt::format("/{}", i + 1);
  }
}

}  // namespace

std::vector<int> World::missing_ranks() const {
  std::vector<int> missing;
  if (!is_mpi) return missing;
  std::set<int> present;
  for (const RankModel &rank : ranks) present.insert(rank.rank);
  // A hostile file may claim any size: name the first ones only.
  for (int r = 0; r < size && missing.size() < 100000; ++r)
    if (!present.count(r)) missing.push_back(r);
  return missing;
}

std::string World::mpi_library() const {
  for (const RankModel &rank : ranks)
    if (!rank.record->info.mpi_library().empty()) return rank.record->info.mpi_library();
  return "";
}

std::vector<World> build_worlds(const StreamSet &set) {
  std::map<std::string, std::vector<RankModel>> mpi, plain;
  for (const auto &stream : set.streams)
    for (const auto &[id, record] : stream->processes) {
      if (!record.defined) continue;  // its description was lost with the damaged part
      RankModel rank = make_rank(*stream, id, record);
      if (rank.is_mpi) mpi[world_key(*stream, record.info)].push_back(std::move(rank));
      else plain[step_key(*stream)].push_back(std::move(rank));
    }

  std::vector<World> worlds;
  for (auto &[key, ranks] : mpi)
    for (std::vector<RankModel> &life : split_lives(std::move(ranks))) {
      World world;
      world.is_mpi = true;
      world.ranks = std::move(life);
      worlds.push_back(std::move(world));
    }
  for (auto &[key, processes] : plain) {
    // Beside ranks of the same step they are helpers (a script, a child); alone they are the run.
    auto host_world = std::find_if(worlds.begin(), worlds.end(), [&, step = key](const World &world) {
      return world.is_mpi && std::any_of(world.ranks.begin(), world.ranks.end(),
                                         [&](const RankModel &rank) { return step_key(*rank.stream) == step; });
    });
    if (host_world != worlds.end()) {
      for (RankModel &process : processes) host_world->others.push_back(std::move(process));
    } else {
      worlds.push_back(world_of_processes(std::move(processes)));
    }
  }
  for (World &world : worlds) finish_world(&world, set);
  number_labels(&worlds);
  std::stable_sort(worlds.begin(), worlds.end(), [](const World &a, const World &b) {
    if (a.is_mpi != b.is_mpi) return a.is_mpi;
    if (a.ranks.size() != b.ranks.size()) return a.ranks.size() > b.ranks.size();
    if (a.wall_s != b.wall_s) return a.wall_s > b.wall_s;
    return a.label < b.label;
  });
  return worlds;
}

}  // namespace slurmscope
