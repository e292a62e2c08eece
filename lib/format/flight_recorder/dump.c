#include "format/flight_recorder/dump.h"

#include "format/flight_recorder/entry.h"
#include "format/flight_recorder/groups.h"
#include "format/flight_recorder/launches.h"

#include <stdlib.h>

/* An entry is at least a dictionary of a name and a state, which are texts or references to them. */
enum { ENTRY_BYTES_LEAST = 11 };

/* The newest version whose keys are known. */
enum { VERSION_MAJOR = 2, VERSION_MINOR = 11 };

void dump_init(struct dump *dump)
{
    *dump = (struct dump){.version = NULL};
    intern_init(&dump->sources);
    map_init(&dump->group_of);
    dump_shared_init(&dump->shared);
}

void dump_release(struct dump *dump)
{
    free(dump->groups);
    free(dump->entries);
    intern_release(&dump->sources);
    map_release(&dump->group_of);
    dump_shared_release(&dump->shared);
}

struct rank_list dump_members(const struct dump *dump, const struct dump_group *group)
{
    static const struct rank_list none = {.ranks = NULL};
    return group->list < 0 ? none : dump->shared.lists[group->list];
}

static int note(const struct format_sink *sink, const char *reason, int damage, uint64_t offset,
                const struct value *detail, struct error *error)
{
    const char *text = detail && detail->kind == VALUE_TEXT ? detail->text : NULL;
    return sink->note(sink->context, reason, damage, offset, text, text ? detail->length : 0, error);
}

/* "2.10" is after "2.9". */
static int is_newer(const struct value *version)
{
    int part = 0, numbers[2] = {0, 0};
    for (uint32_t i = 0; i < version->length && part < 2; i++) {
        char byte = version->text[i];
        if (byte == '.')
            part++;
        else if (byte < '0' || byte > '9' || numbers[part] > 1000)
            return 0;
        else
            numbers[part] = numbers[part] * 10 + (byte - '0');
    }
    return numbers[0] > VERSION_MAJOR || (numbers[0] == VERSION_MAJOR && numbers[1] > VERSION_MINOR);
}

static int take_version(struct dump *dump, const struct value *version, const struct format_sink *sink,
                        struct error *error)
{
    if (!version)
        return 0;
    if (version->kind != VALUE_TEXT)
        return note(sink, "value of an unexpected type", 1, 0, NULL, error);
    dump->version = version;
    return is_newer(version) ? note(sink, FORMAT_NOTE_NEWER, 0, 0, version, error) : 0;
}

static int take_entries(struct dump *dump, const struct value_items *list, size_t bytes,
                        const struct format_sink *sink, struct error *error)
{
    struct entry_reader reader;
    if (list->count > bytes / ENTRY_BYTES_LEAST)
        return note(sink, "more entries than are written", 1, list->offset, NULL, error);
    entry_reader_init(&reader, dump, bytes);
    for (size_t i = 0; i < list->count; i++) {
        const struct value *value = &list->items[i];
        int status = entry_take(&reader, value);
        if (status < 0)
            return error_no_memory(error);
        /* What the file was cut in is damage that is told already. */
        int is_cut = value->kind == VALUE_DICTIONARY && value->items->is_cut;
        uint64_t offset = value->kind == VALUE_DICTIONARY ? value->items->offset : list->offset;
        if (status > 0 && !is_cut && note(sink, "unreadable entry", 1, offset, NULL, error))
            return -1;
    }
    for (size_t i = 0; i < reader.unread_frames; i++)
        if (note(sink, "frames over the expansion limit", 1, list->offset, NULL, error))
            return -1;
    return 0;
}

/* Records that are not there: a full ring writes over its oldest, and dumps may be of active entries alone.
 */
static int note_gaps(const struct dump *dump, const struct format_sink *sink, struct error *error)
{
    int64_t first = dump->entry_count ? dump->entries[0].record : COUNT_UNKNOWN;
    int64_t last = dump->entry_count ? dump->entries[dump->entry_count - 1].record : COUNT_UNKNOWN;
    if (first > 0 && sink->note(sink->context, "entries before the ring's first", 0, dump->entries[0].offset,
                                NULL, 0, error))
        return -1;
    return first >= 0 && last - first >= (int64_t)dump->entry_count
               ? sink->note(sink->context, "completed entries left out by the dump", 0,
                            dump->entries[0].offset, NULL, 0, error)
               : 0;
}

/* {"ok": false, "reason": "timed out after ..."} */
static void take_failure(struct dump *dump, const struct value *root)
{
    const struct value *ok = value_member(root, "ok"), *reason = value_member(root, "reason");
    if (ok && ok->kind == VALUE_BOOLEAN && !ok->integer && reason && reason->kind == VALUE_TEXT)
        dump->no_dump = reason;
}

/* Calls that were retired when they were issued may be over, and may not: nothing waits in them as recorded.
 */
static void take_as_done(struct dump *dump)
{
    for (size_t i = 0; i < dump->entry_count; i++)
        if (dump_group_tells_no_ends(&dump->groups[dump->entries[i].group]))
            dump->entries[i].state = DUMP_COMPLETED;
}

int dump_take(struct dump *dump, const struct value *root, size_t bytes, const struct format_sink *sink,
              struct error *error)
{
    const struct value *entries = root->kind == VALUE_LIST ? root : value_member(root, "entries");
    size_t unread = 0;
    if (root->kind == VALUE_NULL)
        return 0;
    if (root->kind != VALUE_LIST && root->kind != VALUE_DICTIONARY)
        return note(sink, "value of an unexpected type", 1, 0, NULL, error);
    if (take_version(dump, value_member(root, "version"), sink, error))
        return -1;
    const struct value_items *items = value_list(entries);
    if (items && take_entries(dump, items, bytes, sink, error))
        return -1;
    unread += entries && !items && entries->kind != VALUE_NULL;
    if (dump_take_config(dump, value_member(root, "pg_config"), &unread) ||
        dump_take_status(dump, value_member(root, "pg_status"), &unread))
        return error_no_memory(error);
    for (; unread > 0; unread--)
        if (note(sink, "value of an unexpected type", 1, 0, NULL, error))
            return -1;
    if (!items)
        take_failure(dump, root);
    dump_settle_launches(dump);
    take_as_done(dump);
    if (items && items->is_cut)
        dump_leave_out_last(dump);
    return note_gaps(dump, sink, error);
}
