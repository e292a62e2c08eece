/*
 * Reads torch's messages line by line: joins broken records, and recognizes errors, desync reports,
 * tracebacks and the messages of launchers about ended processes.
 */
#include "base/base.h"
#include "format/internal.h"
#include "format/torch/torch.h"
#include "model/model.h"

#include <string.h>

enum { RANK_DIGITS_MOST = 7 };

/* The number after a mark and spaces; COUNT_UNKNOWN. */
static int64_t number_after(struct text line, const char *mark)
{
    struct text behind = text_after(line, mark);
    size_t at = 0, digits = 0;
    int64_t number = 0;
    while (at < behind.length && behind.data[at] == ' ')
        at++;
    for (; at < behind.length && is_digit(behind.data[at]); at++, digits++)
        number = digits < RANK_DIGITS_MOST ? number * 10 + (behind.data[at] - '0') : number;
    return digits && digits <= RANK_DIGITS_MOST ? number : COUNT_UNKNOWN;
}

/* Ended by a signal that is not sent because another rank failed. */
static int is_ended(struct text line)
{
    static const char *const marks[] = {"Segmentation fault", "Bus error", "Out Of Memory",
                                        "Illegal instruction", NULL};
    return text_contains_any(line, marks);
}

/* A launcher that ends a job kills the remaining processes. */
static int is_killed(struct text line)
{
    static const char *const marks[] = {": Killed", "(Killed)", NULL};
    return text_contains_any(line, marks);
}

/* A task ended by itself, or the launcher ended the step: later kills follow from that. */
static int ends_step(struct text line)
{
    static const char *const marks[] = {
        "Exited with exit code ", ": Aborted",        ": Terminated", "erminating ", "orce Terminated",
        "Job step aborted",       "erminated StepId", " CANCELLED ",  NULL};
    return (text_contains(line, "srun: ") || text_contains(line, "slurmstepd: ")) &&
           (text_contains_any(line, marks) || is_ended(line));
}

/* "exitcode  : -9": killed, bus error, segmentation fault. */
static int is_ended_by_code(struct text line)
{
    int64_t signal = number_after(line, ": -");
    return signal == 4 || signal == 7 || signal == 9 || signal == 11;
}

/*
 * The number after a mark, if the line reports that a process ended and was not killed because of another
 * one.
 */
static int64_t ended_behind(const struct launcher_state *state, struct text line, const char *mark)
{
    int is_first = is_ended(line) || (is_killed(line) && !state->is_step_ended);
    return is_first ? number_after(line, mark) : COUNT_UNKNOWN;
}

static int64_t ended_task(struct launcher_state *state, struct text line)
{
    int64_t task = COUNT_UNKNOWN;
    if (text_contains(line, "srun: error: "))
        task = ended_behind(state, line, ": task ");
    else if (text_contains(line, "noticed that process rank "))
        task = ended_behind(state, line, "noticed that process rank ");
    state->is_step_ended |= ends_step(line);
    return task;
}

/*
 * Whether a line shows that torchrun, or a similar launcher, started the ranks of a host: a task may then be
 * several ranks.
 */
static int launcher_starts_several(struct text line)
{
    static const char *const marks[] = {"(local_rank: ",
                                        "torchrun",
                                        "torch.distributed.elastic",
                                        "torch/distributed/elastic",
                                        "torch.distributed.run",
                                        "torch/distributed/run.py",
                                        "torch.distributed.launch",
                                        "deepspeed.launcher",
                                        NULL};
    return text_begins(line, "[default") || text_contains_any(line, marks);
}

/*
 * The global rank that ended by this line; COUNT_UNKNOWN. For a task (`is_task`) it is the task's number,
 * which is the rank only if no task starts several ranks.
 */
static int64_t launcher_ended_rank(struct launcher_state *state, struct text line, int *is_task)
{
    int64_t rank = ended_task(state, line);
    *is_task = rank != COUNT_UNKNOWN;
    if (*is_task)
        return rank;
    if (text_contains(line, "(local_rank: ") && text_contains(line, "rank ")) {
        state->rank = number_after(line, " :");
        return COUNT_UNKNOWN;
    }
    if (text_contains(line, "exitcode ") && text_contains(line, "(pid: ")) {
        rank = is_ended_by_code(line) ? state->rank : COUNT_UNKNOWN;
        state->rank = COUNT_UNKNOWN;
    }
    return rank;
}

