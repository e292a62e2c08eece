#ifndef NCCLPROF_REPORT_TIMELINE_H
#define NCCLPROF_REPORT_TIMELINE_H

#include "output/output.h"

#include <stddef.h>
#include <stdint.h>

struct findings;
struct job;
struct output;

/* -------------------- timeline_draw.c -------------------- */

/* What of a job is drawn. Texts are borrowed; NULL: any. */
struct timeline_selection {
    const char *ranks; /* of each job rank, whether it is */
    int has_steps;     /* only steps `first_step` to `last_step` */
    int64_t first_step;
    int64_t last_step;
    const char *tag;
    const char *communicator;
    int64_t arrow_ns; /* from so much waiting on, an arrow says for whom */
    int with_proxies; /* what network threads did, too */
};

struct timeline_counts {
    int64_t ranks; /* with a track */
    int64_t operations;
    int64_t slices; /* of all kinds */
    int64_t arrows;
    int64_t findings;
    int64_t untimed;        /* operations that the trace tells no time of */
    int64_t crowded;        /* what overlaps too much else, and is not drawn */
    int64_t unaligned;      /* ranks whose clock is not aligned: they have no arrows */
    int64_t adrift;         /* ranks of the run that begin at 0 for want of a wall clock, too */
    int64_t uncertainty_ns; /* the greatest of those whose clock is */
    int32_t most_uncertain; /* whose; -1: none */
};

/*
 * Writes a job as a trace for Perfetto (perfetto.c): a process a rank, and on its tracks steps with their
 * phases, operations, what of them was waiting, and calls; findings beside all of them and on the ranks that
 * they accuse. `findings` are those that are told, with their details (diagnose/findings_detail.h).
 */
int timeline_write(const struct job *job, const struct findings *findings,
                   const struct timeline_selection *selection, struct output *output,
                   struct timeline_counts *counts, struct error *error);

/* -------------------- timeline_canvas.c -------------------- */

/* Of an operation, what a job in memory has no more: its host's part, and where it was enqueued. */
struct call {
    int64_t begin_ns; /* on its host's clock, the call, else being enqueued; TIME_UNKNOWN */
    int64_t end_ns;   /* it was enqueued; TIME_UNKNOWN */
    uint64_t stream;  /* 0: not known */
};

/* The numbers of a job's operations by their ids in the store, ascending: freed by the caller, NULL when
 * memory is out. */
struct sort_entry *operations_by_id(const struct job *job);

/*
 * The one clock of a timeline: nanoseconds since the first of what a job did, whatever of it is drawn. A rank
 * whose clock is not aligned with the others' is where its wall clock has it, or if that or the others' is
 * not told, begins at 0.
 */
struct common_clock {
    const struct job *job; /* borrowed */
    int64_t origin_ns;     /* in the run's common time */
    int64_t wall_ns;       /* what a wall clock said at 0; TIME_UNKNOWN */
    int64_t *own_ns;       /* owned: of each rank, 0 on its host's clock; TIME_UNKNOWN */
    int64_t adrift;        /* so many ranks begin at 0 because nothing tells when that was */
};

/* A time on the clock of a rank's host. TIME_UNKNOWN stays; what is before the first is at 0. */
int64_t common_clock_host(const struct common_clock *clock, int32_t rank, int64_t host_ns);

/* What overlaps stands on tracks beside each other, the first that is free. Begins zeroed. */
enum { LANES_MOST = 64 };

struct lanes {
    int64_t end_ns[LANES_MOST]; /* of the last on each */
    int count;
};

/* Where something that lasts until `end_ns` (INT64_MAX: for good) finds room; -1: nowhere. */
int lanes_place(struct lanes *lanes, int64_t begin_ns, int64_t end_ns);

/* What all that is drawn of a job is drawn on, and by. */
struct canvas {
    const struct job *job; /* borrowed, as the next three */
    const struct timeline_selection *selection;
    const struct findings *findings;
    struct timeline_counts *counts;
    struct call *calls; /* owned, of each operation */
    struct common_clock clock;
    struct perfetto perfetto;
    uint64_t tracks; /* so many there are */
};

/* The process of no rank: tracks beside all of them. */
enum { NO_RANK = -1 };

/* Begins the trace. Release it whatever comes back. */
int canvas_init(struct canvas *canvas, const struct job *job, const struct findings *findings,
                const struct timeline_selection *selection, struct output *output,
                struct timeline_counts *counts, struct error *error);
void canvas_release(struct canvas *canvas);

/* Whether an operation, by its number, is asked for. */
int canvas_shows(const struct canvas *canvas, size_t operation);

/* When an operation began and ended, on the one clock: on the device, else its call; TIME_UNKNOWN. */
int64_t canvas_begin_ns(const struct canvas *canvas, size_t operation);
int64_t canvas_end_ns(const struct canvas *canvas, size_t operation);

/* The track that is a rank's process. */
uint64_t canvas_process(int32_t rank);

/* A track on which things may overlap: as many of one name as it takes. Begins with a rank and a name. */
struct track_group {
    int32_t rank;            /* NO_RANK */
    const char *name;        /* borrowed */
    const char *description; /* NULL */
    struct lanes lanes;
    uint64_t tracks[LANES_MOST];
};

/*
 * Finds room for something, by when it begins and ends (INT64_MAX: for good): the lane's number in *lane, -1
 * where there is none, which is counted.
 */
int track_group_place(struct canvas *canvas, struct track_group *track_group, int64_t begin_ns,
                      int64_t end_ns, int *lane, struct error *error);

/* Places something and draws it: a slice, one without an end, or where `end_ns` is TIME_UNKNOWN a mark. */
int track_group_draw(struct canvas *canvas, struct track_group *track_group, struct perfetto_event *event,
                     int64_t end_ns, struct error *error);

/* -------------------- timeline_operations.c -------------------- */

/*
 * Who waited for whom, by durations (job/arrival.h), as steps sums it up: of each instance the operation that
 * came last.
 */
struct waits {
    const struct canvas *canvas; /* borrowed */
    int32_t *last;               /* owned, of each instance; -1 */
    uint64_t *arrows;            /* owned: scratch for waits_arrows */
};

/* -1 when memory is out. */
int waits_init(struct waits *waits, const struct canvas *canvas);
void waits_release(struct waits *waits);

/* The operations of a rank, a track for each of its streams, and what of them was waiting. */
int draw_operations(struct canvas *canvas, const struct waits *waits, int32_t rank, struct error *error);

/* -------------------- timeline_proxies.c -------------------- */

/*
 * What network threads did for the operations that are drawn, a track for each direction, peer and channel,
 * and one for the waits of single network steps, of which there are many. Wants the tracks of their ranks.
 */
int draw_proxies(struct canvas *canvas, struct error *error);

#endif
