#include "support/same_json.h"

#include "input/input.h"
#include "input/json.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* cJSON's own limit. */
enum { NUMBER_BYTES = 63 };

static const char *difference(const struct value *ours, const cJSON *theirs);

static const char *in_number(const struct value *ours, const cJSON *theirs)
{
    char digits[NUMBER_BYTES + 1];
    double number = ours->kind == VALUE_INTEGER ? (double)ours->integer : ours->number;
    if (ours->kind == VALUE_DECIMAL) {
        memcpy(digits, ours->text, ours->length);
        digits[ours->length] = '\0';
        number = strtod(digits, NULL);
    } else if (ours->kind != VALUE_INTEGER && ours->kind != VALUE_NUMBER) {
        return "no number";
    }
    return memcmp(&number, &theirs->valuedouble, sizeof number) == 0 || number == theirs->valuedouble
               ? NULL
               : "another number";
}

static const char *in_container(const struct value *ours, const cJSON *theirs)
{
    int is_object = cJSON_IsObject(theirs);
    const struct value *at = value_begin(ours), *end = value_end(ours);
    const char *found = NULL;
    if (ours->kind != (is_object ? VALUE_DICTIONARY : VALUE_LIST))
        return "no list or object";
    for (const cJSON *item = theirs->child; item && !found; item = item->next, at++) {
        if (at == end)
            return "fewer items";
        if (is_object && !value_is(at++, item->string))
            return "another key";
        found = difference(at, item);
    }
    return found ? found : at == end ? NULL : "more items";
}

static const char *difference(const struct value *ours, const cJSON *theirs)
{
    if (cJSON_IsNumber(theirs))
        return in_number(ours, theirs);
    if (cJSON_IsString(theirs))
        return value_is(ours, theirs->valuestring) ? NULL : "another text";
    if (cJSON_IsBool(theirs))
        return ours->kind == VALUE_BOOLEAN && ours->integer == cJSON_IsTrue(theirs) ? NULL
                                                                                    : "another boolean";
    if (cJSON_IsNull(theirs))
        return ours->kind == VALUE_NULL ? NULL : "something for null";
    return in_container(ours, theirs);
}

static int is_word_byte(char byte)
{
    return (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z') ||
           (byte != '\0' && strchr("+-._", byte));
}

static int is_word_of_json(struct raw_json word)
{
    return number_is_json(word.text, word.length) || raw_json_is(word, "true") ||
           raw_json_is(word, "false") || raw_json_is(word, "null");
}

/* The length of the longest word outside strings; 0: there is a word that is no JSON. */
static size_t longest_word(const char *text, size_t length)
{
    size_t longest = 1, word;
    for (size_t at = 0; at < length; at += word ? word : 1) {
        for (word = 0; at + word < length && is_word_byte(text[at + word]); word++)
            ;
        if (word > 0 && !is_word_of_json((struct raw_json){text + at, word}))
            return 0;
        longest = word > longest ? word : longest;
        if (text[at] == '"')
            for (at++; at < length && text[at] != '"'; at++)
                at += text[at] == '\\';
    }
    return longest;
}

static cJSON *parse(const char *text, size_t length)
{
    const char *end = NULL;
    cJSON *root = longest_word(text, length) ? cJSON_ParseWithLengthOpts(text, length, &end, 0) : NULL;
    if (root && raw_json_skip_space(end, text + length) != text + length) {
        cJSON_Delete(root);
        root = NULL;
    }
    return root;
}

static int depth_of(const cJSON *item)
{
    int depth = 0;
    for (const cJSON *child = item->child; child; child = child->next) {
        int below = depth_of(child);
        depth = below > depth ? below : depth;
    }
    return depth + 1;
}

/* The same for values that are kept, except for deeper nesting. */
static const char *in_kept_values(const char *text, size_t length, const cJSON *theirs)
{
    struct values values;
    struct value root;
    values_init(&values, SIZE_MAX);
    int status = json_to_values(&values, text, length, 0, &root, NULL);
    int is_wanted = theirs && depth_of(theirs) <= VALUE_DEPTH_MOST;
    const char *found = status == (is_wanted ? 0 : 1) ? NULL : "kept where the other is not";
    if (status == 0 && !found)
        found = difference(&root, theirs);
    values_release(&values);
    return found;
}

const char *difference_from_cjson(const char *text, size_t length)
{
    struct json json;
    const char *found = NULL;
    if (longest_word(text, length) > NUMBER_BYTES)
        return NULL;
    json_init(&json);
    cJSON *theirs = parse(text, length);
    enum json_status status = json_parse(&json, text, length);
    if (status != (theirs ? JSON_OK : JSON_INVALID))
        found = theirs ? "refused" : "taken";
    else if (theirs)
        found = difference(&json.root, theirs);
    if (!found)
        found = in_kept_values(text, length, theirs);
    cJSON_Delete(theirs);
    json_release(&json);
    return found;
}
