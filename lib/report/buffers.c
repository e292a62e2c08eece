/*
 * The command buffers: how much of the data of operations was in memory registered with NCCL. An operation
 * counts as registered on a rank if all buffers that it read or wrote there were registered when it was
 * called.
 */
#include "report/buffers.h"
#include "base/base.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"
#include "store/store.h"

#include <string.h>

/* Number of calls in a state, over all groups. */
static int64_t calls_in(const struct shares *shares, enum memory_state state)
{
    int64_t calls = 0;
    for (size_t i = 0; i < shares->count; i++)
        calls += shares->groups[i].state_calls[state];
    return calls;
}

static int64_t all_calls(const struct shares *shares)
{
    int64_t calls = 0;
    for (size_t i = 0; i < shares->count; i++)
        calls += shares->groups[i].calls;
    return calls;
}

static int caution_no_buffers(int64_t lacking, int64_t calls, struct table *table, struct error *error)
{
    return lacking ? table_add_warning(table, error,
                                       "%lld of %lld calls have no buffer addresses. Record with ncclprof "
                                       "record, or with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,REG",
                                       (long long)lacking, (long long)calls)
                   : 0;
}

static int caution_no_source(int64_t lacking, int64_t calls, struct table *table, struct error *error)
{
    return lacking
               ? table_add_warning(
                     table, error,
                     "registered memory is not recorded for %lld of %lld calls. NCCL 2.23 and later log it "
                     "with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,REG. With PyTorch's allocator hook, a "
                     "memory snapshot of each rank is enough (torch.cuda.memory._record_memory_history() at "
                     "the start, torch.cuda.memory._dump_snapshot('memory_rank0.pickle') at the end)",
                     (long long)lacking, (long long)calls)
               : 0;
}

static int caution_silent_log(const struct shares *shares, const struct registration_index *known,
                              struct table *table, struct error *error)
{
    return known->watched && !known->registrations && shares->source_calls[SOURCE_LOG]
               ? table_add_warning(table, error,
                                   "NCCL's log contains calls, but no registration: nothing was registered, "
                                   "unless NCCL_DEBUG_SUBSYS lacked REG or NCCL is older than 2.23")
               : 0;
}

int caution_snapshot_rule(int64_t calls, struct table *table, struct error *error)
{
    return table_add_warning(table, error,
                             "%lld call%s compared with allocator snapshots on the assumption that "
                             "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK=1 was set, which the traces do "
                             "not show. If it was not set, run ncclprof buffers --allocator-hook off",
                             (long long)calls, calls == 1 ? " is" : "s are");
}

static int buffers_cautions_caution_snapshot(const struct shares *shares,
                                             const struct registration_index *known, struct table *table,
                                             struct error *error)
{
    if (known->assumed && caution_snapshot_rule(known->assumed, table, error))
        return -1;
    if (shares->snapshot_calls_without_time &&
        table_add_warning(table, error,
                          "%lld call%s no wall-clock time to compare with a snapshot; memory that was "
                          "allocated later or freed earlier counts as registered there",
                          (long long)shares->snapshot_calls_without_time,
                          shares->snapshot_calls_without_time == 1 ? " has" : "s have"))
        return -1;
    return known->unmatched_snapshots
               ? table_add_warning(table, error,
                                   "%lld allocator snapshot%s ignored because the rank is unknown. Put the "
                                   "rank into the file name (memory_rank0.pickle), and the file into the "
                                   "directory of the traces or a directory above it",
                                   (long long)known->unmatched_snapshots,
                                   known->unmatched_snapshots == 1 ? " is" : "s are")
               : 0;
}

/* Warns about what the result is based on, what the trace lacks, and what would record it. */
static int caution_buffers(const struct shares *shares, const struct registration_index *known,
                           struct table *table, struct error *error)
{
    int64_t calls = all_calls(shares);
    return caution_no_buffers(calls_in(shares, MEMORY_NO_BUFFERS), calls, table, error) ||
                   caution_no_source(calls_in(shares, MEMORY_NO_SOURCE), calls, table, error) ||
                   caution_silent_log(shares, known, table, error) ||
                   buffers_cautions_caution_snapshot(shares, known, table, error)
               ? -1
               : 0;
}

