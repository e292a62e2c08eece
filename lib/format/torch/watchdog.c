#include "format/torch/watchdog.h"

#include "input/number.h"
#include "model/event.h"

#include <string.h>

/* The digits at the beginning of a text, behind a sign if there is one; COUNT_UNKNOWN. */
static int64_t leading_number(struct text text)
{
    size_t length = text.length && text.data[0] == '-' ? 1 : 0;
    int64_t number;
    while (length < text.length && text.data[length] >= '0' && text.data[length] <= '9')
        length++;
    return length && number_int64(text.data, length, &number) == 0 ? number : COUNT_UNKNOWN;
}

static int64_t number_after(struct text text, const char *mark)
{
    struct text behind = text_after(text, mark);
    return behind.data ? leading_number(behind) : COUNT_UNKNOWN;
}

/* "[rank3]:", srun's "3: ", mpirun's "[1,3]<stderr>:". That of torchrun, "[default3]:", counts on each host
 * anew. */
static int64_t rank_before(struct text before)
{
    int64_t rank = number_after(before, "[rank");
    if (rank == COUNT_UNKNOWN && text_begins(before, "[1,"))
        rank = number_after(before, "[1,");
    if (rank != COUNT_UNKNOWN)
        return rank;
    size_t digits = 0;
    while (digits < before.length && before.data[digits] >= '0' && before.data[digits] <= '9')
        digits++;
    struct text behind = {before.data + digits, before.length - digits};
    return digits && text_begins(behind, ": ") ? leading_number(before) : COUNT_UNKNOWN;
}

/* "0(default_pg) Rank 0]", "0 (default_pg) Rank 0]" or "1 Rank 0]": the name, and what it is for. */
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

/* Numbers count from 1; torch prints -1 where there was none yet. */
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

static void read_work(struct text line, struct watchdog_line *said)
{
    struct text work = text_after(line, "WorkNCCL(");
    if (!work.data)
        return;
    said->failed = number_after(work, "SeqNum=");
    said->operation = text_word(text_after(work, "OpType="));
    said->elements = number_after(work, "NumelIn=");
    said->lost_peer = text_holds(work, "raised the following async exception");
}

/* Of torch 2.3 the completed number can be anything: no work completes before it was enqueued. */
static void doubt(struct watchdog_line *said)
{
    if (said->completed != COUNT_UNKNOWN && said->enqueued != COUNT_UNKNOWN &&
        said->completed > said->enqueued)
        said->completed = COUNT_UNKNOWN;
    if (said->failed != COUNT_UNKNOWN && said->completed != COUNT_UNKNOWN && said->completed >= said->failed)
        said->completed = said->failed - 1;
}

int watchdog_read(struct text line, struct watchdog_line *said)
{
    static const char *const enqueued[] = {"ast enqueued NCCL work: ", "ast enqueued work: ", NULL};
    static const char *const completed[] = {"ast completed NCCL work: ", "ast completed work: ", NULL};
    static const char *const failed[] = {
        "at work sequence id: ", "Timeout at NCCL work: ", "detected by watchdog at work: ", NULL};
    struct text behind = text_after(line, "ProcessGroupNCCL.cpp:");
    if (!behind.data)
        return 0;
    *said = (struct watchdog_line){.rank = COUNT_UNKNOWN, .failed = COUNT_UNKNOWN, .elements = COUNT_UNKNOWN};
    said->global_rank = rank_before((struct text){line.data, (size_t)(behind.data - line.data)});
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
    return said->enqueued != COUNT_UNKNOWN || said->failed != COUNT_UNKNOWN;
}
