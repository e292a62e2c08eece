#include "format/flight_recorder/words.h"

#include "model/event.h"

#include <string.h>

/* What names begin with, underscores left out; the longer of two that begin alike first. */
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
    {"Bool", DATATYPE_UINT8}, /* as NCCL gets it */
    {"bool", DATATYPE_UINT8},
    {"Char", DATATYPE_INT8},
    {"signed char", DATATYPE_INT8},
    {"int8_t", DATATYPE_INT8},
    {"Float8_e4m3fn", DATATYPE_FLOAT8E4M3},
    {"Float8_e5m2", DATATYPE_FLOAT8E5M2},
};

/* Whether a text begins with a word, without underscores; how many bytes that took, else 0. */
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

/* A rank in decimal. Returns where it ends; NULL when there is none. */
static const char *take_rank(const char *at, const char *end, int64_t *rank)
{
    const char *begin = at;
    *rank = 0;
    while (at < end && *at >= '0' && *at <= '9' && *rank < INT32_MAX)
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
    if (left == strlen("coalesced") && memcmp(word, "coalesced", left) == 0) {
        name.is_closing = 1;
        return name;
    }
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
