/* Words and numbers in pieces of log lines, and the messages that repeat another rank's failure. */
#include "base/base.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

/* Longer texts are searched by memmem(), which first makes a table of the mark. */
enum { LINE_BYTES = 512 };

const char *text_find(const char *text, size_t length, const char *mark, size_t mark_length)
{
    if (length < mark_length)
        return NULL;
    if (mark_length < 2 || length > LINE_BYTES)
        return memmem(text, length, mark, mark_length);
    /* Many marks begin with a blank, which is the most frequent byte. */
    size_t rare = *mark == ' ';
    const char *at = text, *last = text + length - mark_length;
    while (at <= last && (at = memchr(at + rare, mark[rare], (size_t)(last - at) + 1))) {
        at -= rare;
        if (memcmp(at, mark, mark_length) == 0)
            return at;
        at++;
    }
    return NULL;
}

struct text text_after(struct text text, const char *mark)
{
    size_t length = strlen(mark);
    const char *found = text.data ? text_find(text.data, text.length, mark, length) : NULL;
    if (!found)
        return (struct text){NULL, 0};
    size_t before = (size_t)(found - text.data) + length;
    return (struct text){found + length, text.length - before};
}

int text_begins(struct text text, const char *begin)
{
    size_t length = strlen(begin);
    return text.length >= length && (!length || memcmp(text.data, begin, length) == 0);
}

int text_contains(struct text text, const char *mark)
{
    return text_after(text, mark).data != NULL;
}

int text_contains_any(struct text text, const char *const *marks)
{
    for (; *marks; marks++)
        if (text_contains(text, *marks))
            return 1;
    return 0;
}

int text_is(struct text text, const char *word)
{
    return text.length == strlen(word) && text_begins(text, word);
}

static int ends_word(char byte)
{
    switch (byte) {
    case '\0':
    case ' ':
    case ',':
    case '[':
    case ']':
    case '(':
    case ')':
    case '{':
    case '}':
    case '<':
    case '>':
        return 1;
    default:
        return 0;
    }
}

struct text text_word(struct text text)
{
    size_t length = 0;
    while (length < text.length && !ends_word(text.data[length]))
        length++;
    return (struct text){text.data, length};
}

const char *text_copy(struct text text, char *copy, size_t bytes)
{
    if (!text.length)
        return NULL;
    snprintf(copy, bytes, "%.*s", (int)(text.length < bytes ? text.length : bytes), text.data);
    return copy;
}

struct text text_value(struct text text, const char *key)
{
    size_t length = strlen(key), left = text.length;
    const char *at = text.data, *blank;
    while (left > length) {
        if (*at == *key && memcmp(at, key, length) == 0 && at[length] == ' ')
            return text_word((struct text){at + length + 1, left - length - 1});
        blank = memchr(at, ' ', left);
        if (!blank)
            break;
        left -= (size_t)(blank + 1 - at);
        at = blank + 1;
    }
    return (struct text){NULL, 0};
}

int text_number(struct text text, const char *key, int64_t *value)
{
    struct text word = text_value(text, key);
    return word.length ? number_int64(word.data, word.length, value) : -1;
}

/* printf writes a null pointer as "(nil)"; the word ends before its bracket. */
int text_hexadecimal(struct text text, const char *key, uint64_t *value)
{
    struct text word = text_value(text, key);
    return word.length ? number_hexadecimal(word.data, word.length, value) : -1;
}

/* Appends a digit. A number that does not fit becomes INT64_MAX. */
static int64_t add_digit(int64_t number, char digit)
{
    return number > INT64_MAX / 100 ? INT64_MAX : number * 10 + (digit - '0');
}

static const int64_t SECONDS_MOST_NS = INT64_C(100000000) * 1000000000;

int64_t text_leading_number(struct text text)
{
    size_t length = 0;
    int64_t number;
    while (length < text.length && is_digit(text.data[length]))
        length++;
    return length && number_int64(text.data, length, &number) == 0 ? number : COUNT_UNKNOWN;
}

static int64_t number_after(struct text text, const char *mark)
{
    struct text behind = text_after(text, mark);
    return behind.data ? text_leading_number(behind) : COUNT_UNKNOWN;
}

int64_t launcher_rank(struct text before)
{
    int64_t rank = number_after(before, "[rank");
    if (rank == COUNT_UNKNOWN && text_begins(before, "[1,"))
        rank = number_after(before, "[1,");
    if (rank != COUNT_UNKNOWN)
        return rank;
    size_t digits = 0;
    while (digits < before.length && is_digit(before.data[digits]))
        digits++;
    struct text behind = {before.data + digits, before.length - digits};
    return digits && text_begins(behind, ": ") ? text_leading_number(before) : COUNT_UNKNOWN;
}

int64_t text_seconds_ns(struct text text)
{
    enum { DECIMALS = 9 };
    struct text word = text_word(text);
    int64_t ns = 0;
    int decimals = -1; /* digits after the point; -1: before the point */
    for (size_t i = 0; i < word.length && decimals < DECIMALS; i++) {
        char byte = word.data[i];
        if (byte == '.' && decimals < 0 && i > 0) {
            decimals = 0;
            continue;
        }
        if (!is_digit(byte))
            return TIME_UNKNOWN;
        ns = add_digit(ns, byte);
        decimals += decimals >= 0;
    }
    for (int i = decimals < 0 ? 0 : decimals; i < DECIMALS; i++)
        ns = add_digit(ns, '0');
    return word.length && ns <= SECONDS_MOST_NS ? ns : TIME_UNKNOWN;
}

/*
 * The first kind of text in which the words count; they also count in the kinds after it in enum echo_text.
 */
static const struct {
    const char *words;
    enum echo_text from;
} table[] = {
    {"Connection closed by remote peer", ECHO_LINE},
    {"Socket recv failed while polling", ECHO_LINE},
    {"Could not receive type from localRank", ECHO_LINE},
    {"socket progress error", ECHO_LINE},
    {"Call to recv from ", ECHO_LINE},
    {"Call to send to ", ECHO_LINE},
    {"Connection timed out", ECHO_LINE},
    {"Connection refused", ECHO_LINE},
    {"Connection reset", ECHO_LINE},
    {"No route to host", ECHO_LINE},
    {"Network is unreachable", ECHO_LINE},
    {"remote process exited", ECHO_LINE},
    {"ncclRemoteError", ECHO_ERROR},
    {"Broken pipe", ECHO_ERROR},
    {": Connect to ", ECHO_ERROR},
    {"Proxy Call to rank ", ECHO_ERROR},
    {"Got completion", ECHO_ERROR},
    {"communicator was aborted", ECHO_ERROR},
    {"torch.distributed.", ECHO_EXCEPTION},
    {"c10::", ECHO_EXCEPTION},
    {"NCCL", ECHO_EXCEPTION},
    {"Connection", ECHO_EXCEPTION},
    {"monitoredBarrier", ECHO_EXCEPTION},
    {"wait timeout after ", ECHO_EXCEPTION},
    {"Socket Timeout", ECHO_EXCEPTION},
    {"Timed out initializing process group", ECHO_EXCEPTION},
    {"imed out waiting ", ECHO_EXCEPTION},
    {"socket has timed out", ECHO_EXCEPTION},
    {"gloo", ECHO_EXCEPTION},
    {"Detected mismatch between collectives", ECHO_EXCEPTION},
    {"ActorDied", ECHO_EXCEPTION},
    {"RayActorError", ECHO_EXCEPTION},
};

int echo_is_in(struct text text, enum echo_text of)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from <= of && text_contains(text, table[i].words))
            return 1;
    return 0;
}
