#ifndef NCCLPROF_FORMAT_CALL_LINE_H
#define NCCLPROF_FORMAT_CALL_LINE_H

#include "format/format.h"
#include "format/text.h"
#include "input/json.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Descriptions of calls (lit-gpt's monitor_collectives) in a line of whatever text: JSON objects like
 *
 *     [rank3]: {"name": "all_reduce", "rank": 3, "source_line": "train.py:43", "message_size": 4096, ...}
 *
 * with anything before, between and behind them. An object without lists or objects inside, but for the list
 * of a group's ranks, in one line.
 */

/* Of the ledger: a description that is not whole, or holds something else than it should. */
#define CALL_NOTE_UNREADABLE "call description that cannot be read"

struct call_reader {
    int damage; /* 1: one that cannot be read is damage of the file; 0: it is about something else */
    struct json json;
    int64_t *group; /* owned */
    size_t group_capacity;
    size_t group_count;
    char correlation[24]; /* one that is a number */
};

void call_reader_init(struct call_reader *reader, int damage);
void call_reader_release(struct call_reader *reader);

/* Whether a line may hold one: cheap. */
int call_line_may(struct text line);

/*
 * What of a description that was cut can be read, as a whole one: its members up to the last that is whole,
 * in `mended`, which is cleared. 0; 1: there is nothing of it; -1: no memory.
 */
int call_line_mend(struct text cut, struct buffer *mended);

/*
 * Hands over each description in a line, with this origin; `at_ns` is the time of a mark, else TIME_UNKNOWN.
 * `*taken` is how many there were, those noted as unreadable included. The line is at `offset`. Where it
 * is_cut, a group that is not there may have been.
 */
int call_line_read(struct call_reader *reader, struct text line, uint64_t offset, const struct origin *origin,
                   int64_t at_ns, int is_cut, const struct format_sink *sink, size_t *taken,
                   struct error *error);

#endif
