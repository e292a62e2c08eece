#include "support/same_kineto.h"
#include "format/kineto/kineto.h"

#include <string.h>

#define SAME(member)                     \
    do {                                 \
        if (left.member != right.member) \
            return #member;              \
    } while (0)

#define SAME_TEXT(member)                                                  \
    do {                                                                   \
        if (left.member.length != right.member.length ||                   \
            (left.member.length && left.member.text != right.member.text)) \
            return #member;                                                \
    } while (0)

static const char *in_numbers(struct kineto_arguments left, struct kineto_arguments right)
{
    SAME(in_elements);
    SAME(out_elements);
    SAME(group_size);
    SAME(rank);
    SAME(sender);
    SAME(receiver);
    SAME(sequence);
    SAME(first_rank);
    SAME(stride);
    SAME(external_id);
    SAME(correlation);
    SAME(device);
    SAME(stream);
    SAME(has_graph);
    return NULL;
}

static const char *in_texts(struct kineto_arguments left, struct kineto_arguments right)
{
    SAME_TEXT(collective);
    SAME_TEXT(datatype);
    SAME_TEXT(group);
    SAME_TEXT(description);
    SAME_TEXT(ranks);
    SAME_TEXT(shapes);
    return NULL;
}

static const char *in_event(struct kineto_event left, struct kineto_event right)
{
    SAME(kind);
    if (left.kind == KINETO_OTHER)
        return NULL;
    SAME_TEXT(name);
    SAME(process);
    SAME(thread);
    SAME(begin_ns);
    SAME(duration_ns);
    const char *difference = in_numbers(left.arguments, right.arguments);
    return difference ? difference : in_texts(left.arguments, right.arguments);
}

const char *difference_of_kineto_readings(struct raw_json text, struct kineto_layouts *layouts)
{
    struct kineto_event quick, patient;
    const char *difference = NULL;
    int patient_status = kineto_event_read_any(text, &patient);
    /* The second time its own layout is known. */
    for (int i = 0; i < 2 && !difference; i++) {
        int quick_status = kineto_event_read(text, layouts, &quick);
        difference = quick_status != patient_status ? "the status"
                     : quick_status                 ? NULL
                                                    : in_event(quick, patient);
    }
    return difference;
}
