/*
 * Reads Python pickles into trees of values, without executing anything. Flight Recorder dumps are pickles.
 */
#include "base/base.h"
#include "input/input.h"
#include "input/json.h"

#include <stdlib.h>
#include <string.h>

/* Open MARKs: as many as containers can be nested, and one more. */
enum { MARKS_MOST = VALUE_DEPTH_MOST + 1 };

/* Values that are not in a container yet: all items of a list are on the stack at the same time. */
enum { STACK_MOST = 1 << 22 };

enum { PROTOCOL_LEAST = 2, PROTOCOL_MOST = 5 };

struct unpickler {
    struct values *values;
    const unsigned char *bytes;
    size_t length;
    size_t at;
    struct value *stack; /* owned */
    size_t stack_count;
    size_t stack_capacity;
    size_t marks[MARKS_MOST]; /* height of the stack at each MARK */
    size_t mark_count;
    struct value *memo;     /* owned */
    unsigned char *is_kept; /* owned; [memo index]: this entry is set */
    size_t memo_capacity;
    size_t is_kept_capacity;
    size_t memo_next; /* the index that the next MEMOIZE uses */
    const char *what; /* description of the damage */
    int is_no_memory;
    int is_done;
};

typedef int opcode_function(struct unpickler *unpickler);

static int refuse(struct unpickler *unpickler, const char *what)
{
    unpickler->what = what;
    return -1;
}

static int no_memory(struct unpickler *unpickler)
{
    unpickler->is_no_memory = 1;
    return -1;
}

static int check(struct unpickler *unpickler, enum values_status status)
{
    switch (status) {
    case VALUES_OK:
        return 0;
    case VALUES_NO_MEMORY:
        return no_memory(unpickler);
    case VALUES_TOO_MANY:
        return refuse(unpickler, "more values than a file of this size can hold");
    case VALUES_TOO_DEEP:
        return refuse(unpickler, "values nested too deeply");
    case VALUES_CYCLE:
        break;
    }
    return refuse(unpickler, "a container inside itself");
}

/* Consumes the next `count` bytes. Returns NULL if there are fewer. */
static const unsigned char *take(struct unpickler *unpickler, uint64_t count)
{
    if (count > unpickler->length - unpickler->at) {
        refuse(unpickler, "a length beyond the end of the file");
        return NULL;
    }
    const unsigned char *taken = unpickler->bytes + unpickler->at;
    unpickler->at += (size_t)count;
    return taken;
}

/* Reads a little-endian unsigned number of 1 to 8 bytes. */
static int take_number(struct unpickler *unpickler, unsigned bytes, uint64_t *number)
{
    const unsigned char *taken = take(unpickler, bytes);
    if (!taken)
        return -1;
    *number = 0;
    for (unsigned i = 0; i < bytes; i++)
        *number |= (uint64_t)taken[i] << (8 * i);
    return 0;
}

static int push(struct unpickler *unpickler, struct value value)
{
    if (unpickler->stack_count == STACK_MOST)
        return refuse(unpickler, "more values at once than a dump has");
    if (array_reserve((void **)&unpickler->stack, &unpickler->stack_capacity, unpickler->stack_count + 1,
                      sizeof *unpickler->stack))
        return no_memory(unpickler);
    unpickler->stack[unpickler->stack_count++] = value;
    return 0;
}

/* The lowest stack position that may be popped: values below the last mark belong to outer containers. */
static size_t floor_of(const struct unpickler *unpickler)
{
    return unpickler->mark_count ? unpickler->marks[unpickler->mark_count - 1] : 0;
}

static struct value *top(struct unpickler *unpickler, size_t wanted)
{
    if (unpickler->stack_count - floor_of(unpickler) < wanted) {
        refuse(unpickler, "an opcode without its operands");
        return NULL;
    }
    return unpickler->stack + unpickler->stack_count - wanted;
}

/* The values on the stack from `first` on; NULL if there are none. */
static const struct value *values_from(const struct unpickler *unpickler, size_t first)
{
    return first < unpickler->stack_count ? unpickler->stack + first : NULL;
}

/* Removes the last mark, and sets *first to the position of the values after it. */
static int pop_mark(struct unpickler *unpickler, size_t *first)
{
    if (unpickler->mark_count == 0)
        return refuse(unpickler, "an opcode without the MARK that it takes");
    *first = unpickler->marks[--unpickler->mark_count];
    return 0;
}

