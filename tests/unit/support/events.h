#ifndef NCCLPROF_TESTS_EVENTS_H
#define NCCLPROF_TESTS_EVENTS_H

#include "base/base.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/* Everything that a format reports, copied. */
struct recorded_note {
    char *reason;
    int damage;
    uint64_t offset;
    char *detail;
    size_t detail_length;
};

struct recording {
    struct event *events; /* with their own texts and arrays */
    size_t event_count;
    size_t event_capacity;
    struct recorded_note *notes;
    size_t note_count;
    size_t note_capacity;
    char dialect[64];
    int status; /* status of reading */
    struct error error;
};

/* Reads a file of any format; `recording` is filled again. A path that no format recognizes has status -2. */
void recording_of_file(struct recording *recording, const char *path);

/* The same for bytes, as if they were in a file of that name. */
void recording_of_bytes(struct recording *recording, const char *name, const char *bytes, size_t length);
void recording_release(struct recording *recording);

/* The number of notes with that reason; the number of notes about damage. */
size_t recording_notes(const struct recording *recording, const char *reason);
size_t recording_damage(const struct recording *recording);

/* The number of events of a kind; the nth of them, or NULL if there are fewer. */
size_t recording_count(const struct recording *recording, enum event_kind kind);
const struct event *recording_event(const struct recording *recording, enum event_kind kind, size_t n);

/* Fails the test, with the place, unless both have the same events and notes. */
void assert_same_events(const struct recording *left, const struct recording *right);

/* The complete content of a file, unpacked if it is gzip; freed with free(). */
char *bytes_of_file(const char *path, size_t *length);

#endif
