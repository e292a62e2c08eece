/*
 * Reads the entries of a Flight Recorder dump: names, data types, sizes, times, and the source line of each
 * call.
 */
#include "base/base.h"
#include "format/flight_recorder/flight_recorder.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

/*
 * The words at the beginning of names, without underscores; the longer of two with the same beginning first.
 */
static const struct {
    const char *word;
    enum function function;
} functions[] = {
    {"allreduce", FUNCTION_ALL_REDUCE},
    {"allgather", FUNCTION_ALL_GATHER},
    {"alltoall", FUNCTION_ALL_TO_ALL},
    {"reducescatter", FUNCTION_REDUCE_SCATTER},
    {"reduce", FUNCTION_REDUCE},
    {"broadcast", FUNCTION_BROADCAST},
    {"gather", FUNCTION_GATHER},
    {"scatter", FUNCTION_SCATTER},
    {"barrier", FUNCTION_BARRIER},
    {"send", FUNCTION_SEND},
    {"recv", FUNCTION_RECV},
};

static const struct {
    const char *word;
    enum datatype datatype;
} datatypes[] = {
    {"Float", DATATYPE_FLOAT32},
    {"float", DATATYPE_FLOAT32},
    {"BFloat16", DATATYPE_BFLOAT16},
    {"Half", DATATYPE_FLOAT16},
    {"Double", DATATYPE_FLOAT64},
    {"double", DATATYPE_FLOAT64},
    {"Long", DATATYPE_INT64},
    {"long", DATATYPE_INT64},
    {"int64_t", DATATYPE_INT64},
    {"Int", DATATYPE_INT32},
    {"int", DATATYPE_INT32},
    {"UInt32", DATATYPE_UINT32},
    {"UInt64", DATATYPE_UINT64},
    {"Byte", DATATYPE_UINT8},
    {"unsigned char", DATATYPE_UINT8},
    {"uint8_t", DATATYPE_UINT8},
    {"Bool", DATATYPE_UINT8}, /* the type that NCCL gets */
    {"bool", DATATYPE_UINT8},
    {"Char", DATATYPE_INT8},
    {"signed char", DATATYPE_INT8},
    {"int8_t", DATATYPE_INT8},
    {"Float8_e4m3fn", DATATYPE_FLOAT8E4M3},
    {"Float8_e5m2", DATATYPE_FLOAT8E5M2},
};

/* Whether a text begins with a word, ignoring underscores. Returns the bytes that it takes, else 0. */
static size_t begins(const char *text, size_t length, const char *word)
{
    size_t at = 0;
    for (; at < length && *word; at++) {
        char byte = text[at];
        if (byte == '_')
            continue;
        if (byte >= 'A' && byte <= 'Z')
            byte = (char)(byte - 'A' + 'a');
        if (byte != *word++)
            return 0;
    }
    return *word ? 0 : at;
}

/* Reads a decimal rank. Returns where it ends; NULL if there is none. */
static const char *take_rank(const char *at, const char *end, int64_t *rank)
{
    const char *begin = at;
    *rank = 0;
    while (at < end && is_digit(*at) && *rank < INT32_MAX)
        *rank = *rank * 10 + (*at++ - '0');
    return at > begin && *rank <= INT32_MAX ? at : NULL;
}

/* " 0->1", " 0<-1" */
static void take_ranks(const char *at, const char *end, struct call_name *name)
{
    int64_t own, peer;
    if (at == end || *at != ' ')
        return;
    at = take_rank(at + 1, end, &own);
    if (!at || end - at < 3 || (memcmp(at, "->", 2) != 0 && memcmp(at, "<-", 2) != 0))
        return;
    if (take_rank(at + 2, end, &peer) != end)
        return;
    name->own_rank = own;
    name->peer = peer;
}

