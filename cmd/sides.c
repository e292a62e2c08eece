#include "cmd/sides.h"

#include "cmd/cmd.h"
#include "cmd/open_store.h"
#include "cmd/opt.h"
#include "cmd/temporary_store.h"
#include "store/stamp.h"
#include "store/store.h"

#include <string.h>
#include <unistd.h>

/* The store of a path goes from the context to the side. */
static int open_side(struct context *context, struct analysis_side *side, const char *path)
{
    const char *kept = context->store_path;
    context->store_path = path;
    int failed = open_store(context, NEEDS_STORE_READ | NEEDS_JOINED);
    context->store_path = kept;
    side->store = context->store;
    context->store = NULL;
    return failed ? EXIT_NOT_DONE : EXIT_DONE;
}

static int make_side(struct context *context, struct analysis_side *side, char *const *path)
{
    const char *kept = context->store_path;
    int lacked = context->lacks_traces;
    int status = temporary_store_open(context, path, 1);
    context->store_path = kept;
    context->lacks_traces |= lacked;
    side->store = context->store;
    context->store = NULL;
    return status;
}

/* Where the name of a run begins that follows the name of a store; NULL. */
static char *run_behind_store(char *operand)
{
    char *colon = strrchr(operand, ':');
    if (!colon || !colon[1])
        return NULL;
    *colon = '\0';
    int is_store = store_is_stamped(operand);
    *colon = ':';
    return is_store ? colon + 1 : NULL;
}

static int open_run(struct context *context, struct analysis_side *side, char *operand)
{
    char *run = run_behind_store(operand);
    if (run) {
        run[-1] = '\0';
        side->run = run;
        return open_side(context, side, operand);
    }
    if (access(context->store_path, F_OK)) {
        error_set(&context->error, "'%s' is not a file, and cannot be a run because store %s does not exist",
                  operand, context->store_path);
        return EXIT_NOT_DONE;
    }
    side->run = operand;
    return open_side(context, side, context->store_path);
}

int sides_open(struct context *context, const struct arguments *arguments)
{
    int status = EXIT_DONE;
    for (size_t i = 0; status == EXIT_DONE && i < 2; i++) {
        struct analysis_side *side = &context->sides[i];
        char *operand = arguments->operands[i];
        status = access(operand, F_OK)       ? open_run(context, side, operand)
                 : store_is_stamped(operand) ? open_side(context, side, operand)
                                             : make_side(context, side, &arguments->operands[i]);
    }
    context->store = context->sides[1].store;
    return status;
}

void sides_close(struct context *context)
{
    for (size_t i = 0; i < 2; i++) {
        if (context->store == context->sides[i].store)
            context->store = NULL;
        store_close(context->sides[i].store);
        context->sides[i].store = NULL;
    }
}
