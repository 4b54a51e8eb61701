"""The shapes of secrets that go by the name before them: the table of them.

Pure; judges nothing: what follows a name is judged in `judgement`.
"""

from __future__ import annotations

from commonplace.core.shapes.shape import Shape

# A quote is escaped once for each level of JSON inside JSON.
_NAME_END = r"(?:\\{0,3}[\"'`])?\]?[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}"
_VALUE = (
    r"(?:\\{1,3}\"(?P<e>[^\"\\\r\n]{3,200})\\{1,3}\"|\"(?P<d>[^\"\r\n]{3,200})\"|'(?P<q>[^'\r\n]{3,200})'"
    r"|(?P<s>[^\s\"'`,;<>\[\]]{3,400}))"
)
_KEYS = "|".join(
    f"(?<={name})|(?<={name}[_ -])"
    for name in "api access private account auth client signing master secret encryption".split()
)
_OPTIONS = "|".join(
    f"(?<=--{name})" for name in ("", *(f"{x}-" for x in "api auth access client secret".split()))
)

NAMED: tuple[Shape, ...] = (
    Shape(
        "authorization header",
        "RFC 9110, 11.6.2",
        ("authorization",),
        r"authorization[\"'`]?[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?"
        r"(?:(?:bearer|basic|token)[ \t]+)?+(?P<s>[^\s\"'`,;<>\[\]]{6,2000})",
        named=True,
    ),
    Shape(
        "authorization header",
        "RFC 6750, RFC 7617",
        ("bearer ", "basic "),
        r"(?<!\w)(?:bearer|basic)[ \t]{1,9}(?P<s>(?=[\w.~+/-]{0,2000}[\d=])[\w.~+/=-]{16,2000})",
        named=True,
    ),
    Shape(
        "password",
        "gitleaks, generic-api-key; detect-secrets, keyword detector",
        ("passwor", "passwd", "passphrase", "pwd", "kennwort", "contraseña", "mot de passe"),
        r"(?:passwor[dt]|passwd|passphrase|pwd|kennwort|contraseña|mot de passe)"
        + _NAME_END
        + _VALUE,
        named=True,
    ),
    Shape(
        "password",
        "the sentence that people write",
        ("passwor", "passphrase", "pwd ", "pin "),
        r"(?<![A-Za-z])(?:passwor[dt]|passphrase|pwd|pin) (?:is|was|ist|war)[ \t]{1,9}[\"'`]?"
        r"(?P<s>(?=[^\s\"'`]{0,60}\d)[^\s\"'`,;<>\[\]]{3,200}(?<![.]))",
        named=True,
    ),
    Shape(
        "password",
        "options of commands, such as docker login",
        ("--pass", "--pwd"),
        r"--(?:pass(?:word|wd|phrase|code)?|pwd)[ \t]{1,4}" + _VALUE,
        named=True,
    ),
    Shape(
        "password",
        "curl.se, man page: --user",
        ("curl ",),
        r"curl [^\r\n]{0,120}?(?<=\s)(?:-u|--user)[ =]{0,2}[\"']?[^\s:\"'$]{1,100}:"
        r"(?P<s>[^\s\"'$]{3,200})",
        named=True,
    ),
    Shape(
        "password",
        "maven.apache.org, settings.xml",
        ("passwor", "passwd", "passphrase"),
        r"(?:passwor[dt]|passwd|passphrase)>(?P<d>[^<>\s]{3,200})</",
        named=True,
    ),
    Shape(
        "password",
        "gnu.org, inetutils: the .netrc file",
        ("machine ",),
        r"machine[ \t]{1,9}\S{1,200}\s{1,9}login\s{1,9}\S{1,200}\s{1,9}password\s{1,9}"
        r"(?P<s>\S{3,200})",
        named=True,
    ),
    Shape(
        "token",
        "docs.docker.com, config.json; docs.npmjs.com, .npmrc",
        ('auth"', "_auth"),
        r"_?auth\"?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?P<s>[A-Za-z0-9+/]{10,400}={1,2}"
        r"|(?=[A-Za-z+/]{0,400}\d)[A-Za-z0-9+/]{24,400})(?![\w=+/])",
        named=True,
    ),
    Shape(
        "token",
        "options of commands",
        ("token ", "secret ", "key "),
        rf"(?:{_OPTIONS})(?:token|secret|key)[ \t]{{1,4}}{_VALUE}",
        named=True,
    ),
    Shape(
        "token",
        "maven.apache.org, settings.xml",
        ("secret", "token"),
        r"(?:secret|token)>(?P<d>[^<>\s]{8,400})</",
        named=True,
    ),
    Shape(
        "token",
        "gitleaks, generic-api-key; detect-secrets, keyword detector",
        ("secret", "token", "credential", "key"),
        rf"(?:secret|token|credential|(?:{_KEYS})key)s?{_NAME_END}{_VALUE}",
        named=True,
    ),
)