struct call_name call_name(const char *text, size_t length)
{
    struct call_name name = {.function = FUNCTION_OTHER, .own_rank = COUNT_UNKNOWN, .peer = COUNT_UNKNOWN};
    const char *colon = memchr(text, ':', length), *end = text + length;
    const char *word = colon ? colon + 1 : text;
    size_t left = (size_t)(end - word);
    const struct text call = {word, left};
    name.is_closing = text_is(call, "coalesced");
    name.is_batch = text_is(call, "batch_op_issue");
    if (name.is_closing || name.is_batch)
        return name;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        size_t taken = begins(word, left, functions[i].word);
        if (!taken)
            continue;
        name.function = functions[i].function;
        if (function_is_point_to_point(name.function))
            take_ranks(word + taken, end, &name);
        break;
    }
    return name;
}

enum datatype call_datatype(const char *text, size_t length)
{
    static const char space[] = "c10::";
    if (length > sizeof space - 1 && memcmp(text, space, sizeof space - 1) == 0) {
        text += sizeof space - 1;
        length -= sizeof space - 1;
    }
    for (size_t i = 0; i < sizeof datatypes / sizeof *datatypes; i++)
        if (strlen(datatypes[i].word) == length && memcmp(datatypes[i].word, text, length) == 0)
            return datatypes[i].datatype;
    return length ? DATATYPE_OTHER : DATATYPE_UNKNOWN;
}

/* Limit on the frames of one call that are read; programs reach their own code in fewer. */
enum { FRAMES_MOST = 256 };

enum { PATH_BYTES_MOST = 1000 };

static const char *const key_words[KEY_COUNT] = {
    [KEY_RECORD_ID] = "record_id",
    [KEY_PG_ID] = "pg_id",
    [KEY_PROCESS_GROUP] = "process_group",
    [KEY_COLLECTIVE_SEQ_ID] = "collective_seq_id",
    [KEY_P2P_SEQ_ID] = "p2p_seq_id",
    [KEY_SEQ_ID] = "seq_id",
    [KEY_PROFILING_NAME] = "profiling_name",
    [KEY_TIME_CREATED_NS] = "time_created_ns",
    [KEY_TIME_CREATED_US] = "time_created_us",
    [KEY_DURATION_MS] = "duration_ms",
    [KEY_INPUT_SIZES] = "input_sizes",
    [KEY_OUTPUT_SIZES] = "output_sizes",
    [KEY_INPUT_DTYPES] = "input_dtypes",
    [KEY_OUTPUT_DTYPES] = "output_dtypes",
    [KEY_STATE] = "state",
    [KEY_TIME_DISCOVERED_STARTED_NS] = "time_discovered_started_ns",
    [KEY_TIME_DISCOVERED_COMPLETED_NS] = "time_discovered_completed_ns",
    [KEY_IS_P2P] = "is_p2p",
    [KEY_FRAMES] = "frames",
    [KEY_RETIRED] = "retired",
};

void entry_reader_init(struct entry_reader *reader, struct dump *dump, size_t bytes)
{
    /* A value takes at least one byte in the file, a reference two. */
    *reader = (struct entry_reader){.dump = dump,
                                    .items_left = bytes < SIZE_MAX / 8 ? bytes * 8 : bytes,
                                    .members_left = bytes < SIZE_MAX / 64 ? bytes * 64 : bytes};
}

static enum entry_key find_key(const struct value *text)
{
    for (int i = KEY_OTHER + 1; i < KEY_COUNT; i++)
        if (value_is(text, key_words[i]))
            return (enum entry_key)i;
    return KEY_OTHER;
}

/* Texts are stored once and referred to later, so the same place is the same text. */
static enum entry_key key_of(struct entry_reader *reader, size_t place, const struct value *text)
{
    if (text->kind != VALUE_TEXT)
        return KEY_OTHER;
    if (place >= ENTRY_KEYS_KNOWN)
        return find_key(text);
    if (reader->keys[place].text != text->text) {
        reader->keys[place].text = text->text;
        reader->keys[place].key = find_key(text);
    }
    return reader->keys[place].key;
}