/* Limits on the bytes of a record, and on the lines that it is broken into. */
enum { RECORD_BYTES_MOST = 4096, LINES_MOST = 16 };

/* No terminal is narrower. */
enum { WIDTH_LEAST = 40 };

static void wrapped_record_init(struct wrapped_record *record)
{
    *record = (struct wrapped_record){.text = BUFFER_INIT};
}

static void wrapped_record_release(struct wrapped_record *record)
{
    buffer_release(&record->text);
}

/* Starts a record with this line. Returns -1 if memory is out. */
static int wrapped_record_begin(struct wrapped_record *record, struct text line, uint64_t offset)
{
    int64_t prefix = watchdog_prefix(line);
    buffer_clear(&record->text);
    record->offset = offset;
    record->lines = 1;
    record->prefix = prefix > 0 ? (size_t)prefix : 0;
    record->last_line = line.length;
    return buffer_append(&record->text, line.data, line.length);
}

/* Removes the launcher's prefix from a continuation line. */
static struct text wrapped_record_strip(const struct wrapped_record *record, struct text line)
{
    size_t prefix = record->prefix;
    return prefix && line.length >= prefix && memcmp(line.data, record->text.data, prefix) == 0
               ? (struct text){line.data + prefix, line.length - prefix}
               : line;
}

/* If lines are broken at a fixed width, a number at the end of a line may continue on the next. */
static int may_break_number(const struct wrapped_record *record, struct text rest)
{
    return record->last_line == record->width && is_digit(record->text.data[record->text.length - 1]) &&
           is_digit(rest.data[0]);
}

/* Adds a line if it continues the held record. Returns 1; 0 if it does not; -1 if memory is out. */
static int wrapped_record_add(struct wrapped_record *record, struct text line)
{
    struct text rest = wrapped_record_strip(record, line);
    if (!record->lines || record->lines == LINES_MOST || record->last_line < WIDTH_LEAST || !rest.length ||
        line.length > record->last_line || watchdog_prefix(line) >= 0 ||
        record->text.length + rest.length > RECORD_BYTES_MOST)
        return 0;
    if (!watchdog_is_cut((struct text){record->text.data, record->text.length}) &&
        !may_break_number(record, rest))
        return 0;
    record->width = record->last_line;
    record->last_line = line.length;
    record->lines++;
    return buffer_append(&record->text, rest.data, rest.length) ? -1 : 1;
}

/* How many lines after an error give its cause: NCCL's name of the error, "Last error:", and its text. */
enum { LINES_OF_FAILURE = 4 };

/* Limit on the stored text of an error. */
enum { FAILURE_BYTES_MOST = 400 };

/* Limit on a list of ranks that is quoted. */
enum { LIST_BYTES_MOST = 40 };

static const struct torch_source_process nobody = {COUNT_UNKNOWN, COUNT_UNKNOWN, -1};

void torch_reader_init(struct torch_reader *reader)
{
    *reader = (struct torch_reader){.source_process = nobody, .launcher = {.rank = COUNT_UNKNOWN}};
    torch_ranks_init(&reader->ranks);
    wrapped_record_init(&reader->record);
    map_init(&reader->tracebacks);
    map_init(&reader->echoes);
    reader->report.greatest = -1;
}

void torch_reader_release(struct torch_reader *reader)
{
    torch_ranks_release(&reader->ranks);
    wrapped_record_release(&reader->record);
    map_release(&reader->tracebacks);
    map_release(&reader->echoes);
    buffer_release(&reader->failure.text);
    buffer_release(&reader->report.line);
}

static struct torch_remark remark_of(const struct torch_source_process *of, enum torch_remark_kind kind,
                                     uint64_t offset)
{
    return (struct torch_remark){.kind = kind,
                                 .rank = of->rank,
                                 .global_rank = of->global_rank,
                                 .group = of->group,
                                 .accused = COUNT_UNKNOWN,
                                 .text = -1,
                                 .offset = offset};
}