static int take_protocol(struct unpickler *unpickler)
{
    uint64_t version;
    if (take_number(unpickler, 1, &version))
        return -1;
    return version >= PROTOCOL_LEAST && version <= PROTOCOL_MOST ? 0
                                                                 : refuse(unpickler, "an unknown protocol");
}

static int take_frame(struct unpickler *unpickler)
{
    uint64_t length;
    if (take_number(unpickler, 8, &length))
        return -1;
    return length <= unpickler->length - unpickler->at
               ? 0
               : refuse(unpickler, "a length beyond the end of the file");
}

static int take_mark(struct unpickler *unpickler)
{
    if (unpickler->mark_count == MARKS_MOST)
        return refuse(unpickler, "values nested too deeply");
    unpickler->marks[unpickler->mark_count++] = unpickler->stack_count;
    return 0;
}

static int take_stop(struct unpickler *unpickler)
{
    if (unpickler->mark_count > 0 || unpickler->stack_count != 1)
        return refuse(unpickler, "STOP in the middle of values");
    unpickler->is_done = 1;
    return 0;
}

static int take_pop(struct unpickler *unpickler)
{
    if (!top(unpickler, 1))
        return -1;
    unpickler->stack_count--;
    return 0;
}

static int take_pop_mark(struct unpickler *unpickler)
{
    size_t first;
    if (pop_mark(unpickler, &first))
        return -1;
    unpickler->stack_count = first;
    return 0;
}

static int take_duplicate(struct unpickler *unpickler)
{
    const struct value *value = top(unpickler, 1);
    return value ? push(unpickler, *value) : -1;
}

static int take_none(struct unpickler *unpickler)
{
    return push(unpickler, (struct value){.kind = VALUE_NULL});
}

static int take_true(struct unpickler *unpickler)
{
    return push(unpickler, (struct value){.kind = VALUE_BOOLEAN, .integer = 1});
}

static int take_false(struct unpickler *unpickler)
{
    return push(unpickler, (struct value){.kind = VALUE_BOOLEAN, .integer = 0});
}

/* Pushes an integer of this many bytes. If it is signed, the highest byte contains the sign. */
static int push_integer(struct unpickler *unpickler, unsigned bytes, int is_signed)
{
    uint64_t number = 0;
    if (take_number(unpickler, bytes, &number))
        return -1;
    if (is_signed && bytes > 0 && bytes < 8 && number >> (8 * bytes - 1))
        number |= ~UINT64_C(0) << (8 * bytes);
    return push(unpickler, (struct value){.kind = VALUE_INTEGER, .integer = (int64_t)number});
}

static int take_integer(struct unpickler *unpickler)
{
    return push_integer(unpickler, 4, 1);
}

static int take_integer_of_1(struct unpickler *unpickler)
{
    return push_integer(unpickler, 1, 0);
}

static int take_integer_of_2(struct unpickler *unpickler)
{
    return push_integer(unpickler, 2, 0);
}

static int take_long(struct unpickler *unpickler)
{
    uint64_t bytes;
    if (take_number(unpickler, 1, &bytes))
        return -1;
    return bytes <= 8 ? push_integer(unpickler, (unsigned)bytes, 1)
                      : refuse(unpickler, "an integer of more than 64 bits");
}

static int take_double(struct unpickler *unpickler)
{
    struct value value = {.kind = VALUE_NUMBER};
    const unsigned char *taken = take(unpickler, 8);
    uint64_t bits = 0;
    if (!taken)
        return -1;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | taken[i];
    memcpy(&value.number, &bits, sizeof bits);
    return push(unpickler, value);
}

/* Pushes a text that is preceded by its length, which has this many bytes. */
static int push_text(struct unpickler *unpickler, unsigned bytes)
{
    uint64_t length;
    if (take_number(unpickler, bytes, &length))
        return -1;
    const unsigned char *text = take(unpickler, length);
    if (!text)
        return -1;
    if (length > UINT32_MAX)
        return refuse(unpickler, "a text of 4 GiB");
    return push(unpickler,
                (struct value){.kind = VALUE_TEXT, .length = (uint32_t)length, .text = (const char *)text});
}

