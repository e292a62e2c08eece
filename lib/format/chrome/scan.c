/*
 * The fast way to read lines of a Chrome trace: learns the layout of decoded lines and reads later lines of
 * the same layout by comparing their words.
 */
#include "format/chrome/chrome.h"
#include "format/internal.h"
#include "input/input.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The longest known lines have 22 values and 400 bytes of words. */
enum { LAYOUT_FIELDS = 32, LAYOUT_BYTES = 768, NESTING_MOST = 4 };

/* Words and the values between them, up to the end of the object. */
struct chrome_layout {
    struct chrome_line line; /* what all lines of this layout have in common */
    struct scan_field fields[LAYOUT_FIELDS];
    size_t count;
    int is_usual; /* the first four values are id, process, thread and time */
    size_t phase; /* place of the phase letter in the words before the first value; 0: not there */
    int is_wait;  /* the begin of a wait, with its step as the last value */
    /*
     * The text between id and time repeats from line to line: this is the last one, and its values. Length 0:
     * none yet.
     */
    char middle[CHROME_REPEAT_BYTES];
    size_t middle_length;
    int64_t pid;
    char words[LAYOUT_BYTES]; /* of all fields */
    size_t word_bytes;
};

void chrome_scanner_init(struct chrome_scanner *scanner)
{
    *scanner = (struct chrome_scanner){.layout_count = 0};
}

void chrome_scanner_release(struct chrome_scanner *scanner)
{
    for (size_t i = 0; i < scanner->layout_count; i++)
        free(scanner->layouts[i]);
    chrome_scanner_init(scanner);
}

/* A line whose layout is being learned. */
struct learning {
    struct chrome_layout *layout;
    const char *at;                                   /* text before this is part of the layout */
    const struct chrome_member *found[LAYOUT_FIELDS]; /* members so far */
    size_t found_count;
    unsigned places; /* 1 << enum chrome_place of the objects so far */
};

static int add_field(struct learning *learning, const char *value, const char *past, enum scan_type type,
                     size_t offset)
{
    struct chrome_layout *layout = learning->layout;
    size_t length = (size_t)(value - learning->at);
    if (layout->count == LAYOUT_FIELDS || length > LAYOUT_BYTES - layout->word_bytes)
        return -1;
    char *words = layout->words + layout->word_bytes;
    memcpy(words, learning->at, length);
    layout->fields[layout->count++] = (struct scan_field){words, length, type, offset};
    layout->word_bytes += length;
    learning->at = past;
    return 0;
}

/*
 * Finds the member with this key; NULL if it is not read, or if it is repeated, as the first one counts.
 * Returns -1 if another member fills the same place: only the decoder knows which of them counts.
 */
static int find_member(struct learning *learning, enum chrome_place place, struct raw_json key,
                       const struct chrome_member **member)
{
    *member = chrome_find_member(learning->layout->line.category, place, key);
    for (size_t i = 0; *member && i < learning->found_count; i++) {
        if (learning->found[i] == *member)
            *member = NULL;
        else if (learning->found[i]->offset == (*member)->offset)
            return -1;
    }
    if (*member && learning->found_count == LAYOUT_FIELDS)
        return -1;
    if (*member)
        learning->found[learning->found_count++] = *member;
    return 0;
}

static int is_number(struct raw_json value)
{
    return number_is_json(value.text, value.length);
}

/* Prefix of NCCL's type names, where they are printed without quotes. */
static const char datatype_prefix[] = "nccl";
enum { DATATYPE_PREFIX_BYTES = sizeof datatype_prefix - 1 };

/* How to skip a value that is not read. SCAN_NOTHING: it is one of the words. */
static enum scan_type form_to_skip(struct raw_json value)
{
    if (*value.text == '"')
        return SCAN_SKIP_TEXT;
    if (!is_number(value) || memchr(value.text, 'e', value.length) || memchr(value.text, 'E', value.length))
        return SCAN_NOTHING;
    if (!memchr(value.text, '.', value.length))
        return SCAN_SKIP_INTEGER;
    return *value.text == '-' ? SCAN_NOTHING : SCAN_SKIP_DECIMAL;
}

