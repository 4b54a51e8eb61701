"""The shapes of secrets that go by the name before them: the table of them.

Pure; judges nothing: what follows a name is judged in `judgement`.
"""

from __future__ import annotations

from commonplace.core.shapes.judgement import (
    is_beside,
    is_code,
    is_cookie,
    is_credential,
    is_in_a_secret,
    is_in_column,
    is_key,
    is_literal,
    is_name_and_password,
    is_no_program,
    is_option,
    is_password,
    is_random_value,
    is_said,
    is_token,
)
from commonplace.core.shapes.shape import Shape

_KEYWORDS = (
    "gitleaks, generic-api-key; detect-secrets, keyword detector; the sentences that people write"
)

# A quote is escaped once for each level of JSON inside JSON.
_VALUE = (
    r"(?:\\{1,3}\"(?P<e>[^\"\\\r\n]{3,2000})\\{1,3}\"|\"(?P<d>[^\"\r\n]{3,2000})\""
    r"|'(?P<q>[^'\r\n]{3,2000})'|`(?P<b>[^`\r\n]{3,2000})`|(?P<s>[^\s\"'`,;<>\[\]]{3,4000}))"
)

# What ends a name: an attribute that changes nothing, or more words, of which the judgement knows.
_MORE = (
    r"(?:[_-]?(?:base|value|val|string|data|prod|dev|staging|test|live|old|new|current|v?\d{1,3})"
    r"(?![A-Za-z0-9])|(?P<more>[_-][a-z][\w-]{0,30}+(?![\w-])))?"
)
# Between a name and its value: a type and `=`, the signs of many languages, a comma or `value`
# where both are quoted, a verb with what the secret is for, or a blank.
_TYPED = r"(?::[ \t]?|[ \t])&?[A-Za-z][\w.\[\]|&]{0,24}[ \t]?=[ \t]?(?=[\"'`])"
_CLOSE = r"(?:\\{0,3}[\"'`])?\]?\*{0,2}[ \t]{0,4}"
_SET = (
    r"(?:=>|→|:{1,3}=|\?{1,2}=|[.+]=|[=!]==?|[:=])\*{0,2}[ \t]{0,4}"
    r"(?:[|>][+-]?[ \t]{0,2}\r?\n[ \t]{1,16})?@?"
)
_LISTED = (
    r"(?:,[ \t]{0,2}(?=[\"'])"
    r"|(?:,|[ \t]?/>)?\s{0,24}<?[\"']?value[\"']?[ \t]{0,2}[:=][ \t]{0,2})"
)
_FOR = (
    r"(?:[ \t](?:for|of|to|on|at|in|für|von|vom|zum|zur|du|de|des|pour|del|para)"
    r"(?:[ \t][^\s:=.;,|\"'`]{1,25}){1,6}?)?"
)
_CHANGED = r"(?:is|was|has been|wurde)[ \t](?:changed|set|reset|rotated|updated)[ \t](?:from|to)"
# A word with a digit, one in quotes, or four words with hyphens between them.
_MADE = r"(?=[\"'`]|[^\s\"'`]{0,60}\d|[a-z]{3,12}(?:-[a-z]{3,12}){3})"
_SAID = (
    rf"(?=[^\d\r\n.`\"'-]{{0,99}}[\d`\"'-]){_FOR}"
    rf"(?:[ \t](?:{_CHANGED}|is|was|are|ist|war|lautet|est|es|to)[ \t]{{1,4}}|:[ \t]{{1,4}}){_MADE}"
)
_BESIDE = rf"[ \t]{{1,4}}{_MADE}"
_THEN = (
    r"(?i)(?-i:(?![a-z]))"
    rf"(?:{_MORE}(?P<sep>{_TYPED}|{_CLOSE}(?:{_SET}|{_LISTED})|{_SAID}|{_BESIDE}){_VALUE}"
    r"|>\s{0,24}(?P<t>[^<>\s]{3,400})\s{0,24}</)"
)
# `DB_PASS`, `dbPass` and `dbpass`, but no `compass`.
_APART = "|".join(
    (
        r"(?:(?<![A-Za-z])|(?-i:(?<=[a-z])(?=P))",
        *(f"(?<={x})" for x in "db user root smtp mail ldap ftp sql key store my require".split()),
    )
)

