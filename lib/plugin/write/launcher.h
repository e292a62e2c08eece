/* What launchers tell a process of its place in the job. */
#ifndef PLUGIN_WRITE_LAUNCHER_H
#define PLUGIN_WRITE_LAUNCHER_H

/* As the environment has it: null where no launcher says so. Of a local rank only the one who tells the rank
 * is asked. */
struct launcher_rank {
    const char *global;
    const char *local; /* on its host */
};

struct launcher_rank launcher_rank(void);

#endif
