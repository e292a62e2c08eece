/*
 * Reads one event of a Kineto trace: fast if it is printed the way torch does, otherwise as any JSON. Also
 * reads the names of functions and data types.
 */
#include "base/base.h"
#include "format/kineto/kineto.h"
#include "input/input.h"
#include "model/model.h"

#include <string.h>

/*
 * The fast reader of an event as torch prints it: its members are always in the same order, and are numbers
 * and texts without escapes. Any other event is left to the reader for any JSON. What both accept gives the
 * same result.
 */

/* The members outside the arguments; length 0: not there. */
struct kineto_head {
    struct raw_json category; /* without quotes; so is the name */
    struct raw_json name;
    struct raw_json process;
    struct raw_json thread;
    struct raw_json begin;
    struct raw_json duration;
    struct raw_json arguments;
};

/* The position while an event is read. */
struct kineto_fixed {
    const char *at;
    const char *end;
    int is_flow; /* a flow event (arrow), not a span: other members precede its name */
};

/* A word as printed, with the quotes and the colon of a key. */
#define WORD(text) text, sizeof(text) - 1

/* Inlined, because the compiler compares a word of known length with few instructions. */
#define INLINE static inline __attribute__((always_inline))

INLINE int take(struct kineto_fixed *fixed, const char *word, size_t length)
{
    if ((size_t)(fixed->end - fixed->at) < length || memcmp(fixed->at, word, length) != 0)
        return 0;
    fixed->at += length;
    return 1;
}

INLINE void skip_space(struct kineto_fixed *fixed)
{
    fixed->at = raw_json_skip_space(fixed->at, fixed->end);
}

/* A comma, a key and its colon. */
INLINE int take_key(struct kineto_fixed *fixed, const char *key, size_t length)
{
    skip_space(fixed);
    if (!take(fixed, WORD(",")))
        return 0;
    fixed->at += fixed->at < fixed->end && *fixed->at == ' ';
    skip_space(fixed);
    if (!take(fixed, key, length))
        return 0;
    fixed->at += fixed->at < fixed->end && *fixed->at == ' ';
    skip_space(fixed);
    return 1;
}

/* Between quotes. */
static int take_text(struct kineto_fixed *fixed, struct raw_json *text)
{
    if (!take(fixed, WORD("\"")))
        return 0;
    const char *begin = fixed->at, *at = skip_plain(begin, fixed->end);
    while (at < fixed->end && *at != '"' && *at != '\\' && *at != '\n')
        at++;
    fixed->at = at;
    *text = (struct raw_json){begin, (size_t)(at - begin)};
    return take(fixed, WORD("\""));
}

static int is_of_number(char byte)
{
    return is_digit(byte) || byte == '.' || byte == '-';
}

static int take_number(struct kineto_fixed *fixed, struct raw_json *number)
{
    const char *begin = fixed->at, *at = begin;
    for (unsigned digits = 8; digits == 8 && fixed->end - at >= 8; at += digits)
        digits = eight_digits(eight_bytes(at));
    while (at < fixed->end && is_of_number(*at))
        at++;
    fixed->at = at;
    *number = (struct raw_json){begin, (size_t)(at - begin)};
    skip_space(fixed);
    return number->length && fixed->at < fixed->end && (*fixed->at == ',' || *fixed->at == '}');
}

/* Skips the members of a flow event before its category. */
static int pass_flow(struct kineto_fixed *fixed)
{
    struct raw_json number;
    return take_key(fixed, WORD("\"id\":")) && take_number(fixed, &number) &&
           take_key(fixed, WORD("\"pid\":")) && take_number(fixed, &number) &&
           take_key(fixed, WORD("\"tid\":")) && take_number(fixed, &number) &&
           take_key(fixed, WORD("\"ts\":")) && take_number(fixed, &number);
}

/* The text after the name of a flow event. */
static int ends_flow(const struct kineto_fixed *fixed)
{
    struct kineto_fixed rest = *fixed;
    struct raw_json text;
    if (!take_key(&rest, WORD("\"bp\":")))
        rest = *fixed;
    else if (!take_text(&rest, &text))
        return 0;
    skip_space(&rest);
    return rest.at < rest.end && *rest.at == '}';
}

/*
 * Reads category and name, and checks that a member or the end follows. Returns 1; 0 if the event is printed
 * differently.
 */