enum { OPTION_BY, OPTION_HOOK, OPTION_RUN };

static const struct analysis_option options[] = {
    {"by", 0, "KEY,...",
     "group by these keys, in this order: communicator, tag, function, size, rank, step, run",
     "communicator,tag,function"},
    {"allocator-hook", 0, "auto|on|off",
     "assume that TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK was set (on) or not set (off); matters only "
     "if registrations are known from an allocator snapshot alone; auto: read it from the traces, else "
     "assume on",
     "auto"},
    RUN_OPTION,
};

static const char *const key_names[SHARE_KEYS] = {"communicator", "tag",  "function", "size",
                                                  "rank",         "step", "run"};

static const struct column key_columns[SHARE_KEYS] = {
    COMMUNICATOR_COLUMN,
    TAG_COLUMN,
    {.name = "function", .type = CELL_TEXT, .description = "collective, Send or Recv"},
    SIZE_COLUMN,
    RANK_COLUMN,
    STEP_COLUMN,
    RUN_COLUMN,
};

/* Stands beside the rank. */
static const struct column process_column = PROCESS_COLUMN;

enum {
    CALLS,
    BYTES,
    JUDGED,
    REGISTERED_CALLS,
    REGISTERED,
    REGISTERED_SHARE,
    USED_SHARE,
    FAILED,
    LOST,
    REASON,
    VALUES
};

static const struct column value_columns[VALUES] = {
    [CALLS] = {.name = "calls", .type = CELL_INTEGER, .description = "records of single ranks"},
    [BYTES] = {.name = "bytes",
               .type = CELL_INTEGER,
               .unit = "bytes",
               .description = "bytes of the calls: element count x element size, as passed to NCCL"},
    [JUDGED] = {.name = "judged_bytes",
                .type = CELL_INTEGER,
                .unit = "bytes",
                .hidden = 1,
                .description = "bytes of calls whose buffers and registrations are known"},
    [REGISTERED_CALLS] = {.name = "registered_calls",
                          .type = CELL_INTEGER,
                          .hidden = 1,
                          .description = "calls with all their buffers registered"},
    [REGISTERED] = {.name = "registered_bytes",
                    .type = CELL_INTEGER,
                    .unit = "bytes",
                    .detail = 1,
                    .description = "bytes of these calls"},
    [REGISTERED_SHARE] = {.name = "registered_share",
                          .type = CELL_REAL,
                          .decimals = 3,
                          .description = "registered_bytes / judged_bytes; null: nothing is known"},
    [USED_SHARE] = {.name = "used_share",
                    .type = CELL_REAL,
                    .decimals = 3,
                    .description = "share of the bytes for which NCCL's log reports that the registration "
                                   "was used (IPC, NET, NVLS, COLLNET); null: no log"},
    [FAILED] = {.name = "failed_calls",
                .type = CELL_INTEGER,
                .hidden = 1,
                .description = "calls for which NCCL tried to use a registration and failed"},
    [LOST] = {.name = "lost_us",
              .type = CELL_REAL,
              .unit = "us",
              .decimals = 1,
              .detail = 1,
              .description =
                  "extra time of operations on other memory: time above the median of registered ones of the "
                  "same communicator, function and size; null: one of the two kinds is missing"},
    [REASON] = {.name = "reason",
                .type = CELL_TEXT,
                .description = "why calls did not use registered memory, or why this is unknown"},
};

static int parse_keys(struct shares *shares, const char *text, struct error *error)
{
    size_t numbers[SHARE_KEYS];
    int failed = option_keys(text, key_names, SHARE_KEYS, numbers, &shares->by_count, error);
    for (size_t i = 0; i < shares->by_count; i++)
        shares->by[i] = (enum share_key)numbers[i];
    return failed;
}

static const char *const hook_words[] = {[HOOK_NOT_SAID] = "auto", [HOOK_ON] = "on", [HOOK_OFF] = "off"};

enum { HOOK_WORDS = sizeof hook_words / sizeof *hook_words };

