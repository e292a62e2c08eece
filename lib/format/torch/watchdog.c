/* Parses single lines: records of torch's watchdog and its monitor, and lines of desync reports. */
#include "base/base.h"
#include "format/internal.h"
#include "format/torch/torch.h"
#include "input/input.h"
#include "model/model.h"

#include <string.h>

/* Text in every line of the watchdog. */
static const char SOURCE[] = "ProcessGroupNCCL.cpp:";

/* Accepts a sign. */
static int64_t leading_number(struct text text)
{
    int is_negative = text_begins(text, "-");
    int64_t number =
        text_leading_number((struct text){text.data + is_negative, text.length - (size_t)is_negative});
    return is_negative && number != COUNT_UNKNOWN ? -number : number;
}

static int64_t number_after(struct text text, const char *mark)
{
    struct text behind = text_after(text, mark);
    return behind.data ? leading_number(behind) : COUNT_UNKNOWN;
}

int64_t watchdog_prefix(struct text line)
{
    struct text behind = text_after(line, SOURCE);
    if (!behind.data)
        return -1;
    struct text before = {line.data, line.length - behind.length};
    struct text rank = text_after(before, "[rank"), severity = text_after(before, "[E");
    if (rank.data)
        return (int64_t)(before.length - rank.length - strlen("[rank"));
    return severity.data ? (int64_t)(before.length - severity.length - strlen("[E")) : 0;
}

/*
 * "0(default_pg) Rank 0]", "0 (default_pg) Rank 0]" or "1 Rank 0]": the name and the description of the
 * group.
 */
static void read_group(struct text group, struct watchdog_line *said)
{
    const char *end = memchr(group.data, ']', group.length);
    struct text within = {group.data, end ? (size_t)(end - group.data) : 0};
    struct text description = text_after(within, "(");
    said->group = text_word(within);
    if (description.data)
        said->description = text_word(description);
    said->rank = number_after(within, "Rank ");
}

/* Works are numbered from 1; torch prints -1 before the first. */
static int64_t work_number(struct text line, const char *mark)
{
    struct text behind = text_after(line, mark);
    int64_t number = behind.data ? leading_number(behind) : COUNT_UNKNOWN;
    if (behind.data && number == -1)
        return GROUP_STATUS_NONE;
    return number < 0 ? COUNT_UNKNOWN : number;
}

static int64_t first_number(struct text line, const char *const *marks)
{
    int64_t number = COUNT_UNKNOWN;
    for (; *marks && number == COUNT_UNKNOWN; marks++)
        number = work_number(line, *marks);
    return number;
}

/* Elements of a shape "[2, 1024]", which torch 2.0 prints instead of their number. */
static int64_t elements_of_shape(struct text shape)
{
    int64_t count = 1, size;
    if (!shape.data)
        return COUNT_UNKNOWN;
    for (;;) {
        while (shape.length && shape.data[0] == ' ')
            shape = (struct text){shape.data + 1, shape.length - 1};
        size = leading_number(shape);
        if (size < 0 || __builtin_mul_overflow(count, size, &count))
            return COUNT_UNKNOWN;
        while (shape.length && is_digit(shape.data[0]))
            shape = (struct text){shape.data + 1, shape.length - 1};
        if (!shape.length || shape.data[0] != ',')
            return shape.length && shape.data[0] == ']' ? count : COUNT_UNKNOWN;
        shape = (struct text){shape.data + 1, shape.length - 1};
    }
}

static void read_work(struct text line, struct watchdog_line *said)
{
    struct text work = text_after(line, "WorkNCCL(");
    if (!work.data)
        return;
    said->failed = number_after(work, "SeqNum=");
    said->operation = text_word(text_after(work, "OpType="));
    said->elements = number_after(work, "NumelIn=");
    said->elements_out = number_after(work, "NumelOut=");
    if (said->elements == COUNT_UNKNOWN)
        said->elements = elements_of_shape(text_after(work, "TensorShape=["));
}

/*
 * In torch 2.3 the number of the last completed work may be invalid: no work completes before it is enqueued.
 */
static void doubt(struct watchdog_line *said)
{
    if (said->completed != COUNT_UNKNOWN && said->enqueued != COUNT_UNKNOWN &&
        said->completed > said->enqueued)
        said->completed = COUNT_UNKNOWN;
    if (said->failed != COUNT_UNKNOWN && said->completed != COUNT_UNKNOWN && said->completed >= said->failed)
        said->completed = said->failed - 1;
}

/* The end of a watchdog after a timeout is not an error of its own. */
static struct text failure_in(struct text line)
{
    struct text failure = text_after(line, "raised the following async exception: ");
    if (!failure.data)
        failure = text_after(line, "async exception when checking for NCCL errors: ");
    if (!failure.data)
        failure = text_after(line, "terminated with exception: ");
    if (!failure.data || (!text_contains(failure, "NCCL error") && !text_contains(failure, "CUDA error")) ||
        text_contains(failure, "Watchdog caught collective operation timeout"))
        return (struct text){NULL, 0};
    return failure;
}

static const char *const stuck_marks[] = {"watchdog got stuck for", "watchdog thread got stuck",
                                          "eartbeat monitor timed out", "no heartbeat of its watchdog", NULL};

