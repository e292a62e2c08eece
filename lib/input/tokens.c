/*
 * Extracts values at given paths from JSON texts of any length, and resumes after damage. Below it: exact
 * numbers from decimal text. The readers of formats with one large JSON text use it.
 */
#include "base/base.h"
#include "input/input.h"
#include "input/json.h"

#include <string.h>

void tokens_init(struct tokens *tokens, struct input *input, const char *const *paths)
{
    *tokens = (struct tokens){.input = input, .paths = paths};
    while (paths[tokens->path_count] && tokens->path_count < TOKENS_PATHS) {
        tokens->levels[0].rest[tokens->path_count] = paths[tokens->path_count];
        tokens->path_count++;
    }
}

/*
 * Extends the text in memory and releases the bytes before `at`. Returns 1, or 0 if there are no more. A read
 * error counts as the end; it is reported after everything read was processed.
 */
static int refill(struct tokens *tokens)
{
    struct error error = ERROR_INIT;
    const char *bytes;
    size_t held = (size_t)(tokens->end - tokens->at), length;
    if (tokens->at_end)
        return 0;
    input_skip(tokens->input, (size_t)(tokens->at - tokens->text));
    int64_t got = input_peek(tokens->input, &bytes, held + 1, &error);
    error_clear(&error);
    tokens->at_end = got <= (int64_t)held;
    tokens->text = tokens->at = input_ahead(tokens->input, &length, &tokens->offset);
    tokens->end = tokens->text + length;
    return !tokens->at_end;
}

static void skip_space(struct tokens *tokens)
{
    do
        tokens->at = raw_json_skip_space(tokens->at, tokens->end);
    while (tokens->at == tokens->end && refill(tokens));
}

/*
 * The rest of a path after the member `key`, or after an array item if `key` is NULL; NULL if it is not on
 * the path.
 */
static const char *follow(const char *rest, const char *key, size_t key_bytes)
{
    if (!rest)
        return NULL;
    if (!key)
        return strncmp(rest, "[]", 2) == 0 ? rest + 2 : NULL;
    if (*rest == '.')
        rest++;
    size_t length = strcspn(rest, ".[");
    if (length == 1 && *rest == '*')
        return rest + 1;
    return length == key_bytes && length > 0 && memcmp(rest, key, length) == 0 ? rest + length : NULL;
}

/* Whether a path continues into a container that begins with this byte. */
static int leads_into(const char *rest, char opening)
{
    if (!rest || *rest == '\0')
        return 0;
    return opening == '[' ? *rest == '[' : *rest != '[';
}

/* Advances all paths by one value. Returns the index of the last path that ends there; -1 if none does. */
static int64_t match(const struct tokens *tokens, struct tokens_level *next)
{
    const struct tokens_level *level = &tokens->levels[tokens->depth];
    const char *key = level->closing == '}' ? tokens->key : NULL;
    int64_t found = -1;
    for (size_t i = 0; i < tokens->path_count; i++) {
        next->rest[i] = level->closing ? follow(level->rest[i], key, tokens->key_bytes) : level->rest[i];
        if (next->rest[i] && next->rest[i][0] == '\0')
            found = (int64_t)i;
    }
    return found;
}

static int leads_on(const struct tokens *tokens, const struct tokens_level *next, char opening)
{
    int leads = 0;
    if (tokens->depth == TOKENS_LEVELS || (opening != '{' && opening != '['))
        return 0;
    for (size_t i = 0; i < tokens->path_count; i++)
        leads |= leads_into(next->rest[i], opening);
    return leads;
}

/*
 * Records how the values of a container begin: with a line break, indentation and first byte, or, if they are
 * on one line, with all text up to the end of the first key.
 */
