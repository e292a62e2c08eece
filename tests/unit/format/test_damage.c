#include "base/base.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/events.h"
#include "support/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES = 200 };

static const char *const traces[] = {
    "fixtures/dialect-2.23.4/dump-vm-34243.txt",
    "fixtures/dialect-2.28.3/dump_9526740249684125710_0.json",
    "fixtures/dialect-2.30.7/dump_12787039387218017232_0.json",
    "fixtures/inspector-2.30/vm-pid33442.log",
    "fixtures/inspector-v4.3/node0-pid1000.log",
};

enum { TRACES = sizeof traces / sizeof *traces };

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

static int has(const char *line, const char *end, const char *what)
{
    return memmem(line, (size_t)(end - line), what, strlen(what)) != NULL;
}

/* An event is complete with this line, and reported with it or with the next. */
static int completes_event(const char *line, const char *end)
{
    int is_end = has(line, end, "\"ph\": \"e\"");
    int is_operation = has(line, end, "\"COLL\"") || has(line, end, "\"P2P\"");
    int is_proxy = has(line, end, "\"PROXY\"") && !has(line, end, "Schedule") && !has(line, end, "Idle") &&
                   !has(line, end, "Sleep") && !has(line, end, "Append");
    return has(line, end, "_perf\"") || has(line, end, "USER_TAG") || (is_end && (is_operation || is_proxy));
}

/* The number of events that are complete in the first `length` bytes, counting complete lines only. */
static size_t complete_events(const char *bytes, size_t length)
{
    size_t count = 0;
    const char *end = bytes + length;
    const char *newline;
    for (; (newline = memchr(bytes, '\n', (size_t)(end - bytes))); bytes = newline + 1)
        count += (size_t)completes_event(bytes, newline);
    return count;
}

/* The first `count` events are the same as in the complete file. */
static void assert_same_beginning(const struct recording *whole, const struct recording *part, size_t count)
{
    struct recording left = *whole;
    struct recording right = *part;
    assert_true(part->event_count >= count);
    left.event_count = right.event_count =
        count > 0 ? count - 1 : 0; /* the last may have lost the end of its call */
    left.note_count = right.note_count = 0;
    memcpy(right.dialect, left.dialect, sizeof right.dialect);
    assert_same_events(&left, &right);
}

static void cut_anywhere(void **state)
{
    for (int i = 0; i < TRACES; i++) {
        struct recording whole;
        size_t length;
        char *bytes = bytes_of_file(traces[i], &length);
        recording_of_bytes(&whole, name_of(traces[i]), bytes, length);
        for (int copy = 0; copy < COPIES; copy++) {
            struct recording part;
            size_t cut = 200 + random_number() % (length - 200);
            recording_of_bytes(&part, name_of(traces[i]), bytes, cut);
            assert_int_equal(part.status, 0);
            assert_same_beginning(&whole, &part, complete_events(bytes, cut));
            recording_release(&part);
        }
        recording_release(&whole);
        free(bytes);
    }
}

/* A wrong byte costs at most the events of its line, and those that belong to them. */
static void one_wrong_byte(void **state)
{
    for (int i = 0; i < TRACES; i++) {
        struct recording whole;
        size_t length;
        char *bytes = bytes_of_file(traces[i], &length);
        recording_of_bytes(&whole, name_of(traces[i]), bytes, length);
        size_t operations = recording_count(&whole, EVENT_OPERATION);
        for (int copy = 0; copy < COPIES; copy++) {
            struct recording part;
            size_t at = 200 + random_number() % (length - 200);
            char before = bytes[at];
            bytes[at] = (char)random_number();
            recording_of_bytes(&part, name_of(traces[i]), bytes, length);
            assert_int_equal(part.status, 0);
            bytes[at] = before;
            while (at > 0 && bytes[at - 1] != '\n')
                at--;
            assert_same_beginning(&whole, &part, complete_events(bytes, at));
            assert_true(recording_count(&part, EVENT_OPERATION) + 2 >= operations);
            recording_release(&part);
        }
        recording_release(&whole);
        free(bytes);
    }
}

static void many_wrong_bytes(void **state)
{
    for (int i = 0; i < TRACES; i++) {
        size_t length;
        char *bytes = bytes_of_file(traces[i], &length);
        for (int copy = 0; copy < COPIES; copy++) {
            struct recording part;
            for (int flips = 0; flips < 20; flips++)
                bytes[200 + random_number() % (length - 200)] = (char)random_number();
            recording_of_bytes(&part, name_of(traces[i]), bytes, length);
            assert_int_equal(part.status, 0);
            recording_release(&part);
        }
        free(bytes);
    }
}

