#include "format/kineto/fixed.h"

#include <string.h>

/* A word as it is printed, quotes and colon of a key included. */
#define WORD(text) text, sizeof(text) - 1

static int take(struct kineto_fixed *fixed, const char *word, size_t length)
{
    if ((size_t)(fixed->end - fixed->at) < length || memcmp(fixed->at, word, length) != 0)
        return 0;
    fixed->at += length;
    return 1;
}

static void skip_space(struct kineto_fixed *fixed)
{
    fixed->at = raw_json_skip_space(fixed->at, fixed->end);
}

/* A comma, a key and its colon. */
static int take_key(struct kineto_fixed *fixed, const char *key, size_t length)
{
    skip_space(fixed);
    if (!take(fixed, WORD(",")))
        return 0;
    skip_space(fixed);
    if (!take(fixed, key, length))
        return 0;
    skip_space(fixed);
    return 1;
}

/* Between quotes. */
static int take_text(struct kineto_fixed *fixed, struct raw_json *text)
{
    if (!take(fixed, WORD("\"")))
        return 0;
    const char *begin = fixed->at;
    while (fixed->at < fixed->end && *fixed->at != '"' && *fixed->at != '\\' && *fixed->at != '\n')
        fixed->at++;
    *text = (struct raw_json){begin, (size_t)(fixed->at - begin)};
    return take(fixed, WORD("\""));
}

static int is_of_number(char byte)
{
    return (byte >= '0' && byte <= '9') || byte == '.' || byte == '-';
}

static int take_number(struct kineto_fixed *fixed, struct raw_json *number)
{
    const char *begin = fixed->at;
    while (fixed->at < fixed->end && is_of_number(*fixed->at))
        fixed->at++;
    *number = (struct raw_json){begin, (size_t)(fixed->at - begin)};
    skip_space(fixed);
    return number->length && fixed->at < fixed->end && (*fixed->at == ',' || *fixed->at == '}');
}

/* What an arrow has before its category: of no interest. */
static int pass_flow(struct kineto_fixed *fixed)
{
    struct raw_json number;
    return take_key(fixed, WORD("\"id\":")) && take_number(fixed, &number) &&
           take_key(fixed, WORD("\"pid\":")) && take_number(fixed, &number) &&
           take_key(fixed, WORD("\"tid\":")) && take_number(fixed, &number) &&
           take_key(fixed, WORD("\"ts\":")) && take_number(fixed, &number);
}

/* Behind the name of an arrow. */
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

int kineto_fixed_begin(struct kineto_fixed *fixed, struct raw_json text, struct kineto_head *head)
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

/* From the brace that opens the arguments to the last but the event's own. */
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

int kineto_fixed_rest(struct kineto_fixed *fixed, struct kineto_head *head)
{
    return !fixed->is_flow && take_key(fixed, WORD("\"tid\":")) && take_number(fixed, &head->thread) &&
           take_key(fixed, WORD("\"ts\":")) && take_number(fixed, &head->begin) &&
           take_key(fixed, WORD("\"dur\":")) && take_number(fixed, &head->duration) &&
           take_key(fixed, WORD("\"args\":")) && take_arguments(fixed, &head->arguments);
}
