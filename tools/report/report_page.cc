// The page of `slurmscope report`: who and where, then the tables.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>

#include "tools/export/exporters.h"
#include "tools/report/report.h"

namespace slurmscope {
namespace {

/// Joins the parts that say something.
std::string joined(const std::vector<std::string> &parts, const char *separator = " · ") {
  std::string result;
  for (const std::string &part : parts)
    if (!part.empty()) result += (result.empty() ? "" : separator) + part;
  return result;
}

std::string labelled(const char *label, const std::string &value) {
  return value.empty() ? "" : fmt::format("{} {}", label, value);
}

std::string list_hosts(const std::vector<std::string> &hosts) {
  std::string result;
  for (size_t i = 0; i < hosts.size() && i < 6; ++i) result += (i ? ", " : "") + hosts[i];
  if (hosts.size() > 6) result += ", ...";
  return result;
}

std::string who(const World &world) {
  const v1::Run &run = world.run;
  std::string name = run.job_name().empty() ? "" : fmt::format("\"{}\"", run.job_name());
  std::string array = run.array_job().empty() ? "" : fmt::format("array {}_{}", run.array_job(), run.array_task());
  std::string restart = run.restart() > 0 ? fmt::format("restart {}", run.restart()) : "";
  std::string job = run.job().empty() ? "outside Slurm" : run.job();
  return joined({joined({job, name}, " "), labelled("step", world.label), array, restart, labelled("partition", run.partition()),
                 labelled("user", run.user()), labelled("cluster", run.cluster())});
}

/// "Open MPI v4.1.4, package: ..." -> "Open MPI v4.1.4"
std::string library_line(const std::string &text) { return text.substr(0, text.find_first_of(",\n")); }

std::string where(const World &world) {
  std::string nodes = fmt::format("{} node{} ({})", world.hosts.size(), world.hosts.size() == 1 ? "" : "s",
                                  list_hosts(world.hosts));
  std::string ranks = world.is_mpi ? fmt::format("{} rank{}", world.size, world.size == 1 ? "" : "s")
                                   : fmt::format("{} process{}, no MPI call seen", world.size, world.size == 1 ? "" : "es");
  return joined({nodes, ranks, library_line(world.mpi_library())});
}

std::string platform_of(const v1::Node &node) {
  const v1::Virtualization &v = node.virtualization();
  std::string machine = v.vm().empty() ? "virtualization unknown"
                        : v.vm() == "none" ? "bare metal" : fmt::format("virtual machine: {}", v.vm());
  if (!v.confidence().empty() && !v.vm().empty()) machine += fmt::format(" ({} confidence)", v.confidence());
  std::string container = v.container().empty() || v.container() == "none" ? "" : labelled("container", v.container());
  std::string cpus = node.cpus_online() == 0 ? "" : fmt::format("{} CPUs", node.cpus_online());
  std::string memory = node.memory_bytes() == 0 ? "" : bytes_text(static_cast<double>(node.memory_bytes()));
  std::string steal = v.steal().empty() ? "" : labelled("steal", v.steal());
  return joined({machine, container, node.cpu_model(), cpus, memory, labelled("kernel", node.kernel()),
                 labelled("clock", node.clock_source()), steal});
}

/// One line per kind of node: nodes of one kind share it.
std::vector<std::pair<std::string, std::string>> platforms(const World &world) {
  std::map<std::string, std::vector<std::string>> hosts;
  for (const Stream *stream : world.streams) hosts[platform_of(stream->node)].push_back(stream->host());
  std::vector<std::pair<std::string, std::string>> lines;
  for (auto &[text, names] : hosts) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    lines.emplace_back("platform", hosts.size() == 1 ? text : fmt::format("{}: {}", list_hosts(names), text));
  }
  return lines;
}

std::string method(const World &world) {
  const v1::Header &header = world.streams.front()->header;
  const char *mode = header.mode() == v1::Header::MODE_TRACE ? "trace" : "summary";
  uint64_t lost = 0;
  for (const LossModel &loss : world.losses)
    if (loss.loses_events) lost += loss.count;
  std::string present = world.is_mpi ? fmt::format("{} of {} ranks", world.ranks.size(), world.size) : "";
  return joined({fmt::format("{}, {} calls ({} lost)", mode, grouped(world.events), grouped(lost)), present, clock_error_text(world),
                 "slurmscope " + header.tool_version()});
}

std::string command_of(const World &world) {
  const v1::Process &info = world.ranks.front().record->info;
  std::string text;
  for (const std::string &argument : info.arguments()) {
    text += (text.empty() ? "" : " ") + printable(argument);
    if (text.size() > 300) break;  // 100 kB of arguments are not for a header
  }
  return text_width(text) > 180 ? cut_middle(text, 180) : text.empty() ? info.exe() : text;
}

std::string title(const RunModel &run, const World &world) {
  const v1::Process &info = world.ranks.front().record->info;
  std::string app = std::filesystem::path(info.exe()).filename().string();
  std::string id = info.build_id().empty() ? "" : info.build_id().substr(0, 8);
  return joined({"slurmscope report", joined({app.empty() ? "unknown program" : app, id}, " "), run.path});
}

void add_notes(const World &world, Page *page) {
  std::vector<int> missing = world.missing_ranks();
  if (!missing.empty())
    page->notes.push_back(fmt::format("{} of {} ranks left a trace: every sum and mean below is over those only",
                                      world.ranks.size(), world.size));
  bool overlap = false;
  for (const RankModel &rank : world.ranks) overlap = overlap || rank.categories[static_cast<size_t>(Category::kOverlap)] < 0;
  if (overlap)
    page->notes.push_back("some ranks made calls in several threads at once: their times add up to more than the wall "
                          "time; the excess is subtracted as 'overlap of threads'");
  std::set<std::string> said;
  for (const NoteModel &note : world.notes) {
    std::string where = note.rank ? fmt::format("rank {}: ", *note.rank) : note.host.empty() ? "" : note.host + ": ";
    if (said.insert(where + note.text).second) page->notes.push_back(where + note.text);
  }
}

}  // namespace