/* Ways in which other tools write the same objects. */
enum layout {
    LAYOUT_ONE_LINE,
    LAYOUT_INDENTED,
    LAYOUT_LONE_BRACES,
    LAYOUT_BROKEN_AT_COMMAS,
    LAYOUT_CARRIAGE_RETURNS,
    LAYOUT_COMMA_FIRST,
    LAYOUTS
};

static void put_indented(struct buffer *out, char byte, enum layout layout, int *depth)
{
    if (byte == '}' || byte == ']')
        assert_int_equal(buffer_printf(out, "\n%*s", 2 * --*depth, ""), 0);
    if (layout == LAYOUT_LONE_BRACES && (byte == '{' || byte == '['))
        assert_int_equal(buffer_printf(out, "\n%*s", 2 * *depth, ""), 0);
    assert_int_equal(buffer_append_byte(out, byte), 0);
    if (byte == '{' || byte == '[')
        ++*depth;
    if (byte == '{' || byte == '[' || byte == ',')
        assert_int_equal(buffer_printf(out, "\n%*s", 2 * *depth, ""), 0);
    if (byte == ':')
        assert_int_equal(buffer_append_byte(out, ' '), 0);
}

static void put(struct buffer *out, char byte, int in_string, enum layout layout, int *depth)
{
    int is_space = !in_string && (byte == ' ' || byte == '\n');
    if ((layout == LAYOUT_INDENTED || layout == LAYOUT_LONE_BRACES) && !in_string) {
        if (!is_space)
            put_indented(out, byte, layout, depth);
    } else if (layout == LAYOUT_BROKEN_AT_COMMAS && byte == ',' && !in_string) {
        assert_int_equal(buffer_append_text(out, ",\n"), 0);
    } else if (layout == LAYOUT_CARRIAGE_RETURNS && byte == '\n') {
        assert_int_equal(buffer_append_text(out, "\r\n"), 0);
    } else if (layout == LAYOUT_COMMA_FIRST && byte == '\n' && out->length &&
               out->data[out->length - 1] == ',') {
        out->length--;
        assert_int_equal(buffer_append_text(out, "\n,"), 0);
    } else if (layout != LAYOUT_ONE_LINE || !is_space) {
        assert_int_equal(buffer_append_byte(out, byte), 0);
    }
}

static struct buffer lay_out(const char *bytes, size_t length, enum layout layout)
{
    struct buffer out = BUFFER_INIT;
    int in_string = 0;
    int depth = 0;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"')
            in_string = !in_string;
        put(&out, bytes[i], in_string, layout, &depth);
    }
    return out;
}

static void forget_offsets(struct recording *recording)
{
    for (size_t i = 0; i < recording->event_count; i++)
        recording->events[i].origin.offset = 0;
    for (size_t i = 0; i < recording->note_count; i++)
        recording->notes[i].offset = 0;
}

static void assert_layouts_say_the_same(const char *path)
{
    struct recording whole;
    size_t length;
    char *bytes = bytes_of_file(path, &length);
    recording_of_bytes(&whole, name_of(path), bytes, length);
    forget_offsets(&whole);
    for (int layout = LAYOUT_ONE_LINE; layout < LAYOUTS; layout++) {
        struct recording other;
        struct buffer text = lay_out(bytes, length, (enum layout)layout);
        recording_of_bytes(&other, name_of(path), text.data, text.length);
        assert_int_equal(recording_damage(&other), 0);
        forget_offsets(&other);
        assert_same_events(&whole, &other);
        recording_release(&other);
        buffer_release(&text);
    }
    recording_release(&whole);
    free(bytes);
}

static void other_layouts_say_the_same(void **state)
{
    assert_layouts_say_the_same("fixtures/dialect-2.30.7/dump_12787039387218017232_0.json");
    assert_layouts_say_the_same("fixtures/inspector-pr2045-verbose/vm-pid31031.log");
    assert_layouts_say_the_same("fixtures/inspector-v4.1/node0-pid1000.log");
    assert_layouts_say_the_same("fixtures/inspector-v4.3/node0-pid1000.log");
    assert_layouts_say_the_same("fixtures/inspector-v4.3-proxy/node0-pid1000.log");
    assert_layouts_say_the_same("fixtures/inspector-v4.4/node0-pid1001.log");
}

