#ifndef NCCLPROF_TIMELINE_PERFETTO_H
#define NCCLPROF_TIMELINE_PERFETTO_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/intern.h"

#include <stddef.h>
#include <stdint.h>

struct output;

/*
 * A trace as Perfetto reads it (ui.perfetto.dev, trace_processor): packets with tracks and the events on
 * them. Names are written once, and numbers in their place. Field numbers are those of
 * github.com/google/perfetto, protos/perfetto/trace/: trace.proto, trace_packet.proto,
 * track_event/track_descriptor.proto, track_event/process_descriptor.proto, track_event/track_event.proto,
 * track_event/debug_annotation.proto and interned_data/interned_data.proto, which are part of its public
 * interface.
 *
 * Texts may hold anything: what is no UTF-8, and what a terminal would obey, is written as \xNN. Functions
 * return -1 with an error when memory is out or the output cannot be written.
 */
struct perfetto {
    struct output *output; /* borrowed */
    struct intern names;   /* of events, as all below from 1 on */
    struct intern categories;
    struct intern keys;   /* of arguments */
    struct intern values; /* and their texts */
    struct buffer packet; /* as all below for one packet */
    struct buffer event;
    struct buffer interned; /* what is new in it */
    struct buffer text;
    int64_t slices;
};

/* Begins a trace: nothing is written before. Release it whatever comes back. */
int perfetto_open(struct perfetto *perfetto, struct output *output, struct error *error);
void perfetto_release(struct perfetto *perfetto);

enum { PERFETTO_LABELS = 3 };

/*
 * What events stand on. A process is a group of tracks, in the order of `order`; its own track has its id.
 * Tracks of one process, or of none, stand by name, those of one name as one, where events that overlap are
 * laid below each other.
 */
struct perfetto_track {
    uint64_t id; /* not 0 */
    uint64_t parent;
    const char *name;
    const char *description; /* NULL */
    const char *process;     /* its name; NULL: it is none */
    int32_t process_number;  /* not 0, of no other */
    int32_t order;
    const char *labels[PERFETTO_LABELS]; /* short, beside the process's name; NULL */
};

int perfetto_add_track(struct perfetto *perfetto, const struct perfetto_track *track, struct error *error);

/* What is shown of an event that is clicked on: one of the two. */
struct perfetto_argument {
    const char *key;
    const char *text; /* NULL: the number */
    int64_t number;
};

/*
 * Something that begins, or a mark. An arrow is a number, not 0, that two events have: it begins at the one
 * that begins first and ends at the other.
 */
struct perfetto_event {
    uint64_t track;
    int64_t at_ns; /* not before 0 */
    const char *category;
    const char *name;
    const struct perfetto_argument *arguments;
    size_t argument_count;
    const uint64_t *arrows;
    size_t arrow_count;
};

/*
 * Slices: begin and end, on each track in order of time, one within the other. One that is not ended goes on
 * until the trace ends.
 */
int perfetto_begin(struct perfetto *perfetto, const struct perfetto_event *event, struct error *error);
int perfetto_end(struct perfetto *perfetto, uint64_t track, int64_t at_ns, struct error *error);
int perfetto_mark(struct perfetto *perfetto, const struct perfetto_event *event, struct error *error);

#endif