static void note_mark(struct tokens *tokens)
{
    struct tokens_level *level = &tokens->levels[tokens->depth];
    const char *before = tokens->at;
    while (before > tokens->text && (before[-1] == ' ' || before[-1] == '\t'))
        before--;
    int has_line = before > tokens->text && before[-1] == '\n';
    const char *from = has_line ? before - 1 : tokens->at, *to = tokens->at + 1;
    for (int quotes = 0; !has_line && quotes < 2 && to < tokens->end; to++)
        quotes += *to == '"';
    if ((size_t)(to - from) > sizeof level->mark || (!has_line && *tokens->at != '{'))
        return;
    level->mark_bytes = (size_t)(to - from);
    memcpy(level->mark, from, level->mark_bytes);
}

/*
 * Finds the first position in memory where a value of one of the open containers begins; *depth is the depth
 * of that container. NULL: none.
 */
static const char *find_mark(const struct tokens *tokens, size_t *depth)
{
    const char *found = NULL, *end = tokens->end;
    for (size_t i = tokens->depth; i > 0; i--) {
        const struct tokens_level *level = &tokens->levels[i];
        const char *here =
            level->mark_bytes ? memmem(tokens->at, (size_t)(end - tokens->at), level->mark, level->mark_bytes)
                              : NULL;
        if (!here)
            continue;
        found = here;
        *depth = i;
        end = here + level->mark_bytes - 1; /* an outer one counts only if it comes earlier */
    }
    return found;
}

static void give_up(struct tokens *tokens)
{
    tokens->at = tokens->end;
    tokens->depth = 0;
    tokens->is_over = 1;
}

/*
 * Moves to where the next value begins in the same way as its siblings, after the current byte; otherwise to
 * the end.
 */
static void resume(struct tokens *tokens)
{
    const char *found;
    size_t depth = 0;
    tokens->at += tokens->at < tokens->end;
    while (!(found = find_mark(tokens, &depth))) {
        size_t left = (size_t)(tokens->end - tokens->at);
        size_t overlap = left < sizeof tokens->levels->mark ? left : sizeof tokens->levels->mark;
        tokens->at = tokens->end - overlap;
        if (!refill(tokens)) {
            give_up(tokens);
            return;
        }
    }
    tokens->at = found;
    tokens->depth = depth;
    tokens->levels[depth].has_value = 0;
}

static void give(const struct tokens *tokens, enum tokens_kind kind, const char *past,
                 struct tokens_value *value)
{
    value->kind = kind;
    value->value = (struct raw_json){tokens->at, (size_t)(past - tokens->at)};
    value->offset = tokens->offset + (uint64_t)(tokens->at - tokens->text);
}

/* Returns the damaged text up to the end of its line. The next call continues after it. */
static void give_damage(const struct tokens *tokens, struct tokens_value *value)
{
    size_t left = (size_t)(tokens->end - tokens->at);
    const char *past = left ? memchr(tokens->at, '\n', left) : NULL;
    give(tokens, TOKENS_DAMAGE, past && past > tokens->at ? past : tokens->end, value);
}

/* Whether a line begins with the first `length` bytes of a mark. There are at least `length` bytes. */
static inline int begins_like(const char *line, const char *end, const char *mark, size_t length)
{
    if (length > 8 || end - line < 8)
        return memcmp(line, mark, length) == 0;
    return (eight_bytes(line) ^ eight_bytes(mark)) << (64 - 8 * length) == 0;
}

/*
 * A fast search for the end of an object that is printed over several lines: its last line begins like its
 * first, and all lines between are indented further. Strings do not contain line breaks. Returns NULL if the
 * object is not printed like this or is not completely in memory.
 */
static const char *end_by_lines(const struct tokens *tokens)
{
    const struct tokens_level *level = &tokens->levels[tokens->depth];
    size_t indent = level->mark_bytes - 2;
    const char *line = tokens->at + 1, *end = tokens->end;
    if (level->mark_bytes < 2 || level->mark[0] != '\n' || end - tokens->at < 2 || *tokens->at != '{' ||
        *line != '\n')
        return NULL;
    while (line && (size_t)(end - line) > indent + 1 && begins_like(line, end, level->mark, indent + 1)) {
        const char first = line[indent + 1];
        if (first == '}')
            return line + indent + 2;
        if (first != ' ' && first != '\t')
            return NULL;
        line = memchr(line + indent + 1, '\n', (size_t)(end - line) - indent - 1);
    }
    return NULL;
}