static int take_text_of_1(struct unpickler *unpickler)
{
    return push_text(unpickler, 1);
}

static int take_text_of_4(struct unpickler *unpickler)
{
    return push_text(unpickler, 4);
}

static int take_text_of_8(struct unpickler *unpickler)
{
    return push_text(unpickler, 8);
}

static int push_container(struct unpickler *unpickler, enum value_kind kind)
{
    struct value value;
    return check(unpickler, values_container(unpickler->values, kind, unpickler->at - 1, &value)) ||
                   push(unpickler, value)
               ? -1
               : 0;
}

static int take_empty_list(struct unpickler *unpickler)
{
    return push_container(unpickler, VALUE_LIST);
}

static int take_empty_dictionary(struct unpickler *unpickler)
{
    return push_container(unpickler, VALUE_DICTIONARY);
}

/* Makes a container from the values on the stack from `first` on. */
static int gather(struct unpickler *unpickler, enum value_kind kind, size_t first)
{
    struct value value;
    size_t count = unpickler->stack_count - first;
    if (kind == VALUE_DICTIONARY && count % 2)
        return refuse(unpickler, "a key without a value");
    if (check(unpickler, values_container(unpickler->values, kind, unpickler->at - 1, &value)) ||
        check(unpickler, values_add(unpickler->values, value.items, values_from(unpickler, first), count)))
        return -1;
    unpickler->stack_count = first;
    return push(unpickler, value);
}

static int gather_from_mark(struct unpickler *unpickler, enum value_kind kind)
{
    size_t first;
    return pop_mark(unpickler, &first) ? -1 : gather(unpickler, kind, first);
}

static int take_list(struct unpickler *unpickler)
{
    return gather_from_mark(unpickler, VALUE_LIST);
}

static int take_dictionary(struct unpickler *unpickler)
{
    return gather_from_mark(unpickler, VALUE_DICTIONARY);
}

static int gather_last(struct unpickler *unpickler, size_t count)
{
    return top(unpickler, count) ? gather(unpickler, VALUE_LIST, unpickler->stack_count - count) : -1;
}

static int take_tuple_of_1(struct unpickler *unpickler)
{
    return gather_last(unpickler, 1);
}

static int take_tuple_of_2(struct unpickler *unpickler)
{
    return gather_last(unpickler, 2);
}

static int take_tuple_of_3(struct unpickler *unpickler)
{
    return gather_last(unpickler, 3);
}

/* Appends the values from `first` on to the container below them. */
static int add_to(struct unpickler *unpickler, enum value_kind kind, size_t first)
{
    size_t count = unpickler->stack_count - first;
    if (first == floor_of(unpickler) || unpickler->stack[first - 1].kind != kind)
        return refuse(unpickler, "values for a missing container");
    if (kind == VALUE_DICTIONARY && count % 2)
        return refuse(unpickler, "a key without a value");
    struct value_items *into = unpickler->stack[first - 1].items;
    if (check(unpickler, values_add(unpickler->values, into, values_from(unpickler, first), count)))
        return -1;
    unpickler->stack_count = first;
    return 0;
}

static int add_from_mark(struct unpickler *unpickler, enum value_kind kind)
{
    size_t first;
    return pop_mark(unpickler, &first) ? -1 : add_to(unpickler, kind, first);
}

static int take_append(struct unpickler *unpickler)
{
    return top(unpickler, 2) ? add_to(unpickler, VALUE_LIST, unpickler->stack_count - 1) : -1;
}

static int take_appends(struct unpickler *unpickler)
{
    return add_from_mark(unpickler, VALUE_LIST);
}

static int take_set_item(struct unpickler *unpickler)
{
    return top(unpickler, 3) ? add_to(unpickler, VALUE_DICTIONARY, unpickler->stack_count - 2) : -1;
}

static int take_set_items(struct unpickler *unpickler)
{
    return add_from_mark(unpickler, VALUE_DICTIONARY);
}

/*
 * Stores the top of the stack in the memo under a number, which cannot exceed the number of bytes before it.
 */
