#ifndef NCCLPROF_TESTS_EVENTS_H
#define NCCLPROF_TESTS_EVENTS_H

#include "base/base.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/* Everything that a format hands over, copied. */
struct recorded_note {
    char *reason;
    int damage;
    uint64_t offset;
    char *detail;
    size_t detail_length;
};

struct recording {
    struct event *events; /* with texts and arrays of their own */
    size_t event_count;
    size_t event_capacity;
    struct recorded_note *notes;
    size_t note_count;
    size_t note_capacity;
    char dialect[64];
    int status; /* of reading */
    struct error error;
};

/* Reads a file, whatever its format; `recording` is filled anew. A path that no format takes has status -2.
 */
void recording_of_file(struct recording *recording, const char *path);

/* The same for bytes, as if they were in a file of that name. */
void recording_of_bytes(struct recording *recording, const char *name, const char *bytes, size_t length);
void recording_release(struct recording *recording);

/* How many notes with that reason; how many that tell of damage. */
size_t recording_notes(const struct recording *recording, const char *reason);
size_t recording_damage(const struct recording *recording);

/* How many events of a kind; the nth of them, NULL when there are fewer. */
size_t recording_count(const struct recording *recording, enum event_kind kind);
const struct event *recording_event(const struct recording *recording, enum event_kind kind, size_t n);

/* Fails the test, saying where, unless both have the same events and notes. */
void assert_same_events(const struct recording *left, const struct recording *right);

/* The whole content of a file, gunzipped when it is gzip; freed with free(). */
char *bytes_of_file(const char *path, size_t *length);

#endif
