#include "format/torch/desync.h"

#include "input/number.h"
#include "model/event.h"

#include <string.h>

static int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
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

static int64_t number_after(struct text line, const char *mark)
{
    struct text behind = text_after(line, mark);
    return behind.data ? desync_next_rank(&behind) : COUNT_UNKNOWN;
}

/* What stands in the brackets that end where `behind` begins; nothing where anything but ranks does. */
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
        .kind = kind, .ranks = ranks_before(line, behind, mark), .number = number_after(behind, "#")};
    read->said =
        (struct text){read->ranks.data - 1, (size_t)(line.data + line.length - read->ranks.data) + 1};
    return read->ranks.length > 0;
}

int desync_read(struct text line, struct desync_line *read)
{
    if (text_holds(line, "Snapshot of ranks' latest states")) {
        *read = (struct desync_line){.kind = DESYNC_SNAPSHOT, .number = COUNT_UNKNOWN};
        return 1;
    }
    if (text_holds(line, " started ranks:") || text_holds(line, " finished ranks:")) {
        *read = (struct desync_line){.kind = DESYNC_NUMBER,
                                     .number = number_after(line, "#"),
                                     .is_started = text_holds(line, " started ranks:")};
        return 1;
    }
    if (text_holds(line, "didn't join collective"))
        return read_list(line, "] finished collective ", DESYNC_NEVER_JOINED, read);
    return read_list(line, "] are the lagging ranks that caused this timeout", DESYNC_NEVER_JOINED, read) ||
           read_list(line, "] joined but didn't finish collective ", DESYNC_UNFINISHED, read) ||
           read_list(line, "] started ", DESYNC_STATE, read) ||
           read_list(line, "] finished ", DESYNC_STATE, read);
}
