/*
 * NVTX loads the library that NVTX_INJECTION64_PATH names and asks it for callbacks. With these, the ranges
 * and marks that an application already has become tags.
 */
#include "plugin/recorder/nvtx_abi.h"
#include "plugin/recorder/recorder.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES RECORD_TEXT_MAX

struct domain {
    struct domain *next;
    bool kept;
};

/* A registered string. NVTX has no call that releases one. */
struct registered {
    struct registered *next;
    size_t length;
    char text[];
};

/* Applications keep these handles for their lifetime. */
static struct domain *_Atomic domains;
static struct registered *_Atomic texts;

/* What NVTX expects from a tool that does not track nesting. */
#define NOT_TRACKED (-2)

static size_t wide_to_utf8(char *to, size_t size, const wchar_t *from)
{
    size_t length = 0;
    for (; *from && length + 4 <= size; from++) {
        uint32_t code = (uint32_t)*from;
        if (code < 0x80) {
            to[length++] = (char)code;
        } else if (code < 0x800) {
            to[length++] = (char)(0xc0 | code >> 6);
            to[length++] = (char)(0x80 | (code & 63));
        } else if (code < 0x10000) {
            to[length++] = (char)(0xe0 | code >> 12);
            to[length++] = (char)(0x80 | (code >> 6 & 63));
            to[length++] = (char)(0x80 | (code & 63));
        } else if (code < 0x110000) {
            to[length++] = (char)(0xf0 | code >> 18);
            to[length++] = (char)(0x80 | (code >> 12 & 63));
            to[length++] = (char)(0x80 | (code >> 6 & 63));
            to[length++] = (char)(0x80 | (code & 63));
        }
    }
    return length;
}

/* NCCL marks its own calls as ranges, which would hide the tags of the application. */
static bool keep_domain(const char *name)
{
    const char *wanted = config_tags()->domains;
    if (strcmp(wanted, "*") == 0)
        return strcmp(name, "NCCL") != 0;
    size_t length = strlen(name);
    for (const char *at = wanted; *at;) {
        size_t part = strcspn(at, ",");
        if (part == length && memcmp(at, name, part) == 0)
            return true;
        at += part + (at[part] == ',');
    }
    return false;
}

static bool keep_default(void)
{
    const char *wanted = config_tags()->domains;
    return wanted[0] == '\0' || strcmp(wanted, "*") == 0 || keep_domain("default");
}

static bool kept(const void *domain)
{
    return domain ? ((const struct domain *)domain)->kept : keep_default();
}

struct message {
    const char *text;
    size_t length;
    char converted[TEXT_BYTES];
};

static void read_ascii(struct message *message, const char *text)
{
    message->text = text ? text : "";
    message->length = strnlen(message->text, TEXT_BYTES + 1);
}

static void read_wide(struct message *message, const wchar_t *text)
{
    message->text = message->converted;
    message->length = text ? wide_to_utf8(message->converted, sizeof(message->converted), text) : 0;
}

static void read_attributes(struct message *message, const struct nvtx_attributes *attributes)
{
    read_ascii(message, "");
    if (!attributes || attributes->size < sizeof(*attributes))
        return;
    if (attributes->message_type == NVTX_MESSAGE_ASCII) {
        read_ascii(message, attributes->message.ascii);
    } else if (attributes->message_type == NVTX_MESSAGE_UNICODE) {
        read_wide(message, attributes->message.unicode);
    } else if (attributes->message_type == NVTX_MESSAGE_REGISTERED && attributes->message.registered) {
        const struct registered *registered = attributes->message.registered;
        message->text = registered->text;
        message->length = registered->length;
    }
}

static int push(const void *domain, const struct message *message)
{
    tag_push(domain, message->text, message->length);
    return NOT_TRACKED;
}

static void on_mark_ex(const struct nvtx_attributes *attributes)
{
    struct message message;
    if (!keep_default())
        return;
    read_attributes(&message, attributes);
    tag_mark(message.text, message.length);
}

static void on_mark_a(const char *text)
{
    struct message message;
    if (!keep_default())
        return;
    read_ascii(&message, text);
    tag_mark(message.text, message.length);
}

static void on_mark_w(const wchar_t *text)
{
    struct message message;
    if (!keep_default())
        return;
    read_wide(&message, text);
    tag_mark(message.text, message.length);
}

static int on_push_ex(const struct nvtx_attributes *attributes)
{
    struct message message;
    if (!keep_default())
        return NOT_TRACKED;
    read_attributes(&message, attributes);
    return push(NULL, &message);
}

static int on_push_a(const char *text)
{
    struct message message;
    if (!keep_default())
        return NOT_TRACKED;
    read_ascii(&message, text);
    return push(NULL, &message);
}

static int on_push_w(const wchar_t *text)
{
    struct message message;
    if (!keep_default())
        return NOT_TRACKED;
    read_wide(&message, text);
    return push(NULL, &message);
}