static enum scan_type form_of(const struct chrome_member *member, struct raw_json value)
{
    int is_text = *value.text == '"';
    switch (member->type) {
    case SCAN_DATATYPE:
        if (is_number(value))
            return SCAN_DATATYPE_NUMBER;
        if (value.length >= DATATYPE_PREFIX_BYTES &&
            memcmp(value.text, datatype_prefix, DATATYPE_PREFIX_BYTES) == 0)
            return SCAN_DATATYPE_WORD;
        return is_text ? SCAN_DATATYPE : SCAN_NOTHING;
    case SCAN_ADDRESS:
        return is_text || *value.text == '0' || *value.text == '(' ? SCAN_ADDRESS : SCAN_NOTHING;
    case SCAN_ALGORITHM:
    case SCAN_PROTOCOL:
        return is_text ? member->type : SCAN_NOTHING;
    default:
        return is_number(value) ? member->type : SCAN_NOTHING;
    }
}

/* Members that identify the kind of event belong to the words. */
static int is_telling(struct learning *learning, enum chrome_place place, struct raw_json key,
                      const char *value)
{
    struct chrome_layout *layout = learning->layout;
    int is_phase = raw_json_is(key, "ph");
    if (place != CHROME_IN_EVENT || !(is_phase || raw_json_is(key, "name") || raw_json_is(key, "cat")))
        return 0;
    if (is_phase && layout->count == 0 && layout->phase == 0)
        layout->phase = (size_t)(value + 1 - learning->at);
    return 1;
}

static int learn_value(struct learning *learning, enum chrome_place place, struct raw_json key,
                       struct raw_json value)
{
    const struct chrome_member *member;
    const char *begin = value.text, *past = value.text + value.length;
    if (is_telling(learning, place, key, begin))
        return 0;
    if (find_member(learning, place, key, &member))
        return -1;
    enum scan_type type = member ? form_of(member, value) : form_to_skip(value);
    if (type == SCAN_NOTHING)
        return 0;
    if (*begin == '"') {
        begin++;
        past--;
    }
    if (type == SCAN_DATATYPE_WORD)
        begin += DATATYPE_PREFIX_BYTES;
    return add_field(learning, begin, past, type, member ? member->offset : 0);
}

/* The object with this key; not read if it is repeated. */
static enum chrome_place find_place(struct learning *learning, enum chrome_place outside, struct raw_json key)
{
    enum chrome_place place = chrome_find_place(outside, key);
    int is_again = place != CHROME_PLACES && (learning->places & (1U << place));
    if (place != CHROME_PLACES)
        learning->places |= 1U << place;
    return !is_again && chrome_reads_arguments(&learning->layout->line) ? place : CHROME_PLACES;
}

static int learn_members(struct learning *learning, enum chrome_place place, struct raw_json container,
                         int depth)
{
    struct raw_json_cursor cursor;
    struct raw_json key, value;
    int more;
    raw_json_enter(&cursor, container);
    while ((more = raw_json_next(&cursor, &key, &value)) == 1) {
        enum chrome_place inside = find_place(learning, place, key);
        int is_container = *value.text == '{' || *value.text == '[';
        int failed = is_container ? depth == NESTING_MOST || learn_members(learning, inside, value, depth + 1)
                                  : learn_value(learning, place, key, value);
        if (failed)
            return -1;
    }
    return more;
}

/* Whether a field stores a value of this type at this place. */
static int takes(const struct scan_field *field, enum scan_type type, size_t offset)
{
    return field->type == type && field->offset == offset;
}

#define IN_LINE(member) offsetof(struct chrome_line, member)

/* Finds out which of the fast paths fit a layout. */
static void look_at_layout(struct chrome_layout *layout)
{
    const struct scan_field *fields = layout->fields;
    layout->is_usual = layout->count > 4 && takes(&fields[0], SCAN_INTEGER, IN_LINE(id)) &&
                       takes(&fields[1], SCAN_INTEGER, IN_LINE(pid)) && fields[2].type == SCAN_SKIP_INTEGER &&
                       takes(&fields[3], SCAN_MOMENT, IN_LINE(time_ns));
    layout->is_wait = layout->is_usual && layout->count == 6 && layout->phase > 0 &&
                      layout->line.category == CHROME_NET && layout->line.phase == 'b' &&
                      takes(&fields[4], SCAN_NATURAL_OR_NONE, IN_LINE(step));
}

static int is_same_layout(const struct chrome_layout *left, const struct chrome_layout *right)
{
    if (left->count != right->count || left->word_bytes != right->word_bytes ||
        memcmp(left->words, right->words, left->word_bytes) != 0)
        return 0;
    for (size_t i = 0; i < left->count; i++)
        if (left->fields[i].length != right->fields[i].length ||
            left->fields[i].type != right->fields[i].type)
            return 0;
    return 1;
}

