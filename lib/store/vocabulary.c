#include "store/vocabulary.h"

#include "model/event.h"
#include "model/vocab.h"
#include "schemas.h"
#include "store/internal.h"

static const char *function_word(int number)
{
    return function_name((enum function)number);
}

static const char *datatype_word(int number)
{
    return datatype_name((enum datatype)number);
}

static const char *algorithm_word(int number)
{
    return algorithm_name((enum algorithm)number);
}

static const char *protocol_word(int number)
{
    return protocol_name((enum protocol)number);
}

static const char *end_source_word(int number)
{
    static const char *const words[] = {
        [END_UNKNOWN] = "unknown", [END_KERNEL] = "kernel", [END_PROXY] = "proxy", [END_HOST] = "host"};
    return words[number];
}

static const struct {
    const char *kind;
    int count;
    const char *(*word)(int number);
} vocabularies[] = {
    {"function", FUNCTION_COUNT, function_word},    {"datatype", DATATYPE_COUNT, datatype_word},
    {"algorithm", ALGORITHM_COUNT, algorithm_word}, {"protocol", PROTOCOL_COUNT, protocol_word},
    {"end_source", END_HOST + 1, end_source_word},
};

static int write_words(struct statement *insert, size_t at, struct error *error)
{
    for (int number = 0; number < vocabularies[at].count; number++) {
        const char *word = vocabularies[at].word(number);
        if (!word)
            continue;
        if (statement_bind_text(insert, 1, vocabularies[at].kind, error) ||
            statement_bind_integer(insert, 2, number, error) || statement_bind_text(insert, 3, word, error) ||
            statement_step(insert, error) < 0)
            return -1;
    }
    return 0;
}

int vocabulary_write(struct store *store, struct error *error)
{
    struct statement *insert = store_prepare(store, schema_meta_meta_add_word, error);
    if (!insert)
        return -1;
    int outcome = 0;
    for (size_t at = 0; at < sizeof vocabularies / sizeof *vocabularies && !outcome; at++)
        outcome = write_words(insert, at, error);
    statement_free(insert);
    return outcome;
}
