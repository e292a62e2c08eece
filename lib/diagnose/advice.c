/*
 * The kinds of findings, each with its name, headline and "Next:" line: what to look at on the machine, and
 * the ncclprof command that confirms it. Also the text for hangs in which the trace cannot tell which rank
 * the others wait for.
 *
 * A new kind, FINDING_FOO, takes a line in enum finding_kind (lib/diagnose/rule.h), a row in finding_kinds
 * below, and the following:
 * - lib/hang/ or lib/diagnose/: code that finds it
 * - lib/diagnose/finding_place.c: the part to look at, in part_to_look_at
 * - tests/unit/: an input on which it is found, and one on which it is not
 * - man/ncclprof-diagnose.1: an item under "Kinds of findings"
 * - README.md: a row under "What to do with a finding"
 * - schemas/output/: `make golden` lists it as a kind
 */
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <string.h>

/* Appends " --step 4-8". */
static int append_steps(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int first = (int)job_run_step(job, finding->first_step),
        last = (int)job_run_step(job, finding->last_step);
    if (finding->first_step < 0)
        return 0;
    return first == last ? buffer_printf(text, " --step %d", first)
                         : buffer_printf(text, " --step %d-%d", first, last);
}

/* A command of the user may read a name of the trace as an option. */
static int is_option(const char *word)
{
    return !*word || *word == '-';
}

/* Appends " --communicator 5,7", that of the operation in which it shows first. */
static int append_communicator(const struct finding *finding, const struct job *job, struct buffer *text)
{
    if (finding->instance < 0)
        return 0;
    const char *label = job->communicators[job->instances[finding->instance].communicator].label;
    return is_option(label) ? 0
                            : buffer_append_text(text, " --communicator ") || text_shell_word(text, label);
}

/* Appends "host node1 (rank 7)" or "the host of rank 7". */
static int append_host(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *host = finding_host(finding, job);
    if (finding_whole_host(finding, job))
        return finding_name_ranks(finding, job, text);
    if (host)
        return buffer_printf(text, "host %s (", host) || finding_name_ranks(finding, job, text) ||
               buffer_append_byte(text, ')');
    if (finding_is_of_any(finding, job))
        return buffer_append_text(text, "all hosts");
    return buffer_append_text(text, finding->rank_count > 1 ? "the hosts of " : "the host of ") ||
           finding_name_ranks(finding, job, text);
}

/* Appends " -i 0000:1b:00.0" or " of CUDA device 3", for a single rank. */
static int append_gpu(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const struct roster_facts *facts = finding_facts(finding, job);
    if (facts && facts->gpu_bus_id && !is_option(facts->gpu_bus_id))
        return buffer_append_text(text, " -i ") || text_shell_word(text, facts->gpu_bus_id);
    return facts && facts->host && facts->gpu != COUNT_UNKNOWN
               ? buffer_printf(text, " of CUDA device %lld", (long long)facts->gpu)
               : 0;
}

static int advise_compute(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return buffer_append_text(text, "check nvidia-smi -q") || append_gpu(finding, job, text) ||
           buffer_append_text(text, " (clocks, throttling, ECC) and dmesg (Xid) on ") ||
           append_host(finding, job, text);
}

static int advise_start(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return buffer_append_text(text,
                              "check the launcher's log, imports, container image and file system on ") ||
           append_host(finding, job, text);
}

static int advise_cpu(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return buffer_append_text(text,
                              "check other processes (top), CPU limits (cgroup cpu.max, cpu.stat) and "
                              "CPU binding (taskset -p, NCCL_IGNORE_CPU_AFFINITY) on ") ||
           append_host(finding, job, text);
}

static int advise_host(const struct finding *finding, const struct job *job, struct buffer *text)
{
    if (finding->at_start)
        return advise_start(finding, job, text);
    if (finding->notice_ns || finding->waits_for_cores)
        return advise_cpu(finding, job, text);
    if (finding->pause_ns)
        return buffer_append_text(text,
                                  "check for a stopped or frozen process (SIGSTOP, debugger, cgroup "
                                  "freezer), swapping, a paused virtual machine and slow files on ") ||
               append_host(finding, job, text);
    return buffer_append_text(text, "check py-spy dump, CPU load and data loading on ") ||
           append_host(finding, job, text);
}

