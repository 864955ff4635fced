/* Runs a server to its end and says what it cost in all, which no caller can
 * read once it is gone.
 *
 *     launch FILE COMMAND...
 *
 * Its first line on stdout is the server's process id.  When that process has
 * ended, the file gets: exit status, CPU seconds, peak memory, bytes written to
 * the disk. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "bench/client.h"

static double
seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int
main(int argc, char **argv)
{
    struct rusage u;
    int status = 0;
    pid_t pid;
    FILE *f;

    if (argc < 3) {
        fprintf(stderr, "usage: launch FILE COMMAND...\n");
        return 2;
    }
    pid = fork();
    if (pid < 0)
        client_die("fork");
    if (pid == 0) {
        /* No process is left behind when the driver is killed. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setpgid(0, 0);
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)execvp(argv[2], argv + 2);
        client_die(argv[2]);
    }
    (void)signal(SIGINT, SIG_IGN);
    printf("%d\n", (int)pid);
    (void)fflush(stdout);
    if (wait4(pid, &status, 0, &u) != pid)
        client_die("wait4");
    f = fopen(argv[1], "w");
    if (f == NULL)
        client_die(argv[1]);
    fprintf(f,
            "{\"status\":%d,\"cpu\":%.4f,\"user\":%.4f,\"peak_bytes\":%lld,"
            "\"written_bytes\":%lld}\n",
            status, seconds(u.ru_utime) + seconds(u.ru_stime),
            seconds(u.ru_utime), (long long)u.ru_maxrss * 1024,
            (long long)u.ru_oublock * 512);
    return fclose(f) == 0 ? 0 : 1;
}