static int kineto_fixed_begin(struct kineto_fixed *fixed, struct raw_json text, struct kineto_head *head)
{
    struct raw_json kind;
    *fixed = (struct kineto_fixed){.at = text.text, .end = text.text + text.length};
    if (!take(fixed, WORD("{")))
        return 0;
    skip_space(fixed);
    if (!take(fixed, WORD("\"ph\":")))
        return 0;
    skip_space(fixed);
    if (!take_text(fixed, &kind))
        return 0;
    fixed->is_flow = !raw_json_is(kind, "X");
    if ((fixed->is_flow && !pass_flow(fixed)) || !take_key(fixed, WORD("\"cat\":")) ||
        !take_text(fixed, &head->category) || !take_key(fixed, WORD("\"name\":")) ||
        !take_text(fixed, &head->name))
        return 0;
    return fixed->is_flow ? ends_flow(fixed)
                          : take_key(fixed, WORD("\"pid\":")) && take_number(fixed, &head->process);
}

/* Takes everything from the opening brace of the arguments up to the event's own closing brace. */
static int take_arguments(struct kineto_fixed *fixed, struct raw_json *arguments)
{
    const char *begin = fixed->at, *last = fixed->end - 1;
    if (last <= begin || *begin != '{' || *last != '}')
        return 0;
    do
        last--;
    while (last > begin && (*last == ' ' || *last == '\n'));
    *arguments = (struct raw_json){begin, (size_t)(last + 1 - begin)};
    return *last == '}';
}

/*
 * Reads the rest of a span. Everything left is taken as its arguments; the reader of the arguments checks
 * that.
 */
static int kineto_fixed_rest(struct kineto_fixed *fixed, struct kineto_head *head)
{
    return !fixed->is_flow && take_key(fixed, WORD("\"tid\":")) && take_number(fixed, &head->thread) &&
           take_key(fixed, WORD("\"ts\":")) && take_number(fixed, &head->begin) &&
           take_key(fixed, WORD("\"dur\":")) && take_number(fixed, &head->duration) &&
           take_key(fixed, WORD("\"args\":")) && take_arguments(fixed, &head->arguments);
}

static int begins_with(struct raw_json text, const char *beginning)
{
    size_t length = strlen(beginning);
    return text.length >= length && memcmp(text.text, beginning, length) == 0;
}

/* For short texts, with which memmem() would take longer. `word` is not empty. */
static int holds(struct raw_json text, const char *word)
{
    const char *at = text.text, *end = text.text + text.length;
    size_t length = strlen(word);
    while ((size_t)(end - at) >= length && (at = memchr(at, *word, (size_t)(end - at) - length + 1))) {
        if (memcmp(at, word, length) == 0)
            return 1;
        at++;
    }
    return 0;
}

/* "ncclDevKernel_AllReduce_...", "ncclKernel_...", "ncclSymkDevKernel_...", RCCL's and MSCCL's. */
static int is_nccl_kernel(struct raw_json name)
{
    if (begins_with(name, "void "))
        name = (struct raw_json){name.text + 5, name.length - 5};
    int is_theirs = begins_with(name, "nccl") || begins_with(name, "rccl") || begins_with(name, "msccl");
    return is_theirs && (holds(name, "Kernel") || holds(name, "kernel"));
}

static int is_word(struct raw_json text, const char *word, size_t length)
{
    return text.length == length && memcmp(text.text, word, length) == 0;
}

struct category {
    const char *name;
    size_t length;
    enum kineto_kind kind;
};

/* Capitalized up to torch 1.13. */
static const struct category categories[] = {
    {WORD("kernel"), KINETO_GPU_WORK},
    {WORD("cpu_op"), KINETO_CALL},
    {WORD("cuda_runtime"), KINETO_LAUNCH},
    {WORD("cuda_driver"), KINETO_LAUNCH},
    {WORD("user_annotation"), KINETO_ANNOTATION},
    {WORD("gpu_user_annotation"), KINETO_GPU_ANNOTATION},
    {WORD("gpu_memcpy"), KINETO_GPU_WORK},
    {WORD("gpu_memset"), KINETO_GPU_WORK},
    {WORD("hip_runtime"), KINETO_LAUNCH},
    {WORD("hip_driver"), KINETO_LAUNCH},
    {WORD("Kernel"), KINETO_GPU_WORK},
    {WORD("Operator"), KINETO_CALL},
    {WORD("Runtime"), KINETO_LAUNCH},
    {WORD("Memcpy"), KINETO_GPU_WORK},
    {WORD("Memset"), KINETO_GPU_WORK},
};