/*
 * Where a layout is stored: in a new place, or in that of the oldest. NULL: it is known already, or memory is
 * out.
 */
static struct chrome_layout *place_for(struct chrome_scanner *scanner, const struct chrome_layout *learnt,
                                       size_t *number)
{
    for (size_t i = 0; i < scanner->layout_count; i++)
        if (is_same_layout(scanner->layouts[i], learnt))
            return NULL;
    *number = scanner->layout_count;
    if (scanner->layout_count == CHROME_LAYOUTS) {
        *number = scanner->oldest;
        scanner->oldest = (scanner->oldest + 1) % CHROME_LAYOUTS;
    } else if ((scanner->layouts[*number] = malloc(sizeof *learnt))) {
        scanner->layout_count++;
    }
    return scanner->layouts[*number];
}

static int is_learnt(enum chrome_category category)
{
    return category != CHROME_OTHER && category != CHROME_CE_COLL && category != CHROME_USER_TAG &&
           category != CHROME_NCCLPROF;
}

void chrome_scanner_learn(struct chrome_scanner *scanner, const char *text, size_t length,
                          const struct chrome_line *line)
{
    struct chrome_layout learnt;
    struct learning learning = {.layout = &learnt, .at = text};
    size_t number;
    if (!is_learnt(line->category) || memchr(text, '\\', length))
        return;
    memset(&learnt, 0, sizeof learnt);
    learnt.line = *line;
    if (learn_members(&learning, CHROME_IN_EVENT, (struct raw_json){text, length}, 0) ||
        add_field(&learning, text + length, text + length, SCAN_NOTHING, 0))
        return;
    look_at_layout(&learnt);
    struct chrome_layout *layout = place_for(scanner, &learnt, &number);
    if (!layout)
        return;
    *layout = learnt;
    for (size_t i = 0; i < layout->count; i++)
        layout->fields[i].words = layout->words + (learnt.fields[i].words - learnt.words);
    scanner->follower[scanner->latest] = (unsigned char)number;
    scanner->latest = (unsigned char)number;
}

/* Reads values between words, the frequent types inlined. */
static inline const char *scan_some(const char *at, const char *end, const struct scan_field *fields,
                                    size_t count, struct chrome_line *line)
{
    for (const struct scan_field *field = fields; at && field < fields + count; field++) {
        at = scan_words(at, end, field->words, field->length);
        if (at)
            at = scan_value(at, end, field->type, (char *)line + field->offset);
    }
    return at;
}

/* Reads from after the id to the time, word by word. */
static const char *scan_new_middle(struct chrome_layout *layout, const char *at, const char *end)
{
    const struct scan_field *fields = &layout->fields[1];
    struct chrome_line line;
    const char *past = scan_fields(at, end, fields, 2, &line);
    past = past ? scan_words(past, end, fields[2].words, fields[2].length) : NULL;
    layout->middle_length = 0;
    if (!past)
        return NULL;
    layout->pid = line.pid;
    if (past - at <= CHROME_REPEAT_BYTES) {
        layout->middle_length = (size_t)(past - at);
        memcpy(layout->middle, at, layout->middle_length);
    }
    return past;
}

/* The same, faster if the text equals that of the last line. */
static inline __attribute__((always_inline)) const char *scan_middle(struct chrome_layout *layout,
                                                                     const char *at, const char *end,
                                                                     int64_t *pid)
{
    const char *past = NULL;
    if (layout->middle_length)
        past = scan_words(at, end, layout->middle, layout->middle_length);
    if (!past)
        past = scan_new_middle(layout, at, end);
    *pid = layout->pid;
    return past;
}

/* A wait usually begins when the previous one ended. */
static inline const char *scan_begin_time(const struct chrome_scanner *scanner, const char *at,
                                          const char *end, int64_t *time_ns)
{
    const char *past = NULL;
    if (scanner->time_length)
        past = scan_words(at, end, scanner->time, scanner->time_length);
    if (past && past < end && *past == ',') {
        *time_ns = scanner->time_ns;
        return past;
    }
    past = scan_moment(at, end, time_ns);
    return past ? past : scan_any_moment(at, end, time_ns);
}