NAMED: tuple[Shape, ...] = (
    Shape(
        "authorization header",
        "RFC 9110, 11.6.2",
        ("authorization",),
        r"authorization[\"'`]?[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?"
        r"(?:(?:bearer|basic|token)[ \t]+)?+(?P<s>[^\s\"'`,;<>\[\]]{6,2000})",
        named=True,
        judge=is_credential,
    ),
    Shape(
        "authorization header",
        "RFC 6750, RFC 7617",
        ("bearer", "basic "),
        r"(?<!\w)(?:bearer|basic)[,:]?[ \t]{1,9}"
        r"(?P<s>(?=[\w.~+/-]{0,2000}[\d=])[\w.~+/=-]{16,2000})",
        named=True,
        judge=is_credential,
    ),
    Shape(
        "session cookie",
        "RFC 6265, 4",
        ("cookie",),
        r"cookie[\"'`]?[ \t]{0,3}[:=][ \t]{0,3}[\"'`]?[^\r\n]{8,4000}",
        named=True,
        inner=r"(?<![\w.%-])(?P<n>[\w.%-]{1,60})=(?P<s>[^\s;,\"'`]{12,3000})",
        judge=is_cookie,
    ),
    Shape(
        "session cookie",
        "names that frameworks give",
        ("sess", "sid="),
        r"(?:sess(?:ion)?[-_.]?(?:id|token|key)?|(?<![a-z])(?:connect\.)?sid)=[\"']?"
        r"(?P<s>[^\s;,&\"'`<>]{16,3000})",
        named=True,
        beside="=",
        judge=is_random_value,
    ),
    Shape(
        "password",
        _KEYWORDS,
        ("pass", "pw", "kennwort", "contrase"),
        r"(?:passwor[dt]|passwd|passphrase|passcode|(?<=mot de )passe|pwd|kennwort|contrase[ñn]a)s?"
        rf"|{_APART})(?:pass|pw)",
        named=True,
        then=_THEN,
        judge=is_password,
    ),
    Shape(
        "password",
        "wpa_supplicant.conf",
        ("psk",),
        rf"{_APART})psk",
        named=True,
        then=_THEN,
        beside="=",
        judge=is_password,
    ),
    Shape(
        "password",
        "the sentences that people write: from the old one to the new one",
        ("passwor",),
        r"passwor[dt][^\r\n.:=]{0,40}?[ \t]from[ \t]\S{4,60}[ \t]to[ \t](?P<s>[^\s\"'`,;<>]{6,60})",
        named=True,
        judge=is_said,
    ),
    Shape(
        "password",
        "a column of a table in Markdown",
        ("passwor", "kennwort"),
        r"(?:passwor[dt]|kennwort)[^\r\n|]{0,20}\|[^\r\n]{0,400}\r?\n"
        r"[ \t]*\|[-:| \t]{3,400}\r?\n(?:[ \t]*\|[^\r\n]{1,400}(?:\r?\n|$)){1,60}",
        named=True,
        inner=r"(?<=\|)[ \t]{0,9}`?(?P<s>[^\s|`][^|`\r\n]{2,98}[^\s|`])`?[ \t]{0,40}(?=\|)",
        judge=is_in_column,
    ),
    Shape(
        "password",
        "man pages: mysql, 7z, zip, sshpass, redis-cli, openssl, curl, smbclient",
        (" -",),
        rf"[ \t]-(?:(?P<n>[pakw])(?P<sep>[ \t]{{0,3}}){_VALUE}"
        r"|(?:u|-user|-proxy-user)[ =]{0,2}[\"']?[^\s:%\"'$<]{0,100}[:%][\"']?"
        r"(?P<t>[^\s\"'$<>]{3,200}))",
        named=True,
        judge=is_option,
    ),
    Shape(
        "password",
        "man pages: htpasswd",
        ("pass",),
        r"(?<=ht)passwd[ \t][^\r\n]{0,60}?-[a-z]{0,4}b[a-z]{0,4}[ \t]+\S{1,100}[ \t]+\S{1,60}[ \t]+"
        + _VALUE,
        named=True,
        judge=is_said,
    ),
    Shape(
        "password",
        "what is piped into sudo, and into restic",
        ("echo ",),
        r"(?:(?<=-command ')|(?<=-command \")|(?<=-command=')"
        r"|(?=[^\r\n|]{3,100}\|[ \t]?(?:sudo|su)\b))echo[ \t]+(?:-n[ \t]+)?" + _VALUE,
        named=True,
        beside=" -",
        judge=is_said,
    ),
    Shape(
        "password",
        "learn.microsoft.com, net use",
        ("net use",),
        r"net use[ \t][^\r\n]{0,20}?\\\\\S{1,100}[ \t]+(?P<s>[^\s/*][^\s]{3,100})",
        named=True,
        judge=is_said,
    ),
    Shape(
        "password",
        "gnu.org, inetutils: the .netrc file",
        ("machine ",),
        r"machine[ \t]{1,9}\S{1,200}\s{1,9}login\s{1,9}\S{1,200}\s{1,9}password\s{1,9}"
        r"(?P<s>\S{3,200})",
        named=True,
        beside="login",
        judge=is_no_program,
    ),
    Shape(
        "password",
        "SQL: identified by",
        ("identified by",),
        r"identified by[ \t]{1,4}(?:password[ \t]{1,4})?'(?P<q>[^'\r\n]{3,200})'",
        named=True,
        judge=is_said,
    ),
    Shape(
        "password",
        "the sentences that people write: a user and the password beside",
        ("cred", "login", "zugang"),
        r"(?<![\w-])(?:credentials?|creds|logins?|zugang(?:sdaten)?)[ \t]?:?[ \t]{1,2}"
        r"[\w.@+-]{1,60}(?:[ \t]?/[ \t]?|,[ \t]|[ \t]with[ \t])(?=[^\s]{0,60}\d)"
        r"(?P<s>[^\s\"'`,;<>\[\]]{8,100})",
        named=True,
        judge=is_beside,
    ),
    Shape(
        "password",
        "requests.readthedocs.io, authentication; redis.io, configuration",
        ("auth",),
        r"(?:auth[ \t]?=[ \t]?[\w.]{0,40}\([ \t]?[\"'][^\"'\r\n]{1,60}[\"'],[ \t]?"
        r"[\"'](?P<d>[^\"'\r\n]{3,200})[\"']"
        r"|(?<=master)auth[ \t]{1,4}[\"']?(?P<t>[^\s\"']{6,200}))",
        named=True,
        judge=is_literal,
    ),
    Shape(
        "token",
        "docs.docker.com, config.json; docs.npmjs.com, .npmrc",
        ('auth"', "_auth"),
        r"_?auth\"?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?P<s>[A-Za-z0-9+/]{10,400}={0,2})(?![\w=+/])",
        named=True,
        judge=is_name_and_password,
    ),
    Shape(
        "token",
        _KEYWORDS,
        ("secret", "token", "cred"),
        r"(?:secret|token|credential|cred)s?",
        named=True,
        then=_THEN,
        judge=is_token,
    ),
    Shape(
        "token",
        _KEYWORDS,
        ("key",),
        r"keys?",
        named=True,
        then=_THEN,
        judge=is_key,
    ),
    Shape(
        "token",
        "learn.microsoft.com: personal access tokens in an environment; wordpress.org: salts",
        ("_pat", "_salt"),
        r"(?<=[A-Za-z])_(?:pat|salt)",
        named=True,
        then=_THEN,
        judge=is_token,
    ),
    Shape(
        "token",
        "kubernetes.io, secrets",
        ("data:",),
        r"data:[ \t]*\r?\n(?:[ \t]+[^\r\n]{0,4000}\r?\n?){1,40}",
        named=True,
        beside="secret",
        inner=r"(?:^|(?<=[\r\n]))[ \t]+[\w.-]{1,80}:[ \t]*(?:[|>][+-]?[ \t]*\r?\n[ \t]+)?[\"']?"
        r"(?P<s>[A-Za-z0-9+/]{8,4000}={0,2})(?=[\"']?[ \t]*(?:[\r\n]|$))",
        judge=is_in_a_secret,
    ),
    Shape(
        "token",
        "parameters of addresses: learn.microsoft.com, azure functions; openweathermap.org",
        ("appid=", "code="),
        r"(?<=[?&])(?:appid|code)=(?P<s>[\w.~%+/-]{20,400}={0,2})",
        named=True,
        judge=is_no_program,
    ),
    Shape(
        "token",
        "discord.js.org, login; developer.hashicorp.com/vault, login",
        ("login",),
        r"(?:login\([ \t]?[\"'](?P<d>[^\"'\r\n]{16,200})[\"']"
        r"|(?<=vault )login[ \t](?P<s>[\w.-]{20,200}))",
        named=True,
        judge=is_random_value,
    ),
    Shape(
        "token",
        "npmjs.com/package/jsonwebtoken; pyjwt.readthedocs.io",
        ("jwt.",),
        r"jwt\.(?:sign|verify|encode|decode)\([^\r\n\"']{1,80},[ \t]?"
        r"[\"'](?P<d>[^\"'\r\n]{8,200})[\"']",
        named=True,
        judge=is_said,
    ),
    Shape(
        "seed phrase",
        "BIP 39",
        ("phrase",),
        r"phrase[\"'`]?[ \t]?(?:is|[:=])[ \t\"'`]{0,4}"
        r"(?P<s>(?:[a-z]{3,8}[ \t]){11,23}[a-z]{3,8})(?![a-z])",
        named=True,
    ),
    Shape(
        "recovery codes",
        "pages of accounts: codes of the second factor",
        ("recovery code", "backup code"),
        r"(?:recovery|backup) codes?[^\r\n:=]{0,20}[:=][^\r\n]{8,600}",
        named=True,
        inner=r"(?<![\w-])(?P<s>[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{4,10}){0,4})(?![\w-])",
        judge=is_code,
    ),
)