static int parse_hook(const char *text, enum hook_state *hook, struct error *error)
{
    for (int i = 0; i < HOOK_WORDS; i++)
        if (strcmp(text, hook_words[i]) == 0) {
            *hook = (enum hook_state)i;
            return 0;
        }
    return error_set(error, "invalid --allocator-hook '%s': expected auto, on or off", text);
}

static int show_rank(const struct roster *roster, int64_t number, size_t column, struct table *table,
                     struct error *error)
{
    if (roster->ranks[number].global_rank >= 0)
        table_set_integer(table, column, roster->ranks[number].global_rank);
    return table_set_text(table, column + 1, roster->ranks[number].name, error);
}

static int show_key(const struct shares *shares, const struct roster *roster, enum share_key key,
                    int64_t value, size_t column, struct table *table, struct error *error)
{
    if (value < 0)
        return 0;
    if (key == SHARE_RANK)
        return show_rank(roster, value, column, table, error);
    if (share_key_is_text(key))
        return table_set_text(table, column, intern_text(&shares->texts, value), error);
    table_set_integer(table, column, value);
    return 0;
}

/* A phrase for the text output: "not registered". */
static const char *memory_state_text(enum memory_state state)
{
    static const char *const texts[MEMORY_STATES] = {
        [MEMORY_REGISTERED] = "registered",
        [MEMORY_NOT_REGISTERED] = "not registered",
        [MEMORY_LATER] = "registered later",
        [MEMORY_FREED] = "freed before",
        [MEMORY_STRADDLES] = "straddles two segments",
        [MEMORY_PARTLY] = "only partly registered",
        [MEMORY_EXPANDABLE] = "in an expandable segment",
        [MEMORY_HOOK_OFF] = "allocator hook is off",
        [MEMORY_AFTER_SNAPSHOT] = "allocated after the snapshot",
        [MEMORY_NO_BUFFERS] = "buffers not recorded",
        [MEMORY_NO_SOURCE] = "registrations not recorded",
    };
    return texts[state];
}

/*
 * Appends the reasons, the one with the most bytes first: "not registered (12 calls), registered later (1
 * call)".
 */
static int write_reason(const struct share_group *group, struct buffer *text)
{
    int told[MEMORY_STATES] = {[MEMORY_REGISTERED] = 1}, failed = 0;
    for (;;) {
        int most = -1;
        for (int i = 0; i < MEMORY_STATES; i++)
            if (!told[i] && group->state_calls[i] &&
                (most < 0 || group->state_bytes[i] > group->state_bytes[most]))
                most = i;
        if (most < 0)
            break;
        told[most] = 1;
        int64_t calls = group->state_calls[most];
        failed |= buffer_printf(text, "%s%s (%lld call%s)", text->length ? ", " : "",
                                memory_state_text((enum memory_state)most), (long long)calls,
                                calls == 1 ? "" : "s");
    }
    if (group->failed_calls)
        failed |= buffer_printf(text, "%sNCCL could not use the registration (%lld call%s)",
                                text->length ? ", " : "", (long long)group->failed_calls,
                                group->failed_calls == 1 ? "" : "s");
    return failed;
}

static int show_reason(const struct share_group *group, size_t column, struct table *table,
                       struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int failed = write_reason(group, &text) ? error_no_memory(error) : 0;
    if (!failed && text.length)
        failed = table_set_text(table, column, text.data, error);
    buffer_release(&text);
    return failed;
}

static void show_share(struct table *table, size_t column, int64_t part, int64_t of)
{
    if (of > 0)
        table_set_real(table, column, (double)part / (double)of);
}

static void show_values(const struct share_group *group, size_t at, struct table *table)
{
    table_set_integer(table, at + CALLS, group->calls);
    table_set_integer(table, at + BYTES, group->bytes);
    table_set_integer(table, at + JUDGED, group->judged_bytes);
    if (group->judged_bytes) {
        table_set_integer(table, at + REGISTERED_CALLS, group->registered_calls);
        table_set_integer(table, at + REGISTERED, group->registered_bytes);
    }
    show_share(table, at + REGISTERED_SHARE, group->registered_bytes, group->judged_bytes);
    show_share(table, at + USED_SHARE, group->used_bytes, group->usable_bytes);
    table_set_integer(table, at + FAILED, group->failed_calls);
    if (group->compared)
        table_set_real(table, at + LOST, group->lost_ns / 1e3);
}