/*
 * Reads until the current value is completely in memory, and returns its end. Returns NULL, with the reason
 * in *kind, if that is not possible.
 */
static const char *hold(struct tokens *tokens, enum tokens_kind *kind)
{
    struct raw_json_scan scan = {.depth = 0};
    size_t scanned = 0;
    const char *past = end_by_lines(tokens);
    *kind = TOKENS_VALUE;
    if (past && (size_t)(past - tokens->at) <= TOKENS_VALUE_BYTES)
        return past;
    for (;;) {
        past = raw_json_end(&scan, tokens->at + scanned, tokens->end);
        scanned = (size_t)(tokens->end - tokens->at);
        if (past || scan.is_broken)
            break;
        if (scanned >= TOKENS_VALUE_BYTES) {
            *kind = TOKENS_TOO_LONG;
            return NULL;
        }
        if (!refill(tokens)) {
            *kind = TOKENS_CUT;
            return scan.in == 'w' && tokens->depth == 0 ? tokens->end : NULL;
        }
    }
    if (!past)
        *kind = TOKENS_DAMAGE;
    else if ((size_t)(past - tokens->at) > TOKENS_VALUE_BYTES)
        *kind = TOKENS_TOO_LONG;
    return *kind == TOKENS_VALUE ? past : NULL;
}

/* Skips a value of any length. Invalid text is left where it was detected. */
static enum tokens_kind skip(struct tokens *tokens)
{
    struct raw_json_scan scan = {.depth = 0};
    for (;;) {
        const char *past = raw_json_end(&scan, tokens->at, tokens->end);
        if (past) {
            tokens->at = past;
            return TOKENS_VALUE;
        }
        if (scan.is_broken)
            return TOKENS_DAMAGE;
        tokens->at = tokens->end;
        if (!refill(tokens))
            return scan.in == 'w' && tokens->depth == 0 ? TOKENS_VALUE : TOKENS_CUT;
    }
}

/* Reads the key of a member and its colon. */
static enum tokens_kind take_key(struct tokens *tokens)
{
    enum tokens_kind kind;
    if (*tokens->at != '"')
        return TOKENS_DAMAGE;
    const char *past = hold(tokens, &kind);
    if (!past)
        return kind;
    size_t length = (size_t)(past - tokens->at) - 2;
    tokens->key_bytes = length < sizeof tokens->key ? length : sizeof tokens->key;
    memcpy(tokens->key, tokens->at + 1, tokens->key_bytes);
    tokens->at = past;
    skip_space(tokens);
    if (tokens->at == tokens->end || *tokens->at != ':')
        return tokens->at == tokens->end ? TOKENS_CUT : TOKENS_DAMAGE;
    tokens->at++;
    skip_space(tokens);
    return tokens->at == tokens->end ? TOKENS_CUT : TOKENS_VALUE;
}

/* In an array that was entered: what `items` of struct tokens_level is. */
static size_t path_of_items(const struct tokens *tokens)
{
    struct tokens_level next = {.closing = '\0'};
    int64_t found = match(tokens, &next);
    return found < 0 || leads_on(tokens, &next, '{') || leads_on(tokens, &next, '[') ? 0 : (size_t)found + 1;
}

static void enter(struct tokens *tokens, const struct tokens_level *next)
{
    char opening = *tokens->at++;
    tokens->levels[tokens->depth].has_value = 1;
    tokens->levels[++tokens->depth] = *next;
    tokens->levels[tokens->depth].closing = opening == '[' ? ']' : '}';
    tokens->levels[tokens->depth].items = opening == '[' ? path_of_items(tokens) : 0;
}

static void end_value(struct tokens *tokens, const char *past)
{
    tokens->at = past;
    tokens->levels[tokens->depth].has_value = 1;
    tokens->is_over |= tokens->depth == 0;
}