static int64_t natural(const struct value *value)
{
    int64_t number;
    return value_int64(value, &number) == 0 && number >= 0 ? number : COUNT_UNKNOWN;
}

/* JSON dumps have 0 where pickles have None. */
static int64_t moment_of(const struct value *value, int64_t unit_ns)
{
    int64_t number;
    if (value_int64(value, &number) || number <= 0 || number > INT64_MAX / 4 / unit_ns)
        return TIME_UNKNOWN;
    return number * unit_ns;
}

static int64_t duration_of(const struct value *value)
{
    double ms = -1;
    if (value && value->kind == VALUE_NUMBER)
        ms = value->number;
    else if (value && value->kind == VALUE_INTEGER)
        ms = (double)value->integer;
    return ms >= 0 && ms < 1e12 ? scale(1000000, ms) : COUNT_UNKNOWN;
}

/* Whether the members of a dictionary may be read: a large dictionary may be referred to many times. */
static int may_look_at(struct entry_reader *reader, const struct value *value)
{
    size_t members = value->kind == VALUE_DICTIONARY ? value->items->count : 0;
    if (members > reader->members_left)
        return 0;
    reader->members_left -= members;
    return 1;
}

/* The next items of a list, as far as the limit allows; NULL if it is not a list. */
static const struct value_items *look_at(struct entry_reader *reader, const struct value *value)
{
    const struct value_items *list = value_list(value);
    if (!list || list->count > reader->items_left)
        return NULL;
    reader->items_left -= list->count;
    return list;
}

static int64_t product(int64_t one, int64_t other)
{
    int64_t result;
    return __builtin_mul_overflow(one, other, &result) ? INT64_MAX : result;
}

/*
 * Elements of a tensor; `row` receives those of one row (without the first dimension). Returns -1 if it is
 * not a tensor.
 */
static int64_t elements_of(struct entry_reader *reader, const struct value *value, int64_t *row)
{
    const struct value_items *sizes = look_at(reader, value);
    int64_t count = 1;
    *row = 1;
    for (size_t i = 0; sizes && i < sizes->count; i++) {
        int64_t size = natural(&sizes->items[i]);
        if (size < 0)
            return -1;
        count = product(count, size);
        *row = i > 0 ? product(*row, size) : *row;
    }
    return sizes ? count : -1;
}

/* Elements of all tensors, and of one row of the first; COUNT_UNKNOWN if not given. */
static int64_t count_elements(struct entry_reader *reader, const struct value *value, int64_t *first_row)
{
    const struct value_items *tensors = look_at(reader, value);
    int64_t sum = 0, row;
    *first_row = COUNT_UNKNOWN;
    if (!tensors || tensors->count == 0)
        return COUNT_UNKNOWN;
    for (size_t i = 0; i < tensors->count; i++) {
        int64_t count = elements_of(reader, &tensors->items[i], &row);
        if (count < 0 || __builtin_add_overflow(sum, count, &sum))
            return COUNT_UNKNOWN;
        if (i == 0)
            *first_row = row;
    }
    return sum;
}

static enum datatype datatype_of(struct entry_reader *reader, const struct value *value)
{
    const struct value_items *types = look_at(reader, value);
    if (!types || types->count == 0 || types->items[0].kind != VALUE_TEXT)
        return DATATYPE_UNKNOWN;
    return call_datatype(types->items[0].text, types->items[0].length);
}

/* NCCL's count is the rank's output in ReduceScatter and Scatter, else its input. */
static void take_sizes(struct entry_reader *reader, const struct value *const *fields,
                       struct dump_entry *entry)
{
    int by_output = entry->function == FUNCTION_REDUCE_SCATTER || entry->function == FUNCTION_SCATTER;
    int64_t row;
    int64_t count = count_elements(reader, fields[by_output ? KEY_OUTPUT_SIZES : KEY_INPUT_SIZES], &row);
    entry->datatype = datatype_of(reader, fields[by_output ? KEY_OUTPUT_DTYPES : KEY_INPUT_DTYPES]);
    int64_t element = datatype_bytes(entry->datatype);
    entry->count = entry->function == FUNCTION_ALL_TO_ALL ? row : count;
    entry->bytes = count >= 0 && element > 0 ? product(count, element) : COUNT_UNKNOWN;
}