static int keep(struct unpickler *unpickler, uint64_t number)
{
    const struct value *value = top(unpickler, 1);
    if (!value)
        return -1;
    if (number >= unpickler->at)
        return refuse(unpickler, "a memo number beyond any that was used");
    size_t was = unpickler->is_kept_capacity;
    if (array_reserve((void **)&unpickler->memo, &unpickler->memo_capacity, (size_t)number + 1,
                      sizeof *unpickler->memo) ||
        array_reserve((void **)&unpickler->is_kept, &unpickler->is_kept_capacity, (size_t)number + 1, 1))
        return no_memory(unpickler);
    memset(unpickler->is_kept + was, 0, unpickler->is_kept_capacity - was);
    unpickler->memo[number] = *value;
    unpickler->is_kept[number] = 1;
    return 0;
}

static int keep_under(struct unpickler *unpickler, unsigned bytes)
{
    uint64_t number;
    return take_number(unpickler, bytes, &number) ? -1 : keep(unpickler, number);
}

static int take_put(struct unpickler *unpickler)
{
    return keep_under(unpickler, 1);
}

static int take_long_put(struct unpickler *unpickler)
{
    return keep_under(unpickler, 4);
}

static int take_memoize(struct unpickler *unpickler)
{
    return keep(unpickler, unpickler->memo_next++);
}

static int recall(struct unpickler *unpickler, unsigned bytes)
{
    uint64_t number;
    if (take_number(unpickler, bytes, &number))
        return -1;
    if (number >= unpickler->is_kept_capacity || !unpickler->is_kept[number])
        return refuse(unpickler, "a memo number that was never used");
    return push(unpickler, unpickler->memo[number]);
}

static int take_get(struct unpickler *unpickler)
{
    return recall(unpickler, 1);
}

static int take_long_get(struct unpickler *unpickler)
{
    return recall(unpickler, 4);
}

/* The opcodes. Those with a text are refused with this text. */
static const struct {
    opcode_function *function;
    const char *refused;
} opcodes[256] = {
    [0x80] = {take_protocol, NULL},
    [0x95] = {take_frame, NULL},
    ['('] = {take_mark, NULL},
    ['.'] = {take_stop, NULL},
    ['0'] = {take_pop, NULL},
    ['1'] = {take_pop_mark, NULL},
    ['2'] = {take_duplicate, NULL},
    ['N'] = {take_none, NULL},
    [0x88] = {take_true, NULL},
    [0x89] = {take_false, NULL},
    ['J'] = {take_integer, NULL},
    ['K'] = {take_integer_of_1, NULL},
    ['M'] = {take_integer_of_2, NULL},
    [0x8a] = {take_long, NULL},
    ['G'] = {take_double, NULL},
    ['U'] = {take_text_of_1, NULL},  /* SHORT_BINSTRING */
    ['T'] = {take_text_of_4, NULL},  /* BINSTRING */
    ['C'] = {take_text_of_1, NULL},  /* SHORT_BINBYTES */
    ['B'] = {take_text_of_4, NULL},  /* BINBYTES */
    [0x8c] = {take_text_of_1, NULL}, /* SHORT_BINUNICODE */
    ['X'] = {take_text_of_4, NULL},  /* BINUNICODE */
    [0x8d] = {take_text_of_8, NULL}, /* BINUNICODE8 */
    [0x8e] = {take_text_of_8, NULL}, /* BINBYTES8 */
    [']'] = {take_empty_list, NULL},
    [')'] = {take_empty_list, NULL}, /* EMPTY_TUPLE */
    ['}'] = {take_empty_dictionary, NULL},
    ['l'] = {take_list, NULL},
    ['t'] = {take_list, NULL}, /* TUPLE */
    ['d'] = {take_dictionary, NULL},
    [0x85] = {take_tuple_of_1, NULL},
    [0x86] = {take_tuple_of_2, NULL},
    [0x87] = {take_tuple_of_3, NULL},
    ['a'] = {take_append, NULL},
    ['e'] = {take_appends, NULL},
    ['s'] = {take_set_item, NULL},
    ['u'] = {take_set_items, NULL},
    ['q'] = {take_put, NULL},
    ['r'] = {take_long_put, NULL},
    [0x94] = {take_memoize, NULL},
    ['h'] = {take_get, NULL},
    ['j'] = {take_long_get, NULL},
    ['c'] = {NULL, "GLOBAL, which would run code"},
    ['R'] = {NULL, "REDUCE, which would run code"},
    ['b'] = {NULL, "BUILD, which would run code"},
    ['i'] = {NULL, "INST, which would run code"},
    ['o'] = {NULL, "OBJ, which would run code"},
    ['P'] = {NULL, "PERSID, which would run code"},
    ['Q'] = {NULL, "BINPERSID, which would run code"},
    [0x81] = {NULL, "NEWOBJ, which would run code"},
    [0x92] = {NULL, "NEWOBJ_EX, which would run code"},
    [0x93] = {NULL, "STACK_GLOBAL, which would run code"},
    [0x82] = {NULL, "EXT1, which would run code"},
    [0x83] = {NULL, "EXT2, which would run code"},
    [0x84] = {NULL, "EXT4, which would run code"},
    [0x97] = {NULL, "NEXT_BUFFER, whose bytes are stored elsewhere"},
    [0x98] = {NULL, "READONLY_BUFFER, whose bytes are stored elsewhere"},
    [0x8b] = {NULL, "LONG4: an integer of more than 64 bits"},
    [0x8f] = {NULL, "EMPTY_SET: a set, which no dump has"},
    [0x90] = {NULL, "ADDITEMS: a set, which no dump has"},
    [0x91] = {NULL, "FROZENSET: a set, which no dump has"},
    [0x96] = {NULL, "BYTEARRAY8, which no dump has"},
    ['I'] = {NULL, "INT of protocol 0"},
    ['L'] = {NULL, "LONG of protocol 0"},
    ['F'] = {NULL, "FLOAT of protocol 0"},
    ['S'] = {NULL, "STRING of protocol 0"},
    ['V'] = {NULL, "UNICODE of protocol 0"},
    ['p'] = {NULL, "PUT of protocol 0"},
    ['g'] = {NULL, "GET of protocol 0"},
};