static int on_pop(void)
{
    if (keep_default())
        tag_pop(NULL);
    return NOT_TRACKED;
}

static void on_domain_mark_ex(const void *domain, const struct nvtx_attributes *attributes)
{
    struct message message;
    if (!kept(domain))
        return;
    read_attributes(&message, attributes);
    tag_mark(message.text, message.length);
}

static int on_domain_push_ex(const void *domain, const struct nvtx_attributes *attributes)
{
    struct message message;
    if (!kept(domain))
        return NOT_TRACKED;
    read_attributes(&message, attributes);
    return push(domain, &message);
}

static int on_domain_pop(const void *domain)
{
    if (kept(domain))
        tag_pop(domain);
    return NOT_TRACKED;
}

/* Strings that are never used take no memory, however many there are. */
static const struct registered unkept_text;

static const void *register_text(const struct message *message)
{
    struct registered *registered = malloc(sizeof(*registered) + message->length);
    if (!registered)
        return NULL;
    registered->length = message->length;
    memcpy(registered->text, message->text, message->length);
    registered->next = atomic_load(&texts);
    while (!atomic_compare_exchange_weak(&texts, &registered->next, registered))
        continue;
    return registered;
}

static const void *on_register_a(const void *domain, const char *text)
{
    struct message message;
    if (!kept(domain))
        return &unkept_text;
    read_ascii(&message, text);
    return register_text(&message);
}

static const void *on_register_w(const void *domain, const wchar_t *text)
{
    struct message message;
    if (!kept(domain))
        return &unkept_text;
    read_wide(&message, text);
    return register_text(&message);
}

/*
 * If memory is short, a shared domain is returned. With none, the ranges of a library would count as the
 * application's.
 */
static const void *domain_named(const char *name)
{
    static const struct domain unkept = {NULL, false};
    struct domain *domain = malloc(sizeof(*domain));
    if (!domain)
        return &unkept;
    domain->kept = keep_domain(name);
    domain->next = atomic_load(&domains);
    while (!atomic_compare_exchange_weak(&domains, &domain->next, domain))
        continue;
    return domain;
}

static const void *on_domain_a(const char *name)
{
    return domain_named(name ? name : "");
}

static const void *on_domain_w(const wchar_t *name)
{
    char text[512];
    size_t length = name ? wide_to_utf8(text, sizeof(text) - 1, name) : 0;
    text[length] = '\0';
    return domain_named(text);
}

static void set(nvtx_function ***table, unsigned size, unsigned place, nvtx_function *function)
{
    if (place < size && table[place])
        *table[place] = function;
}

#define CALLBACK(function) ((nvtx_function *)(function))

PLUGIN_EXPORT int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

PLUGIN_EXPORT int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    const struct nvtx_callbacks *callbacks = export_table ? export_table(NVTX_TABLE_CALLBACKS) : NULL;
    nvtx_function ***table = NULL;
    unsigned size = 0;
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || !callbacks->module_table)
        return 0;
    /*
     * Read the settings now: a signal handler may push a range, and a once-only call there could wait for
     * itself.
     */
    (void)config_tags();
    if (callbacks->module_table(NVTX_MODULE_CORE, &table, &size) && table) {
        set(table, size, NVTX_CORE_MARK_EX, CALLBACK(on_mark_ex));
        set(table, size, NVTX_CORE_MARK_A, CALLBACK(on_mark_a));
        set(table, size, NVTX_CORE_MARK_W, CALLBACK(on_mark_w));
        set(table, size, NVTX_CORE_RANGE_PUSH_EX, CALLBACK(on_push_ex));
        set(table, size, NVTX_CORE_RANGE_PUSH_A, CALLBACK(on_push_a));
        set(table, size, NVTX_CORE_RANGE_PUSH_W, CALLBACK(on_push_w));
        set(table, size, NVTX_CORE_RANGE_POP, CALLBACK(on_pop));
    }
    table = NULL;
    if (callbacks->module_table(NVTX_MODULE_CORE2, &table, &size) && table) {
        set(table, size, NVTX_CORE2_DOMAIN_MARK_EX, CALLBACK(on_domain_mark_ex));
        set(table, size, NVTX_CORE2_DOMAIN_RANGE_PUSH_EX, CALLBACK(on_domain_push_ex));
        set(table, size, NVTX_CORE2_DOMAIN_RANGE_POP, CALLBACK(on_domain_pop));
        set(table, size, NVTX_CORE2_DOMAIN_REGISTER_STRING_A, CALLBACK(on_register_a));
        set(table, size, NVTX_CORE2_DOMAIN_REGISTER_STRING_W, CALLBACK(on_register_w));
        set(table, size, NVTX_CORE2_DOMAIN_CREATE_A, CALLBACK(on_domain_a));
        set(table, size, NVTX_CORE2_DOMAIN_CREATE_W, CALLBACK(on_domain_w));
    }
    return 1;
}