static int advise_late(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int is_absent = finding_is_absent(finding, job);
    return buffer_append_text(text, is_absent ? "add the trace of " : "record call times (") ||
           (is_absent ? finding_name_ranks(finding, job, text)
                      : buffer_append_text(text, "NCCL_INSPECTOR_DUMP_VERBOSE=1)")) ||
           buffer_append_text(text, "; check nvidia-smi -q, py-spy dump and CPU load on ") ||
           append_host(finding, job, text);
}

static int advise_network(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const struct roster_facts *facts = finding_facts(finding, job);
    const char *nic = finding->nic ? finding->nic : facts ? facts->nic : NULL;
    return buffer_append_text(text,
                              "check NIC counters (ethtool -S, rdma statistic) and the switch port of ") ||
           (nic && buffer_printf(text, "%s on ", nic)) || append_host(finding, job, text);
}

/* For an operation that the host called and that did not end on the GPU. */
static int advise_gpu(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return buffer_append_text(text, "check nvidia-smi -q") || append_gpu(finding, job, text) ||
           buffer_append_text(text, " and dmesg (Xid) on ") || append_host(finding, job, text);
}

static int advise_missing(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *host = finding_host(finding, job);
    if (finding->never_ended)
        return advise_gpu(finding, job, text);
    if (finding->is_unrecorded &&
        (buffer_append_text(text, "add the logs, dumps or traces of ") ||
         finding_name_ranks(finding, job, text) || buffer_append_text(text, ", if they exist; ")))
        return -1;
    if (finding->creation_fault)
        return buffer_append_text(text, "check py-spy dump and stderr of ") ||
               (finding_holds_of_all(finding) ? finding_name_all(finding, job, text)
                                              : finding_name_ranks(finding, job, text)) ||
               buffer_append_text(text,
                                  ", and which network cards they use (NCCL_IB_HCA, NCCL_SOCKET_IFNAME)");
    return buffer_append_text(text, "check py-spy dump and stderr of ") ||
           finding_name_ranks(finding, job, text) || (host && buffer_printf(text, " on host %s", host)) ||
           buffer_printf(text, " to locate %s in the program", finding->rank_count > 1 ? "them" : "it");
}

static int advise_mismatch(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return buffer_append_text(text, "find the code path that ") || finding_name_ranks(finding, job, text) ||
           buffer_append_text(text, " took in the program");
}

static int advise_ended(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return buffer_append_text(text, "check stderr, dmesg (out of memory, Xid) and the scheduler's log on ") ||
           append_host(finding, job, text);
}

static int advise_error(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return buffer_append_text(text, "check the log around that line, stderr and dmesg (Xid) on ") ||
           append_host(finding, job, text);
}

const struct finding_kind_text finding_kinds[FINDING_KINDS] = {
    [FINDING_COMPUTE] = {"compute",
                         {{"GPU of ", "GPUs of "},
                          {" computes longer than its peers", " compute longer than their peers"}},
                         advise_compute},
    [FINDING_HOST] = {"host",
                      {{"host of ", "hosts of "}, {" enqueues operations late", " enqueue operations late"}},
                      advise_host},
    [FINDING_LATE] = {"late",
                      {{"", ""}, {" joins its operations late", " join their operations late"}},
                      advise_late},
    [FINDING_NETWORK] = {"network",
                         {{"sends from ", "sends from "}, {" are slow", " are slow"}},
                         advise_network},
    [FINDING_MISSING] = {"missing",
                         {{"", ""},
                          {" never joined an operation that other ranks wait in",
                           " never joined an operation that other ranks wait in"}},
                         advise_missing},
    [FINDING_MISMATCH] = {"mismatch",
                          {{"", ""},
                           {" made a call that does not match the calls of the other ranks",
                            " made a call that does not match the calls of the other ranks"}},
                          advise_mismatch},
    [FINDING_ENDED_EARLY] = {"ended_early",
                             {{"", ""},
                              {" ended long before the other ranks", " ended long before the other ranks"}},
                             advise_ended},
    [FINDING_ERROR] = {"error", {{"", ""}, {" reported ", " reported "}}, advise_error}};

