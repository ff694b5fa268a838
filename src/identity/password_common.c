/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "identity/password.h"

/*
 * What people choose when twelve characters are asked for: words that are
 * tried first, put together, or with years and signs behind them.  A password
 * is common when it holds one of these, and no letter is left after they are
 * taken out of it.
 */

static const char *const words[] = {
    "password",  "passwort", "losenord", "passphrase", "letmein",  "welcome",
    "willkommen", "valkommen", "administrator", "admin", "administrateur",
    "root",      "superuser", "operator", "service",   "account",  "master",
    "login",     "logon",    "access",   "secret",     "geheim",   "hemlig",
    "changeme",  "change",   "default",  "standard",   "temporary", "temp",
    "test",      "testing",  "tester",   "demo",       "example",  "sample",
    "guest",     "user",     "username", "system",     "server",   "computer",
    "internet",  "network",  "cluster",  "bulkhead",   "accelerator",
    "graphics",  "tensor",   "nvidia",   "kubernetes", "docker",   "linux",
    "windows",   "ubuntu",   "debian",   "qwertyuiop", "qwertzuiop",
    "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm",   "qwerty",   "qwertz",
    "azerty",    "asdfgh",   "zxcvbn",   "qazwsxedc",  "qazwsx",   "abcdef",
    "abcdefgh",  "abcdefghij", "abc",    "xyz",        "iloveyou", "love",
    "sunshine",  "princess", "dragon",   "monkey",     "football", "fussball",
    "fotboll",   "baseball", "superman", "batman",     "pokemon",  "shadow",
    "summer",    "sommer",   "sommar",   "winter",     "vinter",   "spring",
    "autumn",    "herbst",   "january",  "february",   "march",    "april",
    "may",       "june",     "july",     "august",     "september", "october",
    "november",  "december", "monday",   "tuesday",    "wednesday",
    "thursday",  "friday",   "saturday", "sunday",     "trustno",
    "whatever",  "please",   "hello",    "hallo",      "hej",      "this",
    "is",        "my",       "mein",     "the",        "new",      "nopassword",
    "1234567890", "0123456789", "0987654321", "9876543210", "123456",
    "12345678",  "654321",   "121212",   "112233",     "123123",   "147258",
    "company",   "corp",     "firma",    "office",     "home",     "work",
};

/* What stands for letters, as people write them. */
static char
plain(char byte)
{
    switch (byte) {
    case '0':
        return 'o';
    case '1':
    case '!':
        return 'i';
    case '3':
        return 'e';
    case '4':
    case '@':
        return 'a';
    case '5':
    case '$':
        return 's';
    case '7':
        return 't';
    default:
        return (char)tolower((unsigned char)byte);
    }
}

/* The longest word at the beginning, 0: none. */
static size_t
word_at(const char *text)
{
    size_t best = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t size = strlen(words[i]), k = 0;

        while (k < size &&
               (text[k] == words[i][k] || plain(text[k]) == words[i][k]))
            k++;
        if (k == size && size > best)
            best = size;
    }
    return best;
}

bool
password_is_common(const char *password)
{
    bool found = false;

    while (*password != '\0') {
        size_t size = word_at(password);

        if (size == 0 && isalpha((unsigned char)*password))
            return false;
        if (size == 0 && (unsigned char)*password >= 0x80)
            return false;
        found = found || size > 0;
        password += size > 0 ? size : 1;
    }
    return found;
}
