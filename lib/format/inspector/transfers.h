#ifndef NCCLPROF_FORMAT_INSPECTOR_TRANSFERS_H
#define NCCLPROF_FORMAT_INSPECTOR_TRANSFERS_H

#include "format/inspector/speakers.h"

/*
 * Puts proxy operations together from their records and finds the operations that they belong to. A record
 * names its operation by the number that its communicator counts for each function apart, and not the
 * function: of the operations of that number it is the one that was under way. That one may be written after
 * its proxy operations, one dump later at most, so each is held back until two dumps have come.
 */

/* How many operations are remembered, and how many proxy operations and network steps are held back at most.
 */
enum { TRANSFERS_REMEMBERED = 1 << 16, TRANSFERS_HELD = 1 << 15, TRANSFERS_STEPS_HELD = 1 << 17 };

struct inspector_transfers {
    const struct format_sink *sink;
    const struct inspector_speakers *speakers;
    struct transfer_parent *parents; /* the last TRANSFERS_REMEMBERED, by their number modulo that */
    int64_t parent_count;
    struct map latest_parent; /* speaker, kind, sequence -> number of the latest parent */
    struct transfer_array {
        struct transfer *items;
        size_t first; /* those before it are gone */
        size_t count;
        size_t capacity;
    } open, done;           /* those whose end has not come; those whose operation may still come */
    struct map open_number; /* speaker, number -> index in `open` */
    size_t steps_held;
};

void inspector_transfers_init(struct inspector_transfers *transfers, const struct format_sink *sink,
                              const struct inspector_speakers *speakers);
void inspector_transfers_release(struct inspector_transfers *transfers);

/* An operation that proxy operations may belong to. */
int inspector_transfers_parent(struct inspector_transfers *transfers, int64_t speaker,
                               const struct operation *operation, struct error *error);

/* A record of a proxy operation; its steps are read from `json`. */
int inspector_transfers_add(struct inspector_transfers *transfers, int64_t speaker, struct json *json,
                            const struct inspector_proxy *proxy, uint64_t offset, struct error *error);

/* Hands over whose time has come: after each marker. */
int inspector_transfers_settle(struct inspector_transfers *transfers, struct error *error);

/* Hands over all. */
int inspector_transfers_end(struct inspector_transfers *transfers, struct error *error);

#endif
