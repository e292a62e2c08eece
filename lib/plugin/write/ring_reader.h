/* Takes what the job's threads recorded out of their rings, in the order of its times. */
#ifndef PLUGIN_WRITE_RING_READER_H
#define PLUGIN_WRITE_RING_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/ring/record.h"

struct ring_cursor;

struct ring_reader {
    struct ring_cursor *cursors;
    unsigned room, count; /* of cursors: rings that hold something */
    uint64_t until_ns;
    uint64_t pause_ns; /* between two looks at rings that are being filled */
    void (*take)(void *owner, const struct record *record);
    void *owner;
    _Alignas(64) unsigned char record[RECORD_SLOTS_MAX * RECORD_SLOT_BYTES];
};

/* For rings of so many slots. */
void ring_reader_init(struct ring_reader *reader, uint64_t slots, void (*take)(void *, const struct record *),
                      void *owner);
void ring_reader_release(struct ring_reader *reader);

/*
 * Looks for all that was recorded up to now. Returns for how long to leave the rings alone after it has been
 * taken: looking at them all the time would take the lines that their threads write to away from them, and a
 * processor of the job's.
 */
uint64_t ring_reader_look(struct ring_reader *reader, uint64_t idle_ns);

/* Takes what the last look found. */
void ring_reader_take(struct ring_reader *reader);

#endif