static int add_remark(struct torch_reader *reader, struct torch_remark remark, struct text text)
{
    return torch_ranks_text(&reader->ranks, text, &remark.text) ||
           torch_ranks_remark(&reader->ranks, &remark);
}

/* The cause of an error is known: decides whether it is the rank's own. */
static int end_failure(struct torch_reader *reader)
{
    struct torch_failure *failure = &reader->failure;
    struct text text = {failure->text.data, failure->text.length};
    if (!failure->lines_left)
        return 0;
    int is_echo = echo_is_in(text, ECHO_ERROR);
    failure->lines_left = 0;
    if (is_echo && failure->number != COUNT_UNKNOWN)
        torch_ranks_lose_peer(&reader->ranks,
                              failure->of.global_rank == COUNT_UNKNOWN ? failure->of.rank
                                                                       : failure->of.global_rank,
                              failure->number);
    return add_remark(
        reader, remark_of(&failure->of, is_echo ? TORCH_LOST_PEER : TORCH_FAILED, failure->offset), text);
}

/* The part of a text that is stored. */
static struct text beginning_of(struct text text)
{
    return (struct text){text.data, text.length < FAILURE_BYTES_MOST ? text.length : FAILURE_BYTES_MOST};
}

static int begin_failure(struct torch_reader *reader, const struct watchdog_line *said, uint64_t offset)
{
    struct torch_failure *failure = &reader->failure;
    struct text text = beginning_of(said->failure);
    buffer_clear(&failure->text);
    failure->of = reader->source_process;
    failure->number = said->failed;
    failure->offset = offset;
    failure->lines_left = LINES_OF_FAILURE;
    return buffer_append(&failure->text, text.data, text.length);
}

static int begins_failure_line(struct text line)
{
    return text_begins(line, "nccl") || text_begins(line, "Last error:") || text_begins(line, "CUDA");
}

/* Returns 1 if the line does not belong to an error. */
static int take_failure_line(struct torch_reader *reader, struct text line)
{
    struct torch_failure *failure = &reader->failure;
    if (!failure->lines_left)
        return 1;
    int is_behind_last =
        failure->text.length >= strlen("Last error:") &&
        strcmp(failure->text.data + failure->text.length - strlen("Last error:"), "Last error:") == 0;
    if ((!is_behind_last && !begins_failure_line(line)) || !line.length ||
        failure->text.length + line.length > FAILURE_BYTES_MOST)
        return end_failure(reader) ? -1 : 1;
    if (buffer_append_byte(&failure->text, ' ') || buffer_append(&failure->text, line.data, line.length))
        return -1;
    failure->lines_left--;
    return failure->lines_left || !end_failure(reader) ? 0 : -1;
}

/* Ranks that did not finish a collective are behind only if other ranks joined a later one. */
static int end_report(struct torch_reader *reader)
{
    struct torch_report *report = &reader->report;
    struct text ranks = report->unfinished_ranks;
    int failed = 0;
    if (ranks.length && report->furthest > report->lagging)
        for (int64_t rank; !failed && (rank = desync_next_rank(&ranks)) != COUNT_UNKNOWN;) {
            report->unfinished.accused = rank;
            failed = torch_ranks_remark(&reader->ranks, &report->unfinished);
        }
    /* A list without a gap contains all ranks of the group. */
    if (!failed && report->is_snapshot && report->listed > 1 && report->listed == report->greatest + 1)
        failed = torch_ranks_list_all(&reader->ranks, reader->source_process.group, report->listed);
    struct buffer line = report->line;
    buffer_clear(&line);
    *report = (struct torch_report){.greatest = -1, .lagging = COUNT_UNKNOWN, .line = line};
    return failed ? -1 : 0;
}