/* Returns the failed text to the caller; the next call continues after it. Returns 1: there is a result. */
static int give_failure(struct tokens *tokens, enum tokens_kind kind, struct tokens_value *value)
{
    if (kind == TOKENS_DAMAGE) {
        give_damage(tokens, value);
        tokens->must_resume = 1;
        return 1;
    }
    give(tokens, kind, tokens->end, value);
    if (kind == TOKENS_CUT)
        give_up(tokens);
    else
        tokens->must_skip = 1;
    return 1;
}

static int skip_value(struct tokens *tokens, struct tokens_value *value)
{
    enum tokens_kind kind = skip(tokens);
    if (kind != TOKENS_VALUE)
        return give_failure(tokens, kind, value);
    end_value(tokens, tokens->at);
    return 0;
}

/* Returns 1: there is a result. */
static int give_value(struct tokens *tokens, size_t path, struct tokens_value *value)
{
    enum tokens_kind kind;
    const char *past = hold(tokens, &kind);
    value->path = path;
    value->key = (struct raw_json){tokens->key, tokens->key_bytes};
    if (!past)
        return give_failure(tokens, kind, value);
    give(tokens, TOKENS_VALUE, past, value);
    end_value(tokens, past);
    return 1;
}

/* Returns 1 if *value is a result, 0 if the value was of no interest. */
static int take_value(struct tokens *tokens, struct tokens_value *value)
{
    size_t items = tokens->levels[tokens->depth].items;
    if (items)
        return give_value(tokens, items - 1, value);
    struct tokens_level next = {.closing = '\0'};
    int64_t found = match(tokens, &next);
    if (leads_on(tokens, &next, *tokens->at)) {
        enter(tokens, &next);
        return 0;
    }
    return found < 0 ? skip_value(tokens, value) : give_value(tokens, (size_t)found, value);
}

/* Inside a container: reads its end, a comma, or a value. */
static int take_part(struct tokens *tokens, struct tokens_value *value)
{
    struct tokens_level *level = &tokens->levels[tokens->depth];
    if (*tokens->at == level->closing) {
        tokens->at++;
        tokens->is_over = --tokens->depth == 0;
        return 0;
    }
    if (*tokens->at == ',' && level->has_value) {
        tokens->at++;
        level->has_value = 0;
        return 0;
    }
    if (level->has_value && *tokens->at == '{' && level->closing == ']') {
        /* The comma before an object of a list is missing: the next call reads the object. */
        level->has_value = 0;
        give_damage(tokens, value);
        return 1;
    }
    if (level->has_value)
        return give_failure(tokens, TOKENS_DAMAGE, value);
    note_mark(tokens);
    tokens->key_bytes = 0;
    enum tokens_kind kind = level->closing == '}' ? take_key(tokens) : TOKENS_VALUE;
    return kind == TOKENS_VALUE ? take_value(tokens, value) : give_failure(tokens, kind, value);
}

/* The end of the text, or the reason why no more of it can be read. */
static int take_end(struct tokens *tokens, struct tokens_value *value, struct error *error)
{
    const char *bytes;
    *value = (struct tokens_value){.kind = TOKENS_END,
                                   .offset = tokens->offset + (uint64_t)(tokens->end - tokens->text)};
    input_skip(tokens->input, (size_t)(tokens->at - tokens->text));
    tokens->text = tokens->at;
    tokens->offset = value->offset;
    return input_peek(tokens->input, &bytes, 1, error) < 0 ? -1 : 0;
}

/* Finishes what the last call left to do. If that succeeds there is no result yet. */
static int settle(struct tokens *tokens, struct tokens_value *value)
{
    int resumes = tokens->must_resume, skips = tokens->must_skip;
    tokens->must_resume = tokens->must_skip = 0;
    if (resumes)
        resume(tokens);
    return skips ? skip_value(tokens, value) : 0;
}

