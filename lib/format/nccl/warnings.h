#ifndef NCCLPROF_FORMAT_NCCL_WARNINGS_H
#define NCCLPROF_FORMAT_NCCL_WARNINGS_H

#include "base/buffer.h"
#include "format/format.h"
#include "format/nccl/said.h"
#include "format/nccl/speakers.h"

/*
 * Warnings of a log, as events. What NCCL makes of one is said behind it on the same thread: "proxy.cc:698 ->
 * 3" is an internal error, and no such line a warning that changed nothing. What the thread does then says
 * whether it was one: so the last warning of each speaker is held until another comes, or what settles it, or
 * the end.
 */
struct held_warning {
    int is_held;
    int has_warned;   /* the speaker, so far: of anything */
    int has_network;  /* likewise, has said which network it uses */
    struct said said; /* its message is that of `message` */
    struct buffer message;
    int has_result; /* NCCL handed one up for it */
    enum warning_kind result;
    int64_t calls; /* that its speaker had made by then */
};

struct warnings {
    struct held_warning *items; /* owned, by number of the speaker */
    size_t count;
    size_t capacity;
};

void warnings_release(struct warnings *warnings);

/* A line of level WARN. -1 on failure. */
int warnings_take(struct warnings *warnings, const struct speakers *speakers, const struct format_sink *sink,
                  const struct said *said, struct error *error);

/* A line of level INFO. 1: it is about a warning, or is one; 0: it is neither; -1 on failure. */
int warnings_take_info(struct warnings *warnings, const struct speakers *speakers,
                       const struct format_sink *sink, const struct said *said, struct error *error);

/*
 * The speaker went on: a communicator of it is there, or at its end, or the thread `tid` made a call (-1:
 * whichever). What it warned of by itself before, and NCCL handed no result up for, is WARNING_GOT_OVER. -1
 * on failure.
 */
int warnings_settle(struct warnings *warnings, const struct speakers *speakers,
                    const struct format_sink *sink, int64_t speaker, int64_t tid, struct error *error);

/* The log is over. -1 on failure. */
int warnings_end(struct warnings *warnings, const struct speakers *speakers, const struct format_sink *sink,
                 struct error *error);

#endif
