#include "support/node_told.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void told_by(struct recording *recording, const char *name, const char *text)
{
    recording_of_bytes(recording, name, text, strlen(text));
    assert_int_equal(recording->status, 0);
}

static int is_of(const struct event *event, const char *device, enum node_metric metric)
{
    const struct node_sample *sample = &event->node_sample;
    if (event->kind != EVENT_NODE_SAMPLE || sample->metric != metric)
        return 0;
    return device && sample->device ? strcmp(sample->device, device) == 0 : !device && !sample->device;
}

const struct node_sample *told_sample(const struct recording *recording, const char *device,
                                      enum node_metric metric, size_t n)
{
    for (size_t i = 0; i < recording->event_count; i++)
        if (is_of(&recording->events[i], device, metric) && n-- == 0)
            return &recording->events[i].node_sample;
    return NULL;
}

size_t told_samples(const struct recording *recording, const char *device, enum node_metric metric)
{
    size_t count = 0;
    while (told_sample(recording, device, metric, count))
        count++;
    return count;
}

const struct node_event *told_event(const struct recording *recording, size_t n)
{
    const struct event *event = recording_event(recording, EVENT_NODE_EVENT, n);
    assert_non_null(event);
    return &event->node_event;
}

void check_sample(const struct node_sample *sample, int64_t begin_ns, int64_t at_ns, double value)
{
    assert_non_null(sample);
    assert_int_equal(sample->begin_ns, begin_ns);
    assert_int_equal(sample->at_ns, at_ns);
    assert_true(fabs(sample->value - value) <= fabs(value) * 1e-9);
}

static void read_damaged(const char *name, const char *bytes, size_t length)
{
    struct recording recording;
    recording_of_bytes(&recording, name, bytes, length);
    /* Damage at the beginning may hide what the file is. */
    assert_true(recording.status == 0 || recording.status == -2);
    recording_release(&recording);
}

void damage_told(const char *name, const char *text)
{
    size_t length = strlen(text), step = length / 200 + 1;
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    for (size_t at = 0; at < length; at += step) {
        read_damaged(name, text, at);
        memcpy(copy, text, length);
        copy[at] = '\xff';
        read_damaged(name, copy, length);
        copy[at] = '\0';
        read_damaged(name, copy, length);
    }
    free(copy);
}