struct text watchdog_sentence(struct text line)
{
    for (struct text behind = text_after(line, "] "); behind.data && text_contains_any(behind, stuck_marks);
         behind = text_after(line, "] "))
        line = behind;
    struct text rest = text_after(line, ". ");
    return (struct text){line.data, rest.data ? line.length - rest.length - 2 : line.length};
}

int watchdog_is_cut(struct text line)
{
    /* The words with which a part of a record begins, and those at its end. */
    static const struct {
        const char *begin;
        const char *end;
    } parts[] = {{"WorkNCCL(", "Timeout(ms)="},
                 {"Timeout(ms)=", ")"},
                 {"Watchdog caught", "before timing out."},
                 {"ast enqueued", "ast completed"},
                 {"got stuck for ", " seconds"},
                 {"at work sequence id:", "ast completed"},
                 {"Timeout at NCCL work:", "ast completed"}};
    static const char *const completed[] = {"ast completed NCCL work: ", "ast completed work: ", NULL};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct text behind = text_after(line, parts[i].begin);
        if (behind.data && !text_contains(behind, parts[i].end))
            return 1;
    }
    return text_contains(line, "ast completed") && first_number(line, completed) == COUNT_UNKNOWN &&
           !text_contains(line, "ast completed NCCL work: -");
}

int watchdog_read(struct text line, struct watchdog_line *said)
{
    static const char *const enqueued[] = {"ast enqueued NCCL work: ", "ast enqueued work: ", NULL};
    static const char *const completed[] = {"ast completed NCCL work: ", "ast completed work: ", NULL};
    static const char *const failed[] = {
        "at work sequence id: ", "Timeout at NCCL work: ", "detected by watchdog at work: ", NULL};
    struct text behind = text_after(line, SOURCE);
    if (!behind.data)
        return 0;
    *said = (struct watchdog_line){.rank = COUNT_UNKNOWN,
                                   .failed = COUNT_UNKNOWN,
                                   .elements = COUNT_UNKNOWN,
                                   .elements_out = COUNT_UNKNOWN};
    said->global_rank = launcher_rank((struct text){line.data, (size_t)(behind.data - line.data)});
    struct text group = text_after(behind, "PG GUID ");
    if (!group.data)
        group = text_after(behind, "[PG ");
    if (group.data)
        read_group(group, said);
    else
        said->rank = number_after(behind, "[Rank ");
    said->enqueued = first_number(behind, enqueued);
    said->completed = first_number(behind, completed);
    said->failed = first_number(behind, failed);
    read_work(behind, said);
    doubt(said);
    said->is_stuck = text_contains_any(behind, stuck_marks);
    said->failure = failure_in(behind);
    return said->enqueued != COUNT_UNKNOWN || said->failed != COUNT_UNKNOWN || said->is_stuck ||
           said->failure.length;
}

int64_t desync_next_rank(struct text *ranks)
{
    size_t begin = 0, end;
    int64_t rank;
    while (begin < ranks->length && !is_digit(ranks->data[begin]))
        begin++;
    for (end = begin; end < ranks->length && is_digit(ranks->data[end]);)
        end++;
    int failed = end == begin || number_int64(ranks->data + begin, end - begin, &rank);
    *ranks = (struct text){ranks->data + end, ranks->length - end};
    return failed || rank > INT32_MAX ? COUNT_UNKNOWN : rank;
}

static int64_t desync_number(struct text line)
{
    struct text behind = text_after(line, "#");
    return behind.data ? desync_next_rank(&behind) : COUNT_UNKNOWN;
}

/* The text in the brackets that end at `behind`; empty if it has anything but ranks. */
static struct text ranks_before(struct text line, struct text behind, const char *mark)
{
    size_t end = (size_t)(behind.data - line.data) - strlen(mark), begin = end;
    while (begin > 0 && (is_digit(line.data[begin - 1]) || strchr(", ", line.data[begin - 1])))
        begin--;
    int is_list = begin > 0 && line.data[begin - 1] == '[';
    return (struct text){line.data + begin, is_list ? end - begin : 0};
}

static int read_list(struct text line, const char *mark, enum desync_kind kind, struct desync_line *read)
{
    struct text behind = text_after(line, mark);
    if (!behind.data)
        return 0;
    *read = (struct desync_line){
        .kind = kind, .ranks = ranks_before(line, behind, mark), .number = desync_number(behind)};
    read->said =
        (struct text){read->ranks.data - 1, (size_t)(line.data + line.length - read->ranks.data) + 1};
    return read->ranks.length > 0;
}

int desync_read(struct text line, struct desync_line *read)
{
    if (text_contains(line, "Snapshot of ranks' latest states")) {
        *read = (struct desync_line){.kind = DESYNC_SNAPSHOT, .number = COUNT_UNKNOWN};
        return 1;
    }
    if (text_contains(line, " started ranks:") || text_contains(line, " finished ranks:")) {
        *read = (struct desync_line){.kind = DESYNC_NUMBER,
                                     .number = desync_number(line),
                                     .is_started = text_contains(line, " started ranks:")};
        return 1;
    }
    if (text_contains(line, "didn't join collective"))
        return read_list(line, "] finished collective ", DESYNC_NEVER_JOINED, read);
    return read_list(line, "] are the lagging ranks that caused this timeout", DESYNC_NEVER_JOINED, read) ||
           read_list(line, "] joined but didn't finish collective ", DESYNC_UNFINISHED, read) ||
           read_list(line, "] started ", DESYNC_STATE, read) ||
           read_list(line, "] finished ", DESYNC_STATE, read);
}
