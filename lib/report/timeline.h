#ifndef NCCLPROF_REPORT_TIMELINE_H
#define NCCLPROF_REPORT_TIMELINE_H

#include "output/output.h"

#include <stddef.h>
#include <stdint.h>

struct findings;
struct job;
struct output;

/* -------------------- timeline_draw.c -------------------- */

/* Which part of a job is drawn. Texts are borrowed; NULL: any. */
struct timeline_selection {
    const char *ranks; /* per job rank, whether it is drawn */
    int has_steps;     /* only steps `first_step` to `last_step` */
    int64_t first_step;
    int64_t last_step;
    const char *tag;
    const char *communicator;
    int64_t arrow_ns; /* shortest wait time that gets an arrow from the rank that arrived last */
    int with_proxies; /* also draw the work of the network (proxy) threads */
};

struct timeline_counts {
    int64_t ranks; /* ranks with a track */
    int64_t operations;
    int64_t slices; /* slices of all kinds */
    int64_t arrows;
    int64_t findings;
    int64_t untimed;        /* operations without timestamps */
    int64_t crowded;        /* not drawn because too many others overlap */
    int64_t unaligned;      /* ranks whose clock is not aligned; they have no arrows */
    int64_t unplaced_ranks; /* ranks of the run that begin at time 0 because they have no wall clock; includes
                       ranks that are not drawn */
    int64_t uncertainty_ns; /* greatest error bound of the aligned clocks */
    int32_t most_uncertain; /* rank with that error bound; -1: none */
};

/*
 * The findings of a job, in its own steps and operations; and the same as judged_run told them, in the same
 * order, for their texts.
 */
struct timeline_findings {
    const struct findings *drawn;
    const struct findings *told;
    const struct job *told_job;
};

/*
 * Writes a job as a trace (output/trace.c). Each rank is a process with tracks for its steps
 * and their phases, its operations with their wait time, and its calls. Findings are drawn on a track above
 * all ranks and on the ranks that they blame. Findings have the details that findings_detail fills in.
 * Returns -1 on error.
 */
int timeline_write(const struct job *job, const struct timeline_findings *findings,
                   const struct timeline_selection *selection, const struct trace_format *format,
                   struct output *output, struct timeline_counts *counts, struct error *error);

/* -------------------- timeline_canvas.c -------------------- */

/* The fields of an operation that a job in memory does not keep: its host part and its stream. */
struct call {
    int64_t begin_ns; /* on the clock of its host: begin of the call, else of the enqueue; TIME_UNKNOWN */
    int64_t end_ns;   /* end of the enqueue; TIME_UNKNOWN */
    uint64_t stream;  /* 0: not known */
};

/*
 * The operations of a job by their ids in the store, ascending. The caller frees the list; NULL when memory
 * is out.
 */
struct sort_entry *operations_by_id(const struct job *job);

/*
 * The common clock of a timeline, in nanoseconds since the first event of the job, drawn or not. A rank whose
 * clock is not aligned with the others is placed by its wall clock. If its wall clock or that of the others
 * is not known, the rank begins at 0.
 */
struct common_clock {
    const struct job *job;  /* borrowed */
    int64_t origin_ns;      /* time 0, in the common time of the run */
    int64_t wall_ns;        /* wall-clock time at 0; TIME_UNKNOWN */
    int64_t *own_ns;        /* owned: per rank, time 0 on the clock of its host; TIME_UNKNOWN */
    int64_t unplaced_ranks; /* number of ranks that begin at 0 because their time is not known */
};

/* Converts a time on the clock of a rank's host. TIME_UNKNOWN stays; a time before the origin becomes 0. */
int64_t common_clock_host(const struct common_clock *clock, int32_t rank, int64_t host_ns);

/*
 * Slices that overlap are drawn on parallel tracks (lanes); each takes the first lane that is free. Starts
 * zeroed.
 */
enum { LANES_MOST = 64 };

struct lanes {
    int64_t end_ns[LANES_MOST]; /* end of the last slice of each lane */
    int count;
};

/* The lane for a slice from `begin_ns` to `end_ns` (INT64_MAX: it never ends); -1 if none is free. */
int lanes_place(struct lanes *lanes, int64_t begin_ns, int64_t end_ns);

/* Everything that the drawing functions share. */
struct canvas {
    const struct job *job; /* borrowed, like the next three */
    const struct timeline_selection *selection;
    const struct timeline_findings *findings;
    struct timeline_counts *counts;
    struct call *calls; /* owned: per operation */
    struct common_clock clock;
    struct trace_writer trace;
    uint64_t tracks; /* number of tracks so far */
};

/* Stands for no rank: the process whose tracks are above all ranks. */
enum { NO_RANK = -1 };

/* Starts the trace. Release `canvas` in any case. Returns -1 on error. */
int canvas_init(struct canvas *canvas, const struct job *job, const struct timeline_findings *findings,
                const struct timeline_selection *selection, const struct trace_format *format,
                struct output *output, struct timeline_counts *counts, struct error *error);
void canvas_release(struct canvas *canvas);

/* Whether an operation, by its index, is selected. */
int canvas_shows(const struct canvas *canvas, size_t operation);

/* Begin and end of an operation on the common clock: on the device, else of its call; TIME_UNKNOWN. */
int64_t canvas_begin_ns(const struct canvas *canvas, size_t operation);
int64_t canvas_end_ns(const struct canvas *canvas, size_t operation);

/* The track of a rank's process. */
uint64_t canvas_process(int32_t rank);

/*
 * Tracks of one name for slices that may overlap, as many as are needed. Starts with a rank and a name only.
 */
struct track_group {
    int32_t rank;            /* or NO_RANK */
    const char *name;        /* borrowed */
    const char *description; /* NULL: none */
    struct lanes lanes;
    uint64_t tracks[LANES_MOST];
};

/*
 * Finds a lane for a slice from `begin_ns` to `end_ns` (INT64_MAX: it never ends). *lane is its number; -1 if
 * none is free, which is counted in `crowded`. Returns -1 on error.
 */
int track_group_place(struct canvas *canvas, struct track_group *group, int64_t begin_ns, int64_t end_ns,
                      int *lane, struct error *error);

/*
 * Finds a lane and draws a slice, a slice without end, or a mark if `end_ns` is TIME_UNKNOWN. Returns -1 on
 * error.
 */
int track_group_draw(struct canvas *canvas, struct track_group *group, struct trace_event *event,
                     int64_t end_ns, struct error *error);

/* -------------------- timeline_operations.c -------------------- */

/*
 * Which rank waited for which, from durations (job/arrival.c), as in the command steps. Holds, for each
 * instance, the operation that arrived last.
 */
struct waits {
    const struct canvas *canvas; /* borrowed */
    int32_t *last;               /* owned: per instance; -1: not known */
    uint64_t *arrows;            /* owned: scratch memory for waits_arrows */
};

/* Returns -1 when memory is out. */
int waits_init(struct waits *waits, const struct canvas *canvas);
void waits_release(struct waits *waits);

/* Draws the operations of a rank, with a track for each stream, and their wait time. Returns -1 on error. */
int draw_operations(struct canvas *canvas, const struct waits *waits, int32_t rank, struct error *error);

/* -------------------- timeline_proxies.c -------------------- */

/*
 * Draws the work of the network threads for the operations that are drawn: a track for each direction, peer
 * and channel, and another one for the waits of single network steps, which are many. The tracks of the ranks
 * must exist. Returns -1 on error.
 */
int draw_proxies(struct canvas *canvas, struct error *error);

#endif