const char *finding_kind_name(enum finding_kind kind)
{
    return finding_kinds[kind].name;
}

/* What the first cause with an advice says: it knows more than the kind of the finding. */
static int advise_cause(const struct finding *finding, struct buffer *text)
{
    for (size_t i = 0; i < finding->cause_count; i++) {
        const struct cause *cause = &finding->causes[i];
        if (cause->rule->advice)
            return buffer_append_text(text, cause->rule->advice) ||
                   (cause->host ? buffer_printf(text, "host %s", cause->host)
                                : buffer_append_text(text, "the host"));
    }
    return 0;
}

int finding_advise(const struct finding *finding, const struct job *job, struct buffer *text)
{
    size_t before = text->length;
    if (advise_cause(finding, text))
        return -1;
    if (text->length > before)
        return 0;
    return finding_kinds[finding->kind].advise(finding, job, text) ? -1 : 0;
}

/* A table of more ranks or links is cut after this many rows; those at fault come first. */
enum { ROWS_SHOWN = 16 };

/* Appends " --top 16" if the table may have more rows. */
static int append_top(const struct finding *finding, const struct job *job, struct buffer *text)
{
    size_t blamed =
        finding->rank_count > finding->candidate_count ? finding->rank_count : finding->candidate_count;
    return job->rank_count > ROWS_SHOWN && blamed < ROWS_SHOWN / 2
               ? buffer_printf(text, " --top %d", ROWS_SHOWN)
               : 0;
}

/* The ranks at fault and their peers: own delay, progress, and the cost of the finding. */
static int append_ranks(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return buffer_append_text(text, "steps --by rank") ||
           (!finding_is_reported(finding) && buffer_append_text(text, " --all")) ||
           append_steps(finding, job, text) || append_top(finding, job, text);
}

/*
 * Without network steps the stalls command has nothing to show. Its rows are links that stalled in the steps
 * asked for; without steps, the usual links are there, too.
 */
int finding_append_words(const struct finding *finding, const struct job *job, struct buffer *text)
{
    if (finding->kind == FINDING_ERROR || finding->broke)
        return buffer_append_text(text, "info --warnings");
    if (finding->at_start || finding->creation_fault)
        return buffer_append_text(text, "startup");
    if (finding->kind == FINDING_NETWORK && job->traffic_count)
        return buffer_printf(text, "stalls --top %d", ROWS_SHOWN);
    if (finding->kind == FINDING_MISMATCH)
        return buffer_append_text(text, "report --by rank,function,size") ||
               append_communicator(finding, job, text) || append_steps(finding, job, text);
    return append_ranks(finding, job, text);
}

int finding_append_command(const struct finding *finding, const struct job *job, struct buffer *text)
{
    struct buffer words = BUFFER_INIT;
    int is_of_store = finding->kind == FINDING_ERROR || finding->broke; /* `info` shows all runs */
    int failed = finding_append_words(finding, job, &words) ||
                 store_append_command(job->store, words.data, is_of_store ? 0 : job->run_id, text);
    buffer_release(&words);
    return failed ? -1 : 0;
}

int finding_append_next(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return finding_advise(finding, job, text) || buffer_append_text(text, ". Confirm with: ") ||
                   finding_append_command(finding, job, text)
               ? -1
               : 0;
}

/* At most this many ranks are named; more are counted. */
enum { RANKS_NAMED = 8 };

/* The members of the communicator that hangs. */
struct attendance_count {
    const struct job_instance *instance;
    int64_t size;     /* its size if recorded, otherwise a lower bound */
    int64_t recorded; /* members that left a record */
    int is_sized;     /* its size is recorded */
};

