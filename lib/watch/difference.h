#ifndef NCCLPROF_WATCH_DIFFERENCE_H
#define NCCLPROF_WATCH_DIFFERENCE_H

#include "base/error.h"
#include "watch/noted.h"

/* What became of findings from one look at a job to the next. */

enum change {
    CHANGE_NEW,
    CHANGE_CHANGED,  /* another confidence, twice the cost, or it goes on after it was over */
    CHANGE_OVER,     /* the job goes on without it */
    CHANGE_WITHDRAWN /* with more of the job at hand, it is none any longer */
};

const char *change_name(enum change change);

/* Hears of a change; -1 with an error ends the comparison. */
typedef int change_listener(void *context, enum change change, const struct noted *noted,
                            struct error *error);

/* A finding of which somebody was told. */
struct told_noted {
    struct noted noted; /* as the latest look found it */
    int is_absent;      /* the latest look did not find it */
    int64_t lag;        /* the least so far (noted_lag) */
    int64_t lost_ns;    /* as it was when it was told of, as is what follows */
    int is_over;
};

/*
 * What was told so far. With a little more of the job at hand a doubtful finding comes and goes: one of less
 * than high confidence is believed when the next look finds it as well, and any is withdrawn when two looks
 * do not. So is that a job stopped: files of ranks that go on are not all written at the same moment.
 */
struct difference {
    struct told_noted *told; /* owned */
    size_t count;
    size_t capacity;
    struct noted_list waiting; /* of the last look: to be believed at the next */
};

void difference_release(struct difference *difference);

/* These are known already: nobody is told. -1 when memory is out. */
int difference_begin(struct difference *difference, const struct noted_list *now);

/* Tells `listener` what `now` has, and what it has no longer, against what it was told so far. */
int difference_update(struct difference *difference, const struct noted_list *now, change_listener *listener,
                      void *context, struct error *error);

/* The job was looked at again and nothing had come: what the last look said holds. */
int difference_settle(struct difference *difference, change_listener *listener, void *context,
                      struct error *error);

#endif