static int take_record(struct torch_reader *reader)
{
    struct wrapped_record *record = &reader->record;
    struct text text = {record->text.data, record->text.length};
    struct watchdog_line said;
    if (!record->lines)
        return 1;
    record->lines = 0;
    int is_said = watchdog_read(text, &said) && said.rank != COUNT_UNKNOWN;
    if (said.rank == COUNT_UNKNOWN)
        said.rank = said.global_rank;
    if (said.rank == COUNT_UNKNOWN)
        return 1;
    reader->source_process = (struct torch_source_process){said.rank, said.global_rank, -1};
    if (torch_ranks_text(&reader->ranks, said.group, &reader->source_process.group))
        return -1;
    if (!is_said)
        return 1;
    if (torch_ranks_take(&reader->ranks, &said, record->offset) ||
        (said.failure.length && begin_failure(reader, &said, record->offset)))
        return -1;
    return said.is_stuck &&
                   add_remark(reader, remark_of(&reader->source_process, TORCH_STUCK, record->offset),
                              watchdog_sentence(text))
               ? -1
               : 0;
}

/*
 * The text to store with each listed rank. A long list of ranks is left out, as it would be stored once per
 * rank.
 */
static struct text words_of(const struct desync_line *said)
{
    const char *end = said->said.data + said->said.length, *behind = said->ranks.data + said->ranks.length;
    if (said->ranks.length <= LIST_BYTES_MOST)
        return beginning_of(said->said);
    while (behind < end && (*behind == ']' || *behind == ' '))
        behind++;
    return beginning_of((struct text){behind, (size_t)(end - behind)});
}

static int accuse(struct torch_reader *reader, const struct desync_line *said, uint64_t offset)
{
    struct torch_remark remark = remark_of(&reader->source_process, TORCH_NEVER_JOINED, offset);
    struct text ranks = said->ranks;
    if (torch_ranks_text(&reader->ranks, words_of(said), &remark.text))
        return -1;
    for (;;) {
        remark.accused = desync_next_rank(&ranks);
        if (remark.accused == COUNT_UNKNOWN)
            return 0;
        if (torch_ranks_remark(&reader->ranks, &remark))
            return -1;
    }
}

static int hold_unfinished(struct torch_reader *reader, const struct desync_line *said, uint64_t offset)
{
    struct torch_report *report = &reader->report;
    buffer_clear(&report->line);
    if (buffer_append(&report->line, said->ranks.data, said->ranks.length))
        return -1;
    report->unfinished = remark_of(&reader->source_process, TORCH_UNFINISHED, offset);
    report->unfinished_ranks = (struct text){report->line.data, report->line.length};
    report->lagging = said->number;
    return torch_ranks_text(&reader->ranks, words_of(said), &report->unfinished.text);
}

static void list_ranks(struct torch_report *report, const struct desync_line *said)
{
    struct text ranks = said->ranks;
    for (int64_t rank; (rank = desync_next_rank(&ranks)) != COUNT_UNKNOWN;) {
        report->listed++;
        report->greatest = rank > report->greatest ? rank : report->greatest;
    }
}

/* Returns 1 if the line does not belong to a desync report. */
static int take_report_line(struct torch_reader *reader, struct text line, uint64_t offset)
{
    struct torch_report *report = &reader->report;
    struct desync_line said;
    if (reader->source_process.rank == COUNT_UNKNOWN || !desync_read(line, &said))
        return 1;
    switch (said.kind) {
    case DESYNC_NEVER_JOINED:
        return accuse(reader, &said, offset);
    case DESYNC_UNFINISHED:
        return hold_unfinished(reader, &said, offset);
    case DESYNC_SNAPSHOT:
        report->is_snapshot = 1;
        return 0;
    case DESYNC_NUMBER:
        if (report->is_snapshot && said.is_started && said.number > report->furthest)
            report->furthest = said.number;
        return !report->is_snapshot;
    default:
        if (!report->is_snapshot)
            return 1;
        list_ranks(report, &said);
        return 0;
    }
}