int tokens_next(struct tokens *tokens, struct tokens_value *value, struct error *error)
{
    *value = (struct tokens_value){.kind = TOKENS_END};
    int given = settle(tokens, value);
    while (!given) {
        skip_space(tokens);
        if (tokens->at == tokens->end && tokens->depth == 0)
            return take_end(tokens, value, error);
        if (tokens->at == tokens->end)
            given = give_failure(tokens, TOKENS_CUT, value);
        else if (tokens->is_over)
            given = give_failure(tokens, TOKENS_DAMAGE, value);
        else
            given = tokens->depth ? take_part(tokens, value) : take_value(tokens, value);
    }
    return 0;
}

int tokens_leave(struct tokens *tokens)
{
    if (!tokens->is_over || tokens->depth || tokens->at == tokens->end)
        return 0;
    input_skip(tokens->input, (size_t)(tokens->at - tokens->text));
    tokens->text = tokens->at;
    return 1;
}

/* A JSON number as digits x 10^exponent, with a separate sign. */
struct decimal {
    uint64_t digits;
    int exponent;
    int negative;
    int inexact; /* some dropped digits were not zero */
    int beyond;  /* the first dropped digit, for rounding */
};

enum { EXPONENT_MOST = 10000 };

static size_t count_digits(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && is_digit(text[count]))
        count++;
    return count;
}

/* Adds digits. Digits that no longer fit into 64 bits only change the exponent. */
static void add_digits(struct decimal *decimal, const char *text, size_t length, int is_fraction)
{
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(text[i] - '0');
        if (decimal->beyond < 0 && decimal->digits <= (UINT64_MAX - digit) / 10) {
            decimal->digits = decimal->digits * 10 + digit;
            decimal->exponent -= is_fraction;
            continue;
        }
        if (decimal->beyond < 0)
            decimal->beyond = (int)digit;
        decimal->inexact |= digit != 0;
        decimal->exponent += !is_fraction;
    }
}

static int read_exponent(const char *text, size_t length, int *exponent)
{
    int negative = length > 0 && text[0] == '-';
    int value = 0;
    size_t at = length > 0 && (text[0] == '-' || text[0] == '+');
    if (at == length || count_digits(text + at, length - at) != length - at)
        return -1;
    for (; at < length; at++)
        if (value < EXPONENT_MOST)
            value = value * 10 + (text[at] - '0');
    *exponent = negative ? -value : value;
    return 0;
}

static int read_decimal(const char *text, size_t length, struct decimal *decimal)
{
    size_t at = length > 0 && text[0] == '-';
    size_t whole = count_digits(text + at, length - at);
    int exponent = 0;
    *decimal = (struct decimal){.negative = (int)at, .beyond = -1};
    if (whole == 0)
        return -1;
    add_digits(decimal, text + at, whole, 0);
    at += whole;
    if (at < length && text[at] == '.') {
        size_t fraction = count_digits(text + at + 1, length - at - 1);
        if (fraction == 0)
            return -1;
        add_digits(decimal, text + at + 1, fraction, 1);
        at += 1 + fraction;
    }
    if (at == length)
        return 0;
    if ((text[at] != 'e' && text[at] != 'E') || read_exponent(text + at + 1, length - at - 1, &exponent))
        return -1;
    decimal->exponent += exponent;
    return 0;
}

int number_is_json(const char *text, size_t length)
{
    struct decimal decimal;
    size_t first = length > 0 && text[0] == '-';
    if (length > first + 1 && text[first] == '0' && is_digit(text[first + 1]))
        return 0;
    return read_decimal(text, length, &decimal) == 0;
}

/* digits x 10^exponent as an integer. Returns -1 if it has a fraction or is out of range. */
static int whole_number(const struct decimal *decimal, uint64_t *value)
{
    *value = decimal->digits;
    if (decimal->inexact)
        return -1;
    for (int i = decimal->exponent; i < 0 && *value != 0; i++) {
        if (*value % 10)
            return -1;
        *value /= 10;
    }
    for (int i = decimal->exponent; i > 0 && *value != 0; i--)
        if (__builtin_mul_overflow(*value, 10U, value))
            return -1;
    return 0;
}

static int with_sign(uint64_t magnitude, int negative, int64_t *value)
{
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1U : 0U))
        return -1;
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return 0;
}