static enum kineto_kind kind_of(struct raw_json category, struct raw_json name)
{
    enum kineto_kind kind = KINETO_OTHER;
    for (size_t i = 0; i < sizeof categories / sizeof *categories && kind == KINETO_OTHER; i++)
        if (is_word(category, categories[i].name, categories[i].length))
            kind = categories[i].kind;
    if (kind == KINETO_GPU_WORK && is_nccl_kernel(name))
        return KINETO_NCCL_KERNEL;
    if (kind == KINETO_CALL && !raw_json_is(name, "record_param_comms"))
        return KINETO_OTHER;
    if (kind == KINETO_LAUNCH && !holds(name, "Launch"))
        return KINETO_OTHER;
    return kind;
}

static void take_member(struct raw_json key, struct raw_json value, struct kineto_head *head)
{
    if (raw_json_is(key, "cat"))
        kineto_text(value, &head->category);
    else if (raw_json_is(key, "name"))
        kineto_text(value, &head->name);
    else if (raw_json_is(key, "pid"))
        head->process = value;
    else if (raw_json_is(key, "tid"))
        head->thread = value;
    else if (raw_json_is(key, "ts"))
        head->begin = value;
    else if (raw_json_is(key, "dur"))
        head->duration = value;
    else if (raw_json_is(key, "args"))
        head->arguments = value;
}

/* Reads an event that is not needed only far enough to find a quote inside its name. */
static int read_head(struct raw_json text, struct kineto_head *head, enum kineto_kind *kind)
{
    struct raw_json_cursor cursor;
    struct raw_json key, value;
    int more;
    *head = (struct kineto_head){.category = {NULL, 0}};
    *kind = KINETO_OTHER;
    raw_json_enter(&cursor, text);
    while ((more = raw_json_next(&cursor, &key, &value)) == 1) {
        if (head->category.text && head->name.text && *kind == KINETO_OTHER) {
            *kind = kind_of(head->category, head->name);
            if (*kind == KINETO_OTHER)
                return 0;
        }
        take_member(key, value, head);
    }
    /* Of repeated members the last counts; a name that is not a text is ignored. */
    if (!head->category.text || !head->name.text)
        *kind = KINETO_OTHER;
    else if (more == 0 && *kind == KINETO_OTHER)
        *kind = kind_of(head->category, head->name);
    return more;
}

static int64_t read_time(struct raw_json value, int64_t otherwise)
{
    int64_t time_ns = otherwise;
    struct raw_json content;
    if (raw_json_string(value, &content) == 0)
        value = content;
    return number_microseconds_ns(value.text, value.length, &time_ns) ? otherwise : time_ns;
}

/* Reads everything except the arguments. Returns -1 if a required member is missing. */
static int take_head(const struct kineto_head *head, struct kineto_event *event)
{
    event->name = head->name;
    event->process = kineto_integer(head->process, COUNT_UNKNOWN);
    event->thread = kineto_integer(head->thread, COUNT_UNKNOWN);
    event->begin_ns = read_time(head->begin, TIME_UNKNOWN);
    event->duration_ns = read_time(head->duration, 0);
    return event->begin_ns == TIME_UNKNOWN || event->duration_ns < 0 ? -1 : 0;
}

int kineto_event_read_any(struct raw_json text, struct kineto_event *event)
{
    struct kineto_head head;
    const char *past;
    *event = (struct kineto_event){.kind = KINETO_OTHER};
    if (read_head(text, &head, &event->kind))
        return -1;
    if (event->kind == KINETO_OTHER)
        return 0;
    int is_broken = take_head(&head, event);
    return kineto_arguments_read(head.arguments, NULL, &event->arguments, &past) || is_broken ? -1 : 0;
}

/* Reads an event as torch prints it. Returns 1; 0 if anything differs. */
static int read_fixed(struct raw_json text, struct kineto_layouts *layouts, struct kineto_event *event)
{
    struct kineto_head head;
    struct kineto_fixed fixed;
    const char *past;
    *event = (struct kineto_event){.kind = KINETO_OTHER};
    if (!kineto_fixed_begin(&fixed, text, &head))
        return 0;
    event->kind = kind_of(head.category, head.name);
    if (event->kind == KINETO_OTHER)
        return 1;
    return kineto_fixed_rest(&fixed, &head) && !take_head(&head, event) &&
           !kineto_arguments_read(head.arguments, layouts->of_kind[event->kind], &event->arguments, &past) &&
           past == head.arguments.text + head.arguments.length;
}

int kineto_event_read(struct raw_json text, struct kineto_layouts *layouts, struct kineto_event *event)
{
    return read_fixed(text, layouts, event) ? 0 : kineto_event_read_any(text, event);
}