/* "[rank1]: Traceback ..." and the lines after it: the rank, and the text after the prefix. */
static int64_t prefixed_rank(struct text line, struct text *behind)
{
    struct text mark = text_after(line, "[rank");
    int64_t rank = COUNT_UNKNOWN;
    size_t digits = 0;
    while (mark.data && digits < mark.length && is_digit(mark.data[digits]))
        digits++;
    if (!digits || digits > 9 || mark.length < digits + 3 || memcmp(mark.data + digits, "]: ", 3) != 0)
        return COUNT_UNKNOWN;
    rank = 0;
    for (size_t i = 0; i < digits; i++)
        rank = rank * 10 + (mark.data[i] - '0');
    *behind = (struct text){mark.data + digits + 3, mark.length - digits - 3};
    return rank;
}

/* "ValueError: bad sample", "torch.OutOfMemoryError: ..." */
static int is_exception(struct text text)
{
    size_t length = 0;
    while (length < text.length && text.data[length] != ':' && text.data[length] != ' ')
        length++;
    struct text name = {text.data, length};
    return length > 0 && (length == text.length || text.data[length] == ':') &&
           (text_contains(name, "Error") || text_contains(name, "Exception"));
}

/* Returns 1 if the line does not belong to a traceback. */
static int take_traceback(struct torch_reader *reader, struct text line, uint64_t offset)
{
    struct text text;
    int64_t rank = prefixed_rank(line, &text);
    if (rank == COUNT_UNKNOWN)
        return 1;
    struct map_key key = {{(uint64_t)rank}};
    if (text_begins(text, "Traceback (most recent call last)"))
        return map_put(&reader->tracebacks, key, 1, NULL) ? 0 : -1;
    if (!map_get(&reader->tracebacks, key) || !text.length || text.data[0] == ' ' || !is_exception(text))
        return 1;
    map_remove(&reader->tracebacks, key);
    if (echo_is_in(text, ECHO_EXCEPTION))
        return map_put(&reader->echoes, key, 1, NULL) ? 1 : -1;
    if (map_get(&reader->echoes, key))
        return 1;
    struct torch_source_process of = {rank, rank, -1};
    return add_remark(reader, remark_of(&of, TORCH_RAISED, offset), beginning_of(text));
}

/* Returns 1 if no launcher reports in this line that a rank ended. */
static int take_end(struct torch_reader *reader, struct text line, uint64_t offset)
{
    int is_task;
    int64_t rank = launcher_ended_rank(&reader->launcher, line, &is_task);
    struct torch_source_process of = {rank, rank, -1};
    if (rank == COUNT_UNKNOWN)
        return 1;
    while (line.length && (line.data[0] == ' ' || line.data[0] == '\t'))
        line = (struct text){line.data + 1, line.length - 1};
    return add_remark(reader, remark_of(&of, is_task ? TORCH_TASK_ENDED : TORCH_ENDED, offset),
                      beginning_of(line));
}

/* Finishes what came before: a record begins, or an unrelated line. */
static int finish(struct torch_reader *reader)
{
    return end_failure(reader) || end_report(reader) ? -1 : 0;
}

static int begin_record(struct torch_reader *reader, struct text line, uint64_t offset)
{
    if (take_record(reader) < 0 || finish(reader) || wrapped_record_begin(&reader->record, line, offset))
        return -1;
    struct watchdog_line said;
    return (watchdog_read(line, &said) || watchdog_is_cut(line)) && said.rank != COUNT_UNKNOWN ? 0 : 1;
}

int torch_reader_take(struct torch_reader *reader, struct text line, uint64_t offset)
{
    if (!reader->ranks.tasks_start_several)
        reader->ranks.tasks_start_several = launcher_starts_several(line);
    if (watchdog_prefix(line) >= 0)
        return begin_record(reader, line, offset);
    int status = wrapped_record_add(&reader->record, line);
    if (status)
        return status < 0 ? -1 : 0;
    struct text behind = wrapped_record_strip(&reader->record, line);
    if (take_record(reader) < 0)
        return -1;
    status = take_failure_line(reader, behind);
    if (status > 0)
        status = take_report_line(reader, behind, offset);
    if (status > 0)
        status = take_traceback(reader, line, offset);
    return status > 0 ? take_end(reader, line, offset) : status;
}

int torch_reader_end(struct torch_reader *reader)
{
    return take_record(reader) < 0 || finish(reader) || torch_ranks_settle(&reader->ranks) ? -1 : 0;
}