/* That many digits fit into 64 bits. */
enum { PLAIN_DIGITS = 18 };

/* The usual number: a few digits and nothing else. Returns -1 for all others. */
static int plain_number(const char *text, size_t length, uint64_t *value)
{
    uint64_t result = 0;
    if (length == 0 || length > PLAIN_DIGITS)
        return -1;
    for (; length >= 8; text += 8, length -= 8) {
        uint64_t bytes = eight_bytes(text);
        if (eight_digits(bytes) != 8)
            return -1;
        result = result * 100000000 + eight_number(bytes, 8);
    }
    for (; length > 0; text++, length--) {
        unsigned digit = (unsigned)*text - '0';
        if (digit > 9)
            return -1;
        result = result * 10 + digit;
    }
    *value = result;
    return 0;
}

int number_uint64(const char *text, size_t length, uint64_t *value)
{
    struct decimal decimal;
    uint64_t magnitude;
    if (plain_number(text, length, value) == 0)
        return 0;
    if (read_decimal(text, length, &decimal) || whole_number(&decimal, &magnitude))
        return -1;
    if (decimal.negative && magnitude != 0)
        return -1;
    *value = magnitude;
    return 0;
}

int number_int64(const char *text, size_t length, int64_t *value)
{
    struct decimal decimal;
    uint64_t magnitude;
    if (plain_number(text, length, &magnitude) == 0) {
        *value = (int64_t)magnitude;
        return 0;
    }
    if (read_decimal(text, length, &decimal) || whole_number(&decimal, &magnitude))
        return -1;
    return with_sign(magnitude, decimal.negative, value);
}

static int hexadecimal_digit(char byte)
{
    if (is_digit(byte))
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return -1;
}

int number_hexadecimal(const char *text, size_t length, uint64_t *value)
{
    uint64_t result = 0;
    if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        text += 2;
        length -= 2;
    }
    if (length == 0)
        return -1;
    for (size_t i = 0; i < length; i++) {
        int digit = hexadecimal_digit(text[i]);
        if (digit < 0 || result >> 60)
            return -1;
        result = result << 4 | (uint64_t)digit;
    }
    *value = result;
    return 0;
}

/* The usual microseconds: digits, a point and three digits. Returns -1 for all others. */
static int plain_microseconds(const char *text, size_t length, int64_t *ns)
{
    enum { DECIMALS = 3, TAIL = DECIMALS + 1 };
    uint64_t whole, fraction;
    if (length <= TAIL || text[length - TAIL] != '.' || length - TAIL > PLAIN_DIGITS - DECIMALS ||
        plain_number(text, length - TAIL, &whole) ||
        plain_number(text + length - DECIMALS, DECIMALS, &fraction))
        return -1;
    *ns = (int64_t)(whole * 1000 + fraction);
    return 0;
}

int number_microseconds_ns(const char *text, size_t length, int64_t *ns)
{
    struct decimal decimal;
    if (plain_microseconds(text, length, ns) == 0)
        return 0;
    if (read_decimal(text, length, &decimal))
        return -1;
    decimal.exponent += 3;
    uint64_t value = decimal.digits;
    unsigned last = decimal.beyond > 0 && decimal.exponent == 0 ? (unsigned)decimal.beyond : 0;
    for (int i = decimal.exponent; i < 0 && (value != 0 || last != 0); i++) {
        last = (unsigned)(value % 10);
        value /= 10;
    }
    for (int i = decimal.exponent; i > 0 && value != 0; i--)
        if (__builtin_mul_overflow(value, 10U, &value))
            return -1;
    if (last >= 5)
        value++;
    return value > NUMBER_MOST_NS ? -1 : with_sign(value, decimal.negative, ns);
}

int number_fits(const char *text, size_t length)
{
    int64_t integer;
    uint64_t natural;
    return number_int64(text, length, &integer) == 0 || number_uint64(text, length, &natural) == 0 ||
           number_microseconds_ns(text, length, &integer) == 0;
}