static int is_recorded(const struct job_rank *rank)
{
    return rank->process_id >= 0 && (rank->count || rank->reports_progress);
}

static struct attendance_count count_members(const struct unexplained_hang *hang, const struct job *job)
{
    const struct job_instance *instance = &job->instances[hang->instance];
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    struct attendance_count count = {
        .instance = instance, .size = communicator->size, .is_sized = communicator->size_is_known};
    for (size_t i = 0; i < communicator->member_list_count; i++)
        count.recorded += is_recorded(&job->ranks[communicator->member_list[i].rank]);
    return count;
}

static int is_called_by_all(const struct attendance_count *count)
{
    return count->recorded >= count->size && count->instance->members >= count->instance->expected;
}

/*
 * Appends "Only 1 of 4 ranks has a record"; for a communicator of unknown size "Only 1 rank has a record, and
 * ...".
 */
static int append_recorded(const struct attendance_count *count, struct buffer *text)
{
    long long recorded = (long long)count->recorded;
    const char *has = recorded == 1 ? "has" : "have";
    if (count->is_sized)
        return buffer_printf(text, "%s%lld of %lld ranks %s a record",
                             count->recorded < count->size ? "Only " : "", recorded, (long long)count->size,
                             has);
    return buffer_printf(text, "Only %lld rank%s %s a record, and no record shows how many ranks there are",
                         recorded, recorded == 1 ? "" : "s", has);
}

int hang_append_reason(const struct unexplained_hang *hang, const struct job *job, struct buffer *text)
{
    struct attendance_count count = count_members(hang, job);
    if (text_operation(text, job, count.instance, count.instance->function))
        return -1;
    if (!is_called_by_all(&count))
        return buffer_append_text(text, " never finished. ") || append_recorded(&count, text);
    if (!count.is_sized)
        return buffer_printf(text,
                             " never finished. The %lld rank%s with a record called it, and no record shows "
                             "how many ranks there are",
                             (long long)count.recorded, count.recorded == 1 ? "" : "s");
    return buffer_append_text(text,
                              " was called by all its ranks and never finished. The trace does not show why. "
                              "Possible causes: the network, the transport between GPUs (P2P, NVLink), a "
                              "GPU, or a difference that is not recorded (sizes, roots)");
}

/* Appends " (1, 2, 5, 6 and 7)", the ranks of the job without a record, if their number is `count`. */
static int name_unrecorded(const struct job *job, int64_t count, struct buffer *text)
{
    int64_t named = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        named += !is_recorded(&job->ranks[i]);
    if (named != count || count > RANKS_NAMED)
        return 0;
    named = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (is_recorded(&job->ranks[i]))
            continue;
        named++;
        if (buffer_append_text(text, named == 1       ? " ("
                                     : named == count ? " and "
                                                      : ", ") ||
            buffer_append_text(text, job->ranks[i].name))
            return -1;
    }
    return named ? buffer_append_byte(text, ')') : 0;
}

int hang_append_remedy(const struct unexplained_hang *hang, const struct job *job, struct buffer *text)
{
    struct attendance_count count = count_members(hang, job);
    int64_t lacking = count.size - count.recorded;
    if (is_called_by_all(&count) && count.is_sized)
        /* Dumps without timing do not show which GPUs started a call. */
        return buffer_append_text(text,
                                  job->calls && !job->timed_operations
                                      ? "set TORCH_NCCL_ENABLE_TIMING=1, so that the next dump shows which "
                                        "GPUs started it; NCCL_DEBUG=INFO logs show the transport"
                                      : "set NCCL_DEBUG=INFO: its logs show the transport");
    if (!count.is_sized || lacking < 1)
        return buffer_append_text(text, "add the logs, dumps or traces of the other ranks");
    return buffer_append_text(text, "add the logs, dumps or traces of the other ") ||
                   (lacking > 1 && buffer_printf(text, "%lld ", (long long)lacking)) ||
                   buffer_append_text(text, lacking == 1 ? "rank" : "ranks") ||
                   name_unrecorded(job, lacking, text)
               ? -1
               : 0;
}