static int show_group(const struct shares *shares, const struct roster *roster,
                      const struct share_group *group, struct table *table, struct error *error)
{
    size_t at = 0;
    if (table_add_row(table, error))
        return -1;
    for (size_t i = 0; i < shares->by_count; i++) {
        if (show_key(shares, roster, shares->by[i], group->key[i], at, table, error))
            return -1;
        at += shares->by[i] == SHARE_RANK ? 2 : 1;
    }
    show_values(group, at, table);
    return show_reason(group, at + REASON, table, error);
}

static int show(struct shares *shares, const struct roster *roster, struct table *table, struct error *error)
{
    for (size_t i = 0; i < shares->by_count; i++)
        if (table_add_column(table, key_columns[shares->by[i]], error) ||
            (shares->by[i] == SHARE_RANK && table_add_column(table, process_column, error)))
            return -1;
    if (table_add_columns(table, value_columns, VALUES, error))
        return -1;
    if (shares_sort(shares))
        return error_no_memory(error);
    for (size_t i = 0; i < shares->count; i++)
        if (show_group(shares, roster, &shares->groups[i], table, error))
            return -1;
    return 0;
}

/* Adds the run as a key, so that runs of different jobs do not share a row. */
static void separate_runs(struct shares *shares, const struct runs *runs)
{
    for (size_t i = 0; i < shares->by_count; i++)
        if (shares->by[i] == SHARE_RUN)
            return;
    if (runs->count > 1)
        shares->by[shares->by_count++] = SHARE_RUN;
}

static int read_and_show(struct shares *shares, struct registration_index *known, struct store *store,
                         const struct runs *runs, struct table *table, struct error *error)
{
    separate_runs(shares, runs);
    return shares_read(shares, known, store, runs->only, error) ||
           shares_cost(shares, known, store, runs->only, error) ||
           show(shares, known->roster, table, error) || caution_buffers(shares, known, table, error) ||
           caution_no_operations(store, runs, table, error);
}

static int load_and_show(struct shares *shares, const struct analysis_request *request,
                         const struct runs *runs, enum hook_state hook, struct table *table,
                         struct error *error)
{
    struct roster roster = {0};
    struct registration_index known = {.roster = &roster};
    int failed = roster_load(&roster, request->store, runs->only, error) ||
                 roster_load_members(&roster, request->store, runs->only, error) ||
                 known_memory_load(&known, request->store, &roster, runs->only, hook, error) ||
                 read_and_show(shares, &known, request->store, runs, table, error);
    known_memory_release(&known);
    roster_release(&roster);
    return failed;
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct shares shares;
    struct runs runs = {0};
    enum hook_state hook = HOOK_NOT_SAID;
    shares_init(&shares);
    if (request->filter)
        shares.filter = request->filter;
    *usage = parse_keys(&shares, request->values[OPTION_BY], error) ||
             parse_hook(request->values[OPTION_HOOK], &hook, error);
    int failed = *usage || runs_choose(&runs, request, OPTION_RUN, &result->table, error) ||
                 load_and_show(&shares, request, &runs, hook, &result->table, error);
    runs_release(&runs);
    shares_release(&shares);
    return failed ? -1 : 0;
}

static const char *option_word(size_t option, size_t number)
{
    if (option == OPTION_BY)
        return number < SHARE_KEYS ? key_names[number] : NULL;
    return option == OPTION_HOOK && number < HOOK_WORDS ? hook_words[number] : NULL;
}

const struct analysis analysis_buffers = {
    .name = "buffers",
    .summary = "show the use of registered memory, and why it was not used",
    .description =
        "If a buffer is registered, NCCL can move the data without copying it first. Buffer addresses come "
        "from traces of the bundled plugin or from NCCL's log (NCCL_DEBUG_SUBSYS=COLL). Registrations come "
        "from that log (REG) or from snapshots of PyTorch's CUDA allocator.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .word = option_word,
    .filters_itself = 1,
    .run = run,
};
