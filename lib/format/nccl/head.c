#include "format/nccl/head.h"

#include "input/number.h"

#include <string.h>

static const struct {
    const char *mark;
    enum level level;
} marks[] = {{" NCCL INFO ", LEVEL_INFO},
             {" NCCL WARN ", LEVEL_WARN},
             {" NCCL CALL ", LEVEL_CALL},
             {" NCCL TRACE ", LEVEL_TRACE}};

enum { MARKS = sizeof marks / sizeof *marks };

/* The mark at the first " NCCL " that is one; NULL. */
static const char *find_mark(struct text line, size_t *number)
{
    static const char common[] = " NCCL ";
    const char *end = line.data + line.length, *at = line.data;
    while ((at = memmem(at, (size_t)(end - at), common, sizeof common - 1))) {
        for (*number = 0; *number < MARKS; ++*number)
            if (text_begins((struct text){at, (size_t)(end - at)}, marks[*number].mark))
                return at;
        at += sizeof common - 1;
    }
    return NULL;
}

/* The last word before a place, and the place before it. */
static struct text word_before(struct text line, size_t *at)
{
    size_t end = *at, begin = end;
    while (begin > 0 && line.data[begin - 1] != ' ')
        begin--;
    *at = begin ? begin - 1 : 0;
    return (struct text){line.data + begin, end - begin};
}

static int is_digits(struct text text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return 0;
    return text.length > 0;
}

static int is_of_host(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_' || byte == '.';
}

/* "host:pid:tid", where the host's name begins behind all that is in no name. */
static int read_speaker(struct text word, struct head *head)
{
    const char *thread = memrchr(word.data, ':', word.length);
    const char *process = thread ? memrchr(word.data, ':', (size_t)(thread - word.data)) : NULL;
    if (!process)
        return -1;
    struct text tid = {thread + 1, word.length - (size_t)(thread + 1 - word.data)};
    struct text pid = {process + 1, (size_t)(thread - process - 1)};
    size_t length = (size_t)(process - word.data), begin = length;
    while (begin > 0 && is_of_host(word.data[begin - 1]))
        begin--;
    head->host = (struct text){word.data + begin, length - begin};
    return !is_digits(tid) || !is_digits(pid) || number_int64(pid.data, pid.length, &head->pid) ||
                   number_int64(tid.data, tid.length, &head->tid) || !head->host.length
               ? -1
               : 0;
}

static int is_device(struct text word, int64_t *device)
{
    return word.length > 2 && word.data[0] == '[' && word.data[word.length - 1] == ']' &&
           is_digits((struct text){word.data + 1, word.length - 2}) &&
           number_int64(word.data + 1, word.length - 2, device) == 0;
}

/* Warnings and traces name the line of NCCL's source, traces the time behind the device. Warnings of a plugin
 * name its function with its whole signature. */
enum { WORDS_BETWEEN = 3, WORDS_BETWEEN_WARNING = 32 };

static int read_before(struct text line, size_t mark, enum level level, struct head *head)
{
    int most = level == LEVEL_WARN ? WORDS_BETWEEN_WARNING : WORDS_BETWEEN;
    size_t at = mark;
    head->device = -1;
    for (int i = 0; i <= most && at > 0; i++) {
        struct text word = word_before(line, &at);
        if (is_device(word, &head->device))
            i = most - 1; /* what comes before it is who speaks */
        else if (read_speaker(word, head) == 0) {
            head->before = (struct text){line.data, (size_t)(head->host.data - line.data)};
            return 0;
        }
    }
    return -1;
}

int head_find(struct text line, struct head *head)
{
    struct text rest = line;
    size_t number;
    for (const char *mark; (mark = find_mark(rest, &number));) {
        size_t length = strlen(marks[number].mark);
        rest = (struct text){mark + length, (size_t)(line.data + line.length - mark) - length};
        if (read_before(line, (size_t)(mark - line.data), marks[number].level, head))
            continue;
        head->level = marks[number].level;
        head->message = rest;
        return 1;
    }
    return 0;
}