struct word {
    const char *text;
    int number;
};

static int find_word(const struct word *words, struct raw_json text)
{
    while (words->text && !raw_json_is(text, words->text))
        words++;
    return words->number;
}

/* Longer words first: "_reduce_scatter_base" is not a scatter. */
static const struct word collectives[] = {
    {"reducescatter", FUNCTION_REDUCE_SCATTER},
    {"allreduce", FUNCTION_ALL_REDUCE},
    {"allgather", FUNCTION_ALL_GATHER},
    {"alltoall", FUNCTION_ALL_TO_ALL},
    {"broadcast", FUNCTION_BROADCAST},
    {"barrier", FUNCTION_BARRIER},
    {"scatter", FUNCTION_SCATTER},
    {"gather", FUNCTION_GATHER},
    {"reduce", FUNCTION_REDUCE},
    {"send", FUNCTION_SEND},
    {"recv", FUNCTION_RECV},
    {NULL, FUNCTION_UNKNOWN},
};

enum function kineto_function(struct raw_json collective)
{
    char plain[32];
    size_t length = 0;
    for (size_t i = 0; i < collective.length && length < sizeof plain; i++)
        if (collective.text[i] != '_')
            plain[length++] = collective.text[i];
    const struct word *word = collectives;
    while (word->text && !holds((struct raw_json){plain, length}, word->text))
        word++;
    if (word->text || raw_json_is(collective, "wait") || raw_json_is(collective, "init") || !length)
        return (enum function)word->number;
    return FUNCTION_OTHER;
}

/* c10's scalar types. */
static const struct word scalar_types[] = {
    {"Float", DATATYPE_FLOAT32},
    {"BFloat16", DATATYPE_BFLOAT16},
    {"Half", DATATYPE_FLOAT16},
    {"Double", DATATYPE_FLOAT64},
    {"Long", DATATYPE_INT64},
    {"Int", DATATYPE_INT32},
    {"Byte", DATATYPE_UINT8},
    {"Char", DATATYPE_INT8},
    {"Bool", DATATYPE_UINT8},
    {"UInt32", DATATYPE_UINT32},
    {"UInt64", DATATYPE_UINT64},
    {"Float8_e4m3fn", DATATYPE_FLOAT8E4M3},
    {"Float8_e5m2", DATATYPE_FLOAT8E5M2},
    {"", DATATYPE_UNKNOWN},
    {NULL, DATATYPE_OTHER},
};

enum datatype kineto_datatype(struct raw_json word)
{
    return (enum datatype)find_word(scalar_types, word);
}

int kineto_pair_name(struct raw_json name, int64_t *own, int64_t *peer)
{
    int is_send = begins_with(name, "nccl:send ");
    if (!is_send && !begins_with(name, "nccl:recv "))
        return -1;
    const char *text = name.text + 10, *end = name.text + name.length;
    const char *arrow = memmem(text, (size_t)(end - text), is_send ? "->" : "<-", 2);
    return !arrow || number_int64(text, (size_t)(arrow - text), own) ||
                   number_int64(arrow + 2, (size_t)(end - arrow - 2), peer)
               ? -1
               : 0;
}

/* The product of a shape "[2, 3]"; 0 if a part is not a number. */
static int64_t product_of(struct raw_json shape)
{
    struct raw_json_cursor cursor;
    struct raw_json key, value;
    int64_t product = 1, number;
    raw_json_enter(&cursor, shape);
    while (raw_json_next(&cursor, &key, &value) == 1)
        if (number_int64(value.text, value.length, &number) || number < 0 ||
            __builtin_mul_overflow(product, number, &product))
            return 0;
    return product;
}

/*
 * "Input Dims" lists the arguments of the call. The first one is its tensors: a list of shapes, or one shape.
 */
int64_t kineto_elements(struct raw_json shapes)
{
    struct raw_json_cursor cursor;
    struct raw_json key, first, shape;
    int64_t sum = 0;
    if (!shapes.length)
        return COUNT_UNKNOWN;
    raw_json_enter(&cursor, shapes);
    if (raw_json_next(&cursor, &key, &first) != 1)
        return COUNT_UNKNOWN;
    raw_json_enter(&cursor, first);
    while (raw_json_next(&cursor, &key, &shape) == 1 && *shape.text == '[')
        if (__builtin_add_overflow(sum, product_of(shape), &sum))
            return COUNT_UNKNOWN;
    sum = sum ? sum : product_of(first);
    return sum > 0 && first.length > 2 ? sum : COUNT_UNKNOWN;
}