/* Reads the time of an end and keeps it for the next begin. */
static inline const char *scan_end_time(struct chrome_scanner *scanner, const char *at, const char *end,
                                        int64_t *time_ns)
{
    const char *past = scan_moment(at, end, time_ns);
    if (!past)
        return scan_any_moment(at, end, time_ns);
    if (end - at >= CHROME_REPEAT_BYTES / 2) {
        memcpy(scanner->time, at, CHROME_REPEAT_BYTES / 2);
        scanner->time_length = (size_t)(past - at);
        scanner->time_ns = *time_ns;
    }
    return past;
}

static inline const char *scan_layout(struct chrome_scanner *scanner, struct chrome_layout *layout,
                                      const char *text, const char *end, struct chrome_line *line)
{
    const struct scan_field *fields = layout->fields;
    const char *at = scan_words(text, end, fields[0].words, fields[0].length);
    if (!at)
        return NULL;
    *line = layout->line;
    if (!layout->is_usual)
        return scan_some(text, end, fields, layout->count, line);
    at = scan_integer(at, end, &line->id);
    if (at)
        at = scan_middle(layout, at, end, &line->pid);
    if (at)
        at = line->phase == 'e' ? scan_end_time(scanner, at, end, &line->time_ns)
                                : scan_begin_time(scanner, at, end, &line->time_ns);
    return at ? scan_some(at, end, fields + 4, layout->count - 4, line) : NULL;
}

/* Whether the line may have that layout, by what usually distinguishes layouts: the beginning of the name. */
static inline int may_be(const struct chrome_layout *layout, const char *text, const char *end)
{
    enum { NAME_AT = sizeof "{\"name\": \"" - 1 };
    return layout->fields[0].length < NAME_AT + 8 || end - text < NAME_AT + 8 ||
           !scan_difference(text, layout->words, NAME_AT);
}

/* Tries the layout that followed the last one before, then all of them. */
const char *chrome_scan(struct chrome_scanner *scanner, const char *text, const char *end,
                        struct chrome_line *line)
{
    size_t number = scanner->follower[scanner->latest];
    const char *past = NULL;
    if (number < scanner->layout_count)
        past = scan_layout(scanner, scanner->layouts[number], text, end, line);
    if (!past)
        for (number = 0; number < scanner->layout_count; number++)
            if (may_be(scanner->layouts[number], text, end) &&
                (past = scan_layout(scanner, scanner->layouts[number], text, end, line)))
                break;
    if (!past)
        return NULL;
    scanner->follower[scanner->latest] = (unsigned char)number;
    scanner->latest = (unsigned char)number;
    return past;
}

/* Reads the end line that follows a begin line, if both are the same up to the time. */
static inline const char *scan_same_end(const char *begin, size_t phase, size_t time, const char *at,
                                        const char *end)
{
    at = scan_words(at, end, SCAN_WORDS(",\n"));
    if (!at || (size_t)(end - at) < time || at[phase] != 'e' || !scan_same(at, begin, phase) ||
        !scan_same(at + phase + 1, begin + phase + 1, time - phase - 1))
        return NULL;
    return at + time;
}

const char *chrome_scan_wait(struct chrome_scanner *scanner, const char *text, const char *end,
                             struct chrome_line *line, int64_t *end_ns)
{
    size_t number = scanner->follower[scanner->latest];
    struct chrome_layout *layout = number < scanner->layout_count ? scanner->layouts[number] : NULL;
    if (!layout || !layout->is_wait)
        return NULL;
    const struct scan_field *fields = layout->fields;
    const char *at = scan_words(text, end, fields[0].words, fields[0].length);
    if (!at || !(at = scan_integer(at, end, &line->id)) || !(at = scan_middle(layout, at, end, &line->pid)))
        return NULL;
    size_t time = (size_t)(at - text);
    if (!(at = scan_begin_time(scanner, at, end, &line->time_ns)) ||
        !(at = scan_words(at, end, fields[4].words, fields[4].length)) ||
        !(at = scan_not_below(at, end, -1, &line->step)) ||
        !(at = scan_words(at, end, fields[5].words, fields[5].length)) ||
        !(at = scan_same_end(text, layout->phase, time, at, end)) ||
        !(at = scan_end_time(scanner, at, end, end_ns)) || at == end || *at != '}')
        return NULL;
    line->category = CHROME_NET;
    line->name = layout->line.name;
    line->function = layout->line.function;
    line->phase = 'b';
    line->hints = layout->line.hints;
    scanner->latest = (unsigned char)(CHROME_LAYOUTS + number);
    return at + 1;
}