/*
 * Two records, the first truncated: only that is lost. If an object could have come next, it is replaced by
 * the other.
 */
static void assert_cut_costs_itself(const char *record, size_t length, size_t cut)
{
    struct recording recording;
    struct buffer text = BUFFER_INIT;
    size_t last = cut - 1;
    while (record[last] == ' ' || record[last] == '\n')
        last--;
    assert_int_equal(buffer_append(&text, record, cut), 0);
    for (int times = 0; times < 2; times++)
        assert_int_equal(buffer_append_byte(&text, '\n') || buffer_append(&text, record, length), 0);
    recording_of_bytes(&recording, "a.log", text.data, text.length);
    assert_int_equal(recording.status, 0);
    assert_int_equal(recording_damage(&recording), 1);
    if (!strchr(":[,", record[last]))
        assert_int_equal(recording.event_count + recording_notes(&recording, "duplicate record"), 2);
    recording_release(&recording);
    buffer_release(&text);
}

static void a_cut_object_costs_itself(void **state)
{
    static const char path[] = "fixtures/inspector-pr2045-verbose/vm-pid31031.log";
    size_t length;
    char *bytes = bytes_of_file(path, &length);
    size_t line = (size_t)((char *)memchr(bytes, '\n', length) - bytes);
    struct buffer indented = lay_out(bytes, line, LAYOUT_INDENTED);
    for (size_t cut = 100; cut < line; cut++)
        assert_cut_costs_itself(bytes, line, cut);
    for (size_t cut = 200; cut < indented.length - 2; cut++)
        assert_cut_costs_itself(indented.data, indented.length, cut);
    buffer_release(&indented);
    free(bytes);
}

/* Some events missing, some twice. */
static struct buffer with_lines_lost(const char *bytes, size_t length)
{
    struct buffer out = BUFFER_INIT;
    const char *end = bytes + length;
    const char *newline;
    for (; (newline = memchr(bytes, '\n', (size_t)(end - bytes))); bytes = newline + 1) {
        size_t line = (size_t)(newline + 1 - bytes);
        uint64_t chance = memcmp(bytes, "{\"name\"", 7) == 0 ? random_number() % 24 : 2;
        for (uint64_t times = chance == 0 ? 0 : chance == 1 ? 2 : 1; times > 0; times--)
            assert_int_equal(buffer_append(&out, bytes, line), 0);
    }
    return out;
}

/*
 * Lines are read in bulk if each ends with its comma, and one by one if commas come first: whatever is lost
 * between them, both give the same result.
 */
static void both_ways_lose_the_same(void **state)
{
    static const char path[] = "fixtures/dialect-2.30.7/dump_12787039387218017232_0.json";
    size_t length;
    char *bytes = bytes_of_file(path, &length);
    for (int i = 0; i < COPIES; i++) {
        struct recording left;
        struct recording right;
        struct buffer text = with_lines_lost(bytes, length);
        struct buffer other = lay_out(text.data, text.length, LAYOUT_COMMA_FIRST);
        recording_of_bytes(&left, name_of(path), text.data, text.length);
        recording_of_bytes(&right, name_of(path), other.data, other.length);
        assert_same_events(&left, &right);
        recording_release(&left);
        recording_release(&right);
        buffer_release(&text);
        buffer_release(&other);
    }
    free(bytes);
}

/* With a byte order mark the result is the same, three bytes further on, also that the array does not end. */
static void a_byte_order_mark(void **state)
{
    for (int i = 0; i < TRACES; i++) {
        struct recording plain, marked;
        struct buffer text = BUFFER_INIT;
        size_t length;
        char *bytes = bytes_of_file(traces[i], &length);
        recording_of_bytes(&plain, name_of(traces[i]), bytes, length / 2);
        assert_int_equal(buffer_append(&text, "\xef\xbb\xbf", 3), 0);
        assert_int_equal(buffer_append(&text, bytes, length / 2), 0);
        recording_of_bytes(&marked, name_of(traces[i]), text.data, text.length);
        assert_true(plain.note_count > 0);
        for (size_t at = 0; at < marked.event_count; at++)
            marked.events[at].origin.offset -= 3;
        for (size_t at = 0; at < marked.note_count; at++)
            marked.notes[at].offset -= 3;
        assert_same_events(&plain, &marked);
        recording_release(&plain);
        recording_release(&marked);
        buffer_release(&text);
        free(bytes);
    }
}

