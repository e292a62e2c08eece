#include "base/base.h"
#include "format/flight_recorder/flight_recorder.h"
#include "format/format.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>

static int is_of_launch(const struct dump_entry *entry, const struct dump_entry *closing)
{
    return entry->group == closing->group && !entry->is_closing && !entry->is_member &&
           entry->pair_sequence == closing->pair_sequence &&
           entry->collective_sequence == closing->collective_sequence;
}

static void give_state(struct dump_entry *entry, const struct dump_entry *closing)
{
    entry->is_member = 1;
    entry->state = closing->state;
    entry->started_ns = closing->started_ns;
    entry->completed_ns = closing->completed_ns;
    entry->duration_ns = closing->duration_ns;
}

/* Adds a collective to the first of its launch. */
static void unite(struct dump_entry *first, struct dump_entry *entry)
{
    entry->is_left_out = 1;
    if (first->function != entry->function)
        first->function = FUNCTION_OTHER;
    if (first->bytes < 0 || entry->bytes < 0 ||
        __builtin_add_overflow(first->bytes, entry->bytes, &first->bytes))
        first->bytes = COUNT_UNKNOWN;
    if (first->count < 0 || entry->count < 0 ||
        __builtin_add_overflow(first->count, entry->count, &first->count))
        first->count = COUNT_UNKNOWN;
    if (first->datatype != entry->datatype)
        first->datatype = DATATYPE_UNKNOWN;
}

/* Whether a closing entry without members is a collective: sends and receives do not count those up. */
static int counts_up(const struct dump *dump, size_t at)
{
    const struct dump_entry *closing = &dump->entries[at];
    for (size_t i = at; i-- > 0;)
        if (dump->entries[i].group == closing->group)
            return dump->entries[i].collective_sequence < closing->collective_sequence;
    return closing->record == 0 || closing->record == COUNT_UNKNOWN;
}

static void settle(struct dump *dump, size_t at)
{
    struct dump_entry *closing = &dump->entries[at], *first = NULL;
    size_t members = 0;
    for (size_t i = at; i-- > 0;) {
        struct dump_entry *entry = &dump->entries[i];
        /* Other groups may have called in between, from other threads. */
        if (entry->group != closing->group)
            continue;
        if (!is_of_launch(entry, closing))
            break;
        members++;
        give_state(entry, closing);
        if (entry->is_pair)
            continue;
        if (first)
            unite(entry, first);
        first = entry;
    }
    dump->groups[closing->group].has_launches = 1;
    closing->is_left_out = members > 0 || !counts_up(dump, at);
}

/* Whether two sends or receives were launched at once. */
static int are_together(const struct dump_entry *one, const struct dump_entry *other)
{
    return one->group == other->group && other->is_pair && one->pair_sequence >= 0 &&
           one->pair_sequence == other->pair_sequence;
}

/* Whether the record behind an entry is missing: others follow, or its group has that number behind it. */
static int is_gap(const struct dump *dump, size_t at)
{
    const struct dump_entry *entry = &dump->entries[at];
    const struct dump_group *group = &dump->groups[entry->group];
    if (at + 1 < dump->entry_count)
        return entry->record >= 0 && entry[1].record > entry->record + 1;
    return !group->has_collectives && entry->pair_sequence >= 0 &&
           entry->pair_sequence <= group->last_completed;
}

/*
 * What has completed is not listed by itself. So a send or receive that is listed as open, and is what its
 * group completed last, was launched as one of several: its closing entry was left out, not itself.
 */
static void find_launches(struct dump *dump)
{
    for (size_t i = 0; i < dump->entry_count; i++) {
        const struct dump_entry *entry = &dump->entries[i];
        struct dump_group *group = &dump->groups[entry->group];
        if (entry->is_pair && !entry->is_member && entry->state != DUMP_COMPLETED &&
            !group->has_collectives && entry->pair_sequence >= 0 &&
            entry->pair_sequence == group->last_completed)
            group->has_launches = 1;
    }
}

/*
 * A dump of active entries alone lacks the closing entries of what has completed, but not their members. So
 * what was launched with others, or is of a group that does so, and is followed by a missing record, has
 * completed: that record was its closing entry.
 */
static void settle_without_closing(struct dump *dump)
{
    for (size_t i = 0, last; i < dump->entry_count; i = last + 1) {
        const struct dump_entry *entry = &dump->entries[i];
        last = i;
        if (!entry->is_pair || entry->is_member)
            continue;
        while (last + 1 < dump->entry_count && are_together(entry, &dump->entries[last + 1]))
            last++;
        if ((last == i && !dump->groups[entry->group].has_launches) || !is_gap(dump, last))
            continue;
        for (size_t k = i; k <= last; k++) {
            dump->entries[k].is_member = 1;
            dump->entries[k].state = DUMP_COMPLETED;
        }
    }
}

/*
 * Calls that were launched at once (batch_isend_irecv, coalesced collectives): a closing entry "coalesced"
 * comes behind them and has their state and times; theirs stay "scheduled" for ever. Gives each member what
 * its launch has. The collectives of a launch become one, of all their bytes: they have one number and one
 * kernel. A closing entry whose calls are there is left out; one without is a collective of which nothing
 * more is known (torch before 2.7 recorded only sends and receives inside), or what a ring's beginning left.
 */
static void dump_settle_launches(struct dump *dump)
{
    for (size_t i = 0; i < dump->entry_count; i++)
        if (dump->entries[i].is_closing)
            settle(dump, i);
    find_launches(dump);
    settle_without_closing(dump);
}

/* Leaves out what came last where the file is cut behind it: the closing entry of a launch may have followed.
 */
static void dump_drop_last(struct dump *dump)
{
    size_t at = dump->entry_count;
    while (at > 0) {
        struct dump_entry *entry = &dump->entries[--at];
        if (!entry->is_pair || entry->is_member || entry->state == DUMP_COMPLETED ||
            (at + 1 < dump->entry_count && !are_together(entry, &dump->entries[at + 1])))
            return;
        entry->is_left_out = 1;
    }
}

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
        dump_drop_last(dump);
    return note_gaps(dump, sink, error);
}
