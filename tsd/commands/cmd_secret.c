/* 'halite secret': a line for halite.auth.file, of a password that is read or
 * of a token that is made. */
#include "tsd/commands/commands.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "tsd/auth/auth.h"

#define TOKEN_BYTES 32

static const struct command_help secret_help = {
    .usage =
        "secret user NAME ROLES     (password on stdin)\n"
        "       halite secret token NAME ROLES    (the token on stderr)\n"
        "ROLES are read, write and admin, separated by commas.  The line for\n"
        "halite.auth.file is written to stdout.\n",
    .words = 3,
};

/* False: a signal came first.  Blocked, since the terminal must get its echo
 * back before the process ends. */
static bool
wait_for_line(const sigset_t *signals)
{
    int fd = signalfd(-1, signals, SFD_CLOEXEC);
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = fd, .events = POLLIN } };
    bool line = poll(fds, 2, -1) > 0 && fds[1].revents == 0;

    if (fd >= 0)
        (void)close(fd);
    return line;
}

/* A line, without an echo where that is a terminal. */
static bool
read_password(char *out, int size)
{
    struct termios old, silent;
    bool is_terminal = tcgetattr(STDIN_FILENO, &old) == 0;
    sigset_t signals, before;
    bool done = true;

    if (is_terminal) {
        (void)sigemptyset(&signals);
        (void)sigaddset(&signals, SIGINT);
        (void)sigaddset(&signals, SIGTERM);
        (void)sigaddset(&signals, SIGHUP);
        (void)pthread_sigmask(SIG_BLOCK, &signals, &before);
        silent = old;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        (void)fputs("password: ", stderr);
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
        done = wait_for_line(&signals);
    }
    done = done && fgets(out, size, stdin) != NULL;
    if (is_terminal) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
        (void)fputs("\n", stderr);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (done)
        out[strcspn(out, "\r\n")] = '\0';
    return done && out[0] != '\0';
}

static int
make_user(const char *name, const char *roles)
{
    char password[AUTH_SECRET_MAX], salt[CRYPT_GENSALT_OUTPUT_SIZE];
    struct crypt_data *data;
    const char *hash;
    int rc = 0;

    if (!read_password(password, (int)sizeof password))
        return command_fail("secret", "no password");
    data = mem_new(sizeof *data);
    hash = crypt_gensalt_rn("$y$", 0, NULL, 0, salt, (int)sizeof salt);
    if (hash == NULL)
        hash = crypt_gensalt_rn("$6$", 0, NULL, 0, salt, (int)sizeof salt);
    if (hash != NULL)
        hash = crypt_r(password, salt, data);
    if (hash != NULL && auth_hash_is_fine(slice_str(hash)))
        (void)printf("user %s %s %s\n", name, roles, hash);
    else
        rc = command_fail("secret", "crypt(3) has no good method");
    gnutls_memset(password, 0, sizeof password);
    free(data);
    return rc;
}

static int
make_token(const char *name, const char *roles)
{
    uint8_t bytes[TOKEN_BYTES];
    char token[2 * TOKEN_BYTES + 1], digest[80];

    if (gnutls_rnd(GNUTLS_RND_KEY, bytes, sizeof bytes) < 0)
        return command_fail("secret", "no random numbers");
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    auth_token_digest(slice_str(token), digest, sizeof digest);
    (void)fprintf(stderr, "the token, which is kept nowhere: %s\n", token);
    (void)printf("token %s %s %s\n", name, roles, digest);
    return 0;
}

int
cmd_secret(int argc, char **argv, bool as_tsdb)
{
    struct tool_args a;
    const char *kind, *name, *roles;
    unsigned rights;
    int rc = command_read(&secret_help, argc, argv, &a);

    if (rc >= 0)
        return rc;
    kind = a.words[0];
    name = a.words[1];
    roles = a.words[2];
    rc = 2;
    if (!auth_name_is_fine(slice_str(name)))
        (void)command_fail("secret", "a name is of letters, digits and -_.@");
    else if (!auth_roles_parse(slice_str(roles), &rights))
        (void)command_fail("secret",
                           "roles: read, write, admin, separated by commas");
    else if (strcmp(kind, "user") == 0)
        rc = make_user(name, roles);
    else if (strcmp(kind, "token") == 0)
        rc = make_token(name, roles);
    else
        (void)command_fail("secret", "it is of a user or of a token");
    tool_args_fini(&a);
    return rc;
}