/*
 * One event per line, with its name after all other members: {"cat": ..., "name": "KernelCh"}, as a tool that
 * sorts keys writes it.
 */
static struct buffer with_names_last(const char *bytes, size_t length)
{
    struct buffer out = BUFFER_INIT;
    const char *end = bytes + length;
    const char *newline;
    for (; (newline = memchr(bytes, '\n', (size_t)(end - bytes))); bytes = newline + 1) {
        const char *brace = memrchr(bytes, '}', (size_t)(newline - bytes));
        const char *comma = memchr(bytes, ',', (size_t)(newline - bytes));
        int is_event = memcmp(bytes, "{\"name\"", 7) == 0;
        size_t plain = (size_t)(newline + 1 - bytes);
        assert_int_equal(is_event ? buffer_printf(&out, "{%.*s, %.*s},\n", (int)(brace - comma - 2),
                                                  comma + 2, (int)(comma - bytes - 1), bytes + 1)
                                  : buffer_append(&out, bytes, plain),
                         0);
    }
    return out;
}

/* Many times an array on one line, in one array. */
static struct buffer repeated(const struct buffer *line, int times)
{
    struct buffer text = BUFFER_INIT;
    size_t body = line->length - strlen("[{}]");
    assert_int_equal(buffer_append_byte(&text, '['), 0);
    for (int i = 0; i < times; i++)
        assert_int_equal(buffer_append(&text, line->data + 1, body), 0);
    assert_int_equal(buffer_append_text(&text, "{}]"), 0);
    return text;
}

/* Megabytes on one line, split into pieces: nothing is lost at the boundaries. */
static void assert_long_line_is_read(const char *path, const char *bytes, size_t length)
{
    enum { REPEATED = 800 };
    struct recording once;
    struct recording many;
    struct buffer line = lay_out(bytes, length, LAYOUT_ONE_LINE);
    struct buffer text = repeated(&line, REPEATED);
    recording_of_bytes(&once, name_of(path), bytes, length);
    recording_of_bytes(&many, name_of(path), text.data, text.length);
    assert_true(text.length > 3 << 20);
    assert_int_equal(recording_damage(&many), 0);
    assert_int_equal(many.event_count, REPEATED * once.event_count);
    recording_release(&once);
    recording_release(&many);
    buffer_release(&text);
    buffer_release(&line);
}

static void a_very_long_line(void **state)
{
    static const char path[] = "fixtures/dialect-2.30.7/dump_12787039387218017232_0.json";
    size_t length;
    char *bytes = bytes_of_file(path, &length);
    struct buffer other = with_names_last(bytes, length);
    assert_long_line_is_read(path, bytes, length);
    assert_long_line_is_read(path, other.data, other.length);
    buffer_release(&other);
    free(bytes);
}

/* On one line or many, also if one event is unreadable. */
static void other_orders_of_keys_say_the_same(void **state)
{
    static const char path[] = "fixtures/dialect-2.30.7/dump_12787039387218017232_0.json";
    struct recording whole, moved;
    size_t length;
    char *bytes = bytes_of_file(path, &length);
    struct buffer other = with_names_last(bytes, length);
    struct buffer line = lay_out(other.data, other.length, LAYOUT_ONE_LINE);
    recording_of_bytes(&whole, name_of(path), bytes, length);
    recording_of_bytes(&moved, name_of(path), line.data, line.length);
    forget_offsets(&whole);
    forget_offsets(&moved);
    assert_int_equal(recording_damage(&moved), 0);
    assert_same_events(&whole, &moved);
    recording_release(&moved);
    line.data[strlen("[{\"cat\"")] = ';';
    recording_of_bytes(&moved, name_of(path), line.data, line.length);
    assert_int_equal(recording_notes(&moved, "unreadable text"), 1);
    assert_int_equal(moved.event_count, whole.event_count);
    recording_release(&moved);
    recording_release(&whole);
    buffer_release(&line);
    buffer_release(&other);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(one_wrong_byte),
        cmocka_unit_test(many_wrong_bytes),
        cmocka_unit_test(other_layouts_say_the_same),
        cmocka_unit_test(a_cut_object_costs_itself),
        cmocka_unit_test(both_ways_lose_the_same),
        cmocka_unit_test(a_byte_order_mark),
        cmocka_unit_test(other_orders_of_keys_say_the_same),
        cmocka_unit_test(a_very_long_line),
    };
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