std::string utc_text(int64_t realtime_ns) {
  if (realtime_ns <= 0) return "";
  time_t seconds = static_cast<time_t>(realtime_ns / 1000000000);
  tm parts{};
  char text[40];
  if (!gmtime_r(&seconds, &parts) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) return "";
  return text;
}

Page make_report(const RunModel &run, const ReportOptions &options) {
  const World &world = run.chosen();
  Page page;
  page.title = title(run, world);
  page.head.emplace_back("job", who(world));
  page.head.emplace_back("where", where(world));
  for (auto &line : platforms(world)) page.head.push_back(line);
  std::string started = utc_text(world.start_ns);
  if (!started.empty()) page.head.emplace_back("started", started);
  page.head.emplace_back("command", command_of(world));
  page.head.emplace_back("method", method(world));
  if (std::string messages = messages_text(world); !messages.empty()) page.head.emplace_back("messages", messages);
  bool killed = std::any_of(world.ranks.begin(), world.ranks.end(), ended_badly);
  page.head.emplace_back("wall", fmt::format("{} s{}", seconds_text(world.wall_s),
                         killed ? " (until the last recorded call or exit; not every rank ended well)" : ""));
  bool loses = std::any_of(world.losses.begin(), world.losses.end(), [](const LossModel &loss) { return loss.loses_events; });
  if (loses)
    page.head.emplace_back("INCOMPLETE", "calls are missing from this trace (see LOSSES): counts and times of calls are lower "
                                         "bounds, compute is an upper bound");
  std::vector<Table> tables{category_table(world), rank_table(world, options), call_table(world, options),
                            site_table(world, options),
                            matrix_table(world, options), file_table(world, options), shared_file_table(world, options), counter_table(world, options),
                            function_table(world, options), gap_table(world, options), clock_table(world), end_table(world, options), loss_table(world),
                            other_worlds_table(run)};
  for (Table &table : tables)
    if (!table.rows.empty() || !table.notes.empty()) page.tables.push_back(std::move(table));
  add_notes(world, &page);
  return page;
}

}  // namespace slurmscope
