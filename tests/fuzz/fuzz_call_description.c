/*
 * Arbitrary bytes as a line of text. Each call description that is found has a name and a rank, its rank is
 * in range of its group, and the result does not depend on the text before or after it. The first byte adds a
 * part of a description around the rest, so that most lines contain one.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "model/model.h"
#include "require.h"

#include <stdlib.h>
#include <string.h>

struct found {
    size_t calls;
    size_t notes;
    int64_t ranks; /* sum */
};

static int take_event(void *context, const struct event *event, struct error *error)
{
    struct found *found = context;
    const struct call_description *call = &event->call;
    require(event->kind == EVENT_CALL_DESCRIPTION, "a description");
    require(call->name != NULL && call->name[0] && call->rank >= 0, "a name and a rank");
    require((call->group == NULL) == (call->group_count == 0), "a group has ranks");
    for (size_t i = 0; i < call->group_count; i++)
        require(call->group[i] >= 0, "ranks count from 0");
    found->calls++;
    found->ranks ^= call->rank;
    return 0;
}

static int take_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                     size_t detail_length, struct error *error)
{
    struct found *found = context;
    require(reason != NULL && damage && offset == 7, "damage at the line");
    found->notes++;
    return 0;
}

static struct found read_line(const char *text, size_t length)
{
    static const struct origin nobody = {.pid = COUNT_UNKNOWN};
    struct found found = {0};
    const struct format_sink sink = {&found, take_event, take_note};
    struct call_reader reader;
    struct error error = ERROR_INIT;
    size_t taken;
    call_reader_init(&reader, 1);
    require(call_line_read(&reader, (struct text){text, length}, 7, &nobody, TIME_UNKNOWN, 0, &sink, &taken,
                           &error) == 0,
            "memory");
    require(taken == found.calls + found.notes, "what is taken is told");
    require(call_line_is_candidate((struct text){text, length}) || !taken,
            "what may not hold one holds none");
    call_reader_release(&reader);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const char *const before[] = {"", "{\"name\": \"", "{\"name\": \"all_reduce\", \"rank\": 3, "};
    static const char *const behind[] = {"", "\", \"rank\": 1, \"message_size\": 5}", "\"message_size\": 5}"};
    struct buffer line = BUFFER_INIT;
    if (!length)
        return 0;
    size_t kind = bytes[0] % 3;
    require(!buffer_append_text(&line, before[kind]) &&
                !buffer_append(&line, (const char *)bytes + 1, length - 1) &&
                !buffer_append_text(&line, behind[kind]),
            "memory");
    struct found found = read_line(line.data, line.length);
    /* A complete description before it is found as well. */
    struct buffer more = BUFFER_INIT;
    require(!buffer_append_text(&more, "{\"name\": \"x\", \"rank\": 2, \"message_size\": 1}") &&
                !buffer_append(&more, line.data, line.length),
            "memory");
    struct found both = read_line(more.data, more.length);
    require(both.calls == found.calls + 1 && both.notes == found.notes && both.ranks == (found.ranks ^ 2),
            "what stands before changes nothing");
    buffer_release(&line);
    buffer_release(&more);
    return 0;
}