static int take_opcode(struct unpickler *unpickler)
{
    const unsigned char *byte = take(unpickler, 1);
    if (!byte)
        return refuse(unpickler, "the end of the file before STOP");
    if (opcodes[*byte].function)
        return opcodes[*byte].function(unpickler);
    return refuse(unpickler, opcodes[*byte].refused ? opcodes[*byte].refused : "an unknown opcode");
}

/*
 * Closes the containers that are open where the damage is, from the innermost outwards, and marks them
 * is_cut.
 */
static int close_open(struct unpickler *unpickler)
{
    while (unpickler->mark_count > 0) {
        size_t first = unpickler->marks[--unpickler->mark_count];
        size_t count = unpickler->stack_count - first;
        if (first == floor_of(unpickler))
            return 0;
        struct value *below = &unpickler->stack[first - 1];
        if (below->kind != VALUE_LIST && below->kind != VALUE_DICTIONARY)
            return 0;
        if (below->kind == VALUE_DICTIONARY)
            count &= ~(size_t)1;
        enum values_status status =
            values_add(unpickler->values, below->items, values_from(unpickler, first), count);
        if (status != VALUES_OK)
            return status == VALUES_NO_MEMORY ? -1 : 0;
        below->items->is_cut = 1;
        unpickler->stack_count = first;
    }
    return 0;
}

static int run(struct unpickler *unpickler, struct unpickle_damage *damage)
{
    size_t at = 0;
    while (!unpickler->is_done) {
        at = unpickler->at;
        if (take_opcode(unpickler) == 0)
            continue;
        *damage = (struct unpickle_damage){.offset = at, .what = unpickler->what};
        return unpickler->is_no_memory ? -1 : close_open(unpickler);
    }
    if (unpickler->at < unpickler->length)
        *damage =
            (struct unpickle_damage){.offset = unpickler->at, .what = "bytes after the end of the pickle"};
    return 0;
}

int unpickle(struct values *values, const char *bytes, size_t length, struct value *root,
             struct unpickle_damage *damage, struct error *error)
{
    struct unpickler unpickler = {.values = values, .bytes = (const unsigned char *)bytes, .length = length};
    *root = (struct value){.kind = VALUE_NULL};
    *damage = (struct unpickle_damage){.what = NULL};
    int status = run(&unpickler, damage);
    if (status == 0 && unpickler.stack_count > 0)
        *root = unpickler.stack[0];
    free(unpickler.stack);
    free(unpickler.memo);
    free(unpickler.is_kept);
    return status ? error_no_memory(error) : 0;
}
