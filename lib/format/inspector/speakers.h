#ifndef NCCLPROF_FORMAT_INSPECTOR_SPEAKERS_H
#define NCCLPROF_FORMAT_INSPECTOR_SPEAKERS_H

#include "base/intern.h"
#include "base/map.h"
#include "format/format.h"
#include "format/inspector/line.h"

/*
 * Who speaks in an Inspector file: the communicators of its process (or processes), by what their markers say
 * of them. Files of format v4.0 have none.
 */

struct inspector_speaker {
    struct origin origin; /* its texts live as long as the speakers do; no offset */
    int64_t host;         /* its text's number, and those of the next */
    int64_t version;      /* -1: not said */
    int64_t revision;     /* likewise */
    int64_t dumps;        /* markers so far */
    int traces_proxies;
    int64_t dropped[INSPECTOR_DROPS]; /* the greatest totals so far */
};

struct inspector_speakers {
    struct inspector_speaker *items; /* owned */
    size_t count;
    size_t capacity;
    struct map numbers; /* hash, rank, pid, host -> index */
    struct intern texts;
};

void inspector_speakers_init(struct inspector_speakers *speakers);
void inspector_speakers_release(struct inspector_speakers *speakers);

/* The number of who is meant; -1 when memory is out. */
int64_t inspector_speaker(struct inspector_speakers *speakers, const struct inspector_identity *identity);

/* As a marker said it. Texts live as long as the speakers do. */
struct inspector_identity inspector_identity_of(const struct inspector_speakers *speakers, int64_t number);

/*
 * Takes what a marker counts. Losses that are new go to the sink, as the totals that they are; a total below
 * its own growth is noted, and the growth counts.
 */
int inspector_speaker_count(struct inspector_speakers *speakers, int64_t number,
                            const struct inspector_stats *stats, const struct format_sink *sink,
                            uint64_t offset, struct error *error);

#endif