static enum dump_state state_of(const struct value *value)
{
    if (value_is(value, "completed"))
        return DUMP_COMPLETED;
    return value_is(value, "started") ? DUMP_STARTED : DUMP_SCHEDULED;
}

static int holds(const struct value *text, const char *word)
{
    return memmem(text->text, text->length, word, strlen(word)) != NULL;
}

/* Whether a file belongs to the program, not to Python, torch or another package. */
static int is_users_file(const struct value *text)
{
    static const char *const others[] = {
        "site-packages/", "dist-packages/",   "/lib/python", "/torch/distributed/",
        "/torch/nn/",     "/torch/autograd/", "/torch/_",    "/torch/utils/"};
    if (text->length == 0 || text->text[0] == '<')
        return 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (holds(text, others[i]))
            return 0;
    return 1;
}

static int is_users(struct entry_reader *reader, const struct value *text)
{
    size_t slot = (size_t)(hash_mix(0, (uint64_t)(uintptr_t)text->text) % ENTRY_FILES_KNOWN);
    if (reader->files[slot].text != text->text) {
        reader->files[slot].text = text->text;
        reader->files[slot].is_users = is_users_file(text);
    }
    return reader->files[slot].is_users;
}

/* The innermost frame in the user's code, else the innermost frame; NULL if there is none. */
static const struct value *find_frame(struct entry_reader *reader, const struct value_items *frames)
{
    const struct value *innermost = NULL;
    for (size_t i = 0; i < frames->count && i < FRAMES_MOST; i++) {
        if (!may_look_at(reader, &frames->items[i])) {
            reader->unread_frames++;
            break;
        }
        const struct value *file = value_member(&frames->items[i], "filename");
        if (!file || file->kind != VALUE_TEXT)
            continue;
        if (is_users(reader, file))
            return &frames->items[i];
        if (!innermost)
            innermost = &frames->items[i];
    }
    return innermost;
}

static int take_source(struct entry_reader *reader, const struct value *value, struct dump_entry *entry)
{
    const struct value_items *frames = look_at(reader, value);
    const struct value *frame = frames ? find_frame(reader, frames) : NULL;
    int64_t line;
    char text[PATH_BYTES_MOST + 32];
    if (!frame || value_int64(value_member(frame, "line"), &line) || line < 0)
        return 0;
    const struct value *file = value_member(frame, "filename");
    int length = file->length < PATH_BYTES_MOST ? (int)file->length : PATH_BYTES_MOST;
    snprintf(text, sizeof text, "%.*s:%lld", length, file->text, (long long)line);
    int64_t number = intern_put(&reader->dump->sources, text, strlen(text));
    if (number < 0 || number > INT32_MAX)
        return -1;
    entry->source = (int32_t)number;
    return 0;
}

static int take_group(struct entry_reader *reader, const struct value *const *fields,
                      struct dump_entry *entry)
{
    const struct value_items *pair = look_at(reader, fields[KEY_PROCESS_GROUP]);
    const struct value *name = pair && pair->count > 0 ? &pair->items[0] : NULL;
    const struct value *description = pair && pair->count > 1 ? &pair->items[1] : NULL;
    if (name && name->kind != VALUE_TEXT)
        name = NULL;
    if (description && description->kind != VALUE_TEXT)
        description = NULL;
    entry->group = dump_group_of(reader->dump, natural(fields[KEY_PG_ID]), name, description);
    return entry->group == -1 ? -1 : entry->group < 0;
}

