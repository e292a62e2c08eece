#ifndef NCCLPROF_TIMELINE_CANVAS_H
#define NCCLPROF_TIMELINE_CANVAS_H

#include "timeline/common_clock.h"
#include "timeline/lanes.h"
#include "timeline/perfetto.h"
#include "timeline/timeline.h"

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
struct strip {
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
int strip_place(struct canvas *canvas, struct strip *strip, int64_t begin_ns, int64_t end_ns, int *lane,
                struct error *error);

/* Places something and draws it: a slice, one without an end, or where `end_ns` is TIME_UNKNOWN a mark. */
int strip_draw(struct canvas *canvas, struct strip *strip, struct perfetto_event *event, int64_t end_ns,
               struct error *error);

#endif