static void take_name(struct entry_reader *reader, const struct value *value, struct dump_entry *entry)
{
    if (reader->name_text != value->text) {
        reader->name = call_name(value->text, value->length);
        reader->name_text = value->text;
    }
    entry->function = reader->name.function;
    entry->is_closing = reader->name.is_closing;
    entry->is_left_out = reader->name.is_batch;
    entry->own_rank = reader->name.own_rank;
    entry->peer = reader->name.peer;
    entry->is_pair = function_is_point_to_point(entry->function);
}

static void take_times(const struct value *const *fields, struct dump_entry *entry)
{
    entry->called_ns = moment_of(fields[KEY_TIME_CREATED_NS], 1);
    if (entry->called_ns == TIME_UNKNOWN)
        entry->called_ns = moment_of(fields[KEY_TIME_CREATED_US], 1000);
    entry->started_ns = moment_of(fields[KEY_TIME_DISCOVERED_STARTED_NS], 1);
    entry->completed_ns = moment_of(fields[KEY_TIME_DISCOVERED_COMPLETED_NS], 1);
    entry->duration_ns = duration_of(fields[KEY_DURATION_MS]);
    entry->state = state_of(fields[KEY_STATE]);
    const struct value *retired = fields[KEY_RETIRED];
    entry->is_retired = retired && retired->kind == VALUE_BOOLEAN && retired->integer;
    /* torchcomms gives what has ended the time since the call if it has not seen the end on the GPU. */
    if (entry->is_retired && entry->duration_ns >= 0 && entry->state != DUMP_COMPLETED) {
        entry->state = DUMP_COMPLETED;
        entry->duration_ns = COUNT_UNKNOWN;
    }
}

static void note_in_group(struct dump_group *group, const struct dump_entry *entry)
{
    group->has_pairs |= entry->is_pair || entry->pair_sequence > 0;
    group->has_completed |= entry->state == DUMP_COMPLETED;
    group->has_unretired |= !entry->is_retired;
    group->has_collectives |= !entry->is_pair || entry->collective_sequence > 0;
    if (!entry->is_pair || entry->own_rank < 0)
        return;
    group->own_rank = entry->own_rank;
    if (entry->own_rank > group->greatest_rank)
        group->greatest_rank = entry->own_rank;
    if (entry->peer > group->greatest_rank)
        group->greatest_rank = entry->peer;
}

int entry_take(struct entry_reader *reader, const struct value *value)
{
    const struct value *fields[KEY_COUNT] = {NULL};
    struct dump *dump = reader->dump;
    if (value->kind != VALUE_DICTIONARY || value->items->is_cut || !may_look_at(reader, value))
        return 1;
    for (size_t i = 0; i + 1 < value->items->count; i += 2)
        fields[key_of(reader, i / 2, &value->items->items[i])] = &value->items->items[i + 1];
    const struct value *name = fields[KEY_PROFILING_NAME];
    if (!name || name->kind != VALUE_TEXT || !fields[KEY_STATE] || fields[KEY_STATE]->kind != VALUE_TEXT)
        return 1;
    struct dump_entry entry = {.offset = value->items->offset, .source = -1};
    entry.record = natural(fields[KEY_RECORD_ID]);
    entry.collective_sequence =
        natural(fields[fields[KEY_COLLECTIVE_SEQ_ID] ? KEY_COLLECTIVE_SEQ_ID : KEY_SEQ_ID]);
    entry.pair_sequence = natural(fields[fields[KEY_P2P_SEQ_ID] ? KEY_P2P_SEQ_ID : KEY_SEQ_ID]);
    take_name(reader, name, &entry);
    take_times(fields, &entry);
    take_sizes(reader, fields, &entry);
    int strange = take_group(reader, fields, &entry);
    if (strange)
        return strange;
    if (take_source(reader, fields[KEY_FRAMES], &entry) ||
        array_reserve((void **)&dump->entries, &dump->entry_capacity, dump->entry_count + 1, sizeof entry))
        return -1;
    note_in_group(&dump->groups[entry.group], &entry);
    dump->entries[dump->entry_count++] = entry;
    return 0;
}
