"""Judges whether what follows the name of a secret is one: the closer the two, the less it takes.

Pure; knows no issuer: a value is judged by its form, its name, and what stands between the two.
"""

from __future__ import annotations

from commonplace.core.shapes.string_kinds import (
    has_digit,
    is_chosen,
    is_dotted,
    is_long_hex,
    is_mail,
    is_mixed,
    is_phrase,
    is_placeholder,
    is_program,
    is_random,
    is_signed,
    is_term,
    is_words,
    regex,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from commonplace.core.shapes.shape import Value

    _How: TypeAlias = Literal["set", "listed", "element", "said", "to", "beside", "option"]

_LONGEST_NAME, _LONGEST_COMMAND, _NEAR = 60, 300, 2000
_FEWEST_OF_TOKEN, _FEWEST_IN_QUOTES, _FEWEST_OF_PASSWORD = 8, 12, 4
_FEWEST_IN_ADDRESS = 32
_FEWEST_OF_BASE64, _FEWEST_OF_CODE = 16, 6

_QUALIFIER = r"([A-Za-z0-9]+)(?P<between>[_ .-]?)$"
_HUMP = r"[A-Z]?[a-z0-9]+$|[A-Z0-9]+$"
_SECRET_KEYS = tuple(
    "api access private account auth client signing master secret encryption app application "
    "server service storage license licence fernet jwt hmac session cookie db database deploy "
    "admin write webhook enc shared preshared subscription ssh aes cipher crypt vault ingest "
    "consumer maps firebase fcm sign root bot integration sdk wallet gateway function decryption "
    "recovery agent authentication authorization".split()
)
_PLAIN_KEYS = frozenset(
    "public pub primary foreign sort partition cache routing registry idempotency dedup dedupe "
    "row object index group message hot lookup map dict config composite natural translation host "
    "site publishable verification verify verifying hash sum file name content block image commit "
    "branch item entry doc document data event topic queue lock query react form field column tab "
    "recv next page continuation cursor sync pad eos bos sep unk mask cls stop".split()
)
_PLAIN_TOKENS = frozenset("next page continuation cursor sync pad eos bos unk cls stop".split())
_PLAIN_ENDS = frozenset(
    "id ids url uri name names type types file path dir hash digest fingerprint checksum sum sha "
    "arn alias version algorithm algo alg expiry expires ttl limit count size length min max "
    "policy class provider endpoint header format prefix suffix hint label description status "
    "state number serial schema ref reference public pub date time timeout at by field column env "
    "var variable index position offset cursor".split()
)
_CALLED = r"(?:\([ \t]{0,4}\\?[\"']|\b(?:key|name)[\"']?[ \t]?[=:][ \t]?\\?[\"']?)[\w.-]*$"
_OPTION = r"(?i)(?:[ \t]--(?:[a-z]{1,16}-){0,3}|\benable |-server |\brequire)$"
_TAKES_P = r"(?i)\b(?:mysql\w*|mariadb\w*|7za?|rar|zip|unzip|sshpass)\b[^\r\n|;]*$"
_TAKES_P_APART = (
    r"(?i)\b(?:sshpass|(?:docker|podman|az|oc|helm registry|skopeo|nerdctl|cf) login|zip|unzip)\b"
    r"[^\r\n|;]*$"
)
_TAKES_OTHERS = r"(?i)\b(?:redis-cli|openssl|ldap\w+)\b[^\r\n|;]*$"
_TAKES_USER = r"(?i)\b(?:curl|smbclient|rpcclient|https?)\b(?:[^\r\n|;]|\\\r?\n)*$"
_CHANGES = r"(?i)\b(?:set|chang|reset|updat|rotat|renew|switch)\w*\b[^.\n]{0,40}$"
_COOKIE = r"(?i)sess|sid$|auth|token|jwt|csrf|login|remember|secure"
_AFTER_SCHEME = r"(?i)(?:bearer|basic|token)[,:]?[ \t]+[\w-]{6,}\.[\w.-]{6,}$"
_VARIABLE = r"(?i)[${\[*<•]|%[sd(]|\.\.\.|x{3,}$|.*\}$"
_OF_THE_KIND = r"(?i)\bkind:[ \t]*[\"']?secret\b"
_CERTIFICATE = "LS0tLS1CRUdJTiBDRVJU"


def is_password(value: Value) -> bool:
    """What follows the name of a password."""
    how = _how(value)
    if value.match["more"]:
        return _is_of_longer_name(value, how)
    if how == "listed":
        return _is_listed(value)
    if value.name.lower() in ("pass", "pw", "psk"):
        return _is_short(value, how)
    if how == "set":
        return _is_given(value)
    if how == "element":
        return not is_program(value.text)
    is_new = how != "to" or bool(regex(_CHANGES).search(_before(value)))
    return is_new and is_chosen(value.text, strict=how == "beside")


def is_token(value: Value) -> bool:
    """What follows `token`, `secret` or `credentials`."""
    how, text = _how(value), value.text
    if value.match["more"]:
        return _is_of_longer_name(value, how)
    if _qualifier(value)[0] in _PLAIN_TOKENS:
        return False
    if how == "set" or (how == "listed" and _is_called(value)):
        return _is_given_token(value)
    if how == "element":
        return len(text) >= _FEWEST_OF_TOKEN and not is_program(text)
    if how == "option":
        return is_chosen(text)
    return is_random(text) or (how in ("said", "to") and is_long_hex(text))


def is_key(value: Value) -> bool:
    """What follows `key`, of which most are keys of a table, a keyboard or a lock."""
    qualifier, is_apart = _qualifier(value)
    how, text = _how(value), value.text
    if qualifier in _PLAIN_KEYS:
        return False
    if value.match["more"]:
        return _is_of_longer_name(value, how)
    if how == "option":
        return value.name.lower() == "key" and is_chosen(text)
    is_secret = qualifier.endswith(_SECRET_KEYS)
    if is_secret and (how == "set" or (how == "listed" and _is_called(value))):
        return _is_given_token(value)
    # `DD_APP_KEY` in an environment is a key; `content_key` in data may be a hash.
    may_be_hex = (
        how == "element"
        or (is_secret and how in ("said", "to"))
        or (how == "set" and bool(qualifier) and not is_apart and _is_env(value))
    )
    return is_random(text) or (may_be_hex and is_long_hex(text))


def is_said(value: Value) -> bool:
    """A password where only the command, or the file, says that it is one."""
    return is_chosen(value.text)


def is_beside(value: Value) -> bool:
    """A password beside the name of a user, in a sentence."""
    return is_chosen(value.text, strict=True)


def is_random_value(value: Value) -> bool:
    """A value that no person would write, and no hash or id."""
    return is_random(value.text)


def is_no_program(value: Value) -> bool:
    """Any value but a name, a call, or what stands for a value."""
    return not is_program(value.text)


def is_literal(value: Value) -> bool:
    """Any value in quotes but a placeholder, a path, or code in a string."""
    return not _is_code(value)


def is_credential(value: Value) -> bool:
    """What an `Authorization` header holds; after `Bearer` two long words are no name."""
    return not is_program(value.text) or bool(regex(_AFTER_SCHEME).search(value.match[0]))


def is_cookie(value: Value) -> bool:
    """A session in a cookie, by its name or because it is random."""
    named = bool(regex(_COOKIE).search(value.name))
    return is_random(value.text) or (named and has_digit(value.text))


def is_code(value: Value) -> bool:
    """A code that stands for a second factor once."""
    return len(value.text) >= _FEWEST_OF_CODE and has_digit(value.text)


def is_option(value: Value) -> bool:
    """What an option of a command gives, where the command is one that takes a password so."""
    match, text = value.match, value.text
    before = match.string[max(value.start - _LONGEST_COMMAND, 0) : value.start + 1]
    if match["t"]:
        return bool(regex(_TAKES_USER).search(before)) and not is_program(text)
    commands = _TAKES_P_APART if match["sep"] else _TAKES_P
    if match["n"] not in "pP":
        commands = _TAKES_OTHERS
    is_given = match["n"] in "pP" or bool(match["sep"])
    return is_given and is_chosen(text) and bool(regex(commands).search(before))


def is_in_column(value: Value) -> bool:
    """A cell below the name of its column, at which the match of the table begins."""
    text, match = value.match.string, value.match
    name, cell = (
        text.count("|", text.rfind("\n", 0, at) + 1, at) for at in (match.pos, match.start("s"))
    )
    return name == cell and not is_program(value.text) and not value.text.isalpha()


def is_name_and_password(value: Value) -> bool:
    """`name:password` in base64, as Docker and npm keep it; or a value that is random."""
    text = value.text
    if is_random(text) or (len(text) >= _FEWEST_OF_BASE64 and text.endswith("=")):
        return True
    from binascii import a2b_base64

    try:
        return b":" in a2b_base64(text)
    except ValueError:
        return False


def is_in_a_secret(value: Value) -> bool:
    """What a Secret of Kubernetes holds, in base64; a certificate is none."""
    around = value.match.string[max(value.start - _NEAR, 0) : value.start + _NEAR]
    is_whole = len(value.text) % 4 == 0 and not value.text.startswith(_CERTIFICATE)
    return is_whole and bool(regex(_OF_THE_KIND).search(around))


def is_in_address(value: Value) -> bool:
    """A password, or a token in its place, between `://` and `@`; a variable is none."""
    text = value.text
    if value.match["t"]:
        return is_random(text) or (len(text) >= _FEWEST_IN_ADDRESS and is_long_hex(text))
    return not regex(_VARIABLE).match(text)


def _how(value: Value) -> _How:
    """What stands between the name and the value.

    Returns:
        `set`: `=` or `:`; `listed`: a comma, or the word `value`; `element`: the end of a tag;
        `said` or `to`: a verb; `beside`: a blank; `option`: a blank behind an option of a command.
    """
    if value.match["t"]:
        return "element"
    between = value.match["sep"].rstrip("@")
    if "," in between or "value" in between.lower():
        return "listed"
    if "=" in between or "→" in between:
        return "set"
    plain = between.strip(" \t\r\n*\"'`\\]|>+-")
    if plain.endswith(":"):
        return "set" if plain == ":" else "said"
    if not plain:
        return "option" if regex(_OPTION).search(_before(value)) else "beside"
    return "to" if plain.endswith("to") else "said"


def _before(value: Value) -> str:
    """What stands before the name, as far as it may say more about it."""
    return value.match.string[max(value.start - _LONGEST_NAME, 0) : value.start]


def _is_called(value: Value) -> bool:
    """`define("NAME", "value")`, or the attributes of an element: key="NAME" value="value"."""
    between = value.match["sep"]
    is_closed = between.lstrip("\\")[:1] in ('"', "'") or "value" in between.lower()
    return is_closed and bool(regex(_CALLED).search(_before(value)))


def _is_short(value: Value, how: _How) -> bool:
    """What follows `pass`, `pw` or `psk`, which are words and figures too."""
    text, name = value.text, value.name.lower()
    before = _before(value)[-1:]
    if how == "option":
        return is_chosen(text)
    if how != "set":
        is_apart = name != "pass" and not before.isalpha()
        return is_apart and is_chosen(text, strict=how == "beside")
    is_part = before in ("_", "-", ".") or name == "psk"
    if value.is_quoted:
        return (is_part or (has_digit(text) and " " not in text)) and _is_given(value)
    if is_part and _is_env(value):
        return (has_digit(text) or is_phrase(text)) and _is_given(value)
    is_test = ":" in value.match["sep"] and value.name.isupper()  # `PASS: test_of_2`
    return not is_test and is_chosen(text)


def _is_listed(value: Value) -> bool:
    if not _is_called(value):
        return False
    if "value" in value.match["sep"].lower():
        return _is_given(value)
    return is_mixed(value.text) and is_chosen(value.text)


def _is_env(value: Value) -> bool:
    """`NAME=value`, as in an environment."""
    return value.name.isupper() and "=" in value.match[0] and " " not in value.match[0]


def _qualifier(value: Value) -> tuple[str, bool]:
    """The word before the name in lower case, and whether a blank stands between the two."""
    found = regex(_QUALIFIER).search(_before(value))
    if not found:
        return "", False
    word = found[1]
    if not found["between"] and (hump := regex(_HUMP).search(word)):
        word = hump[0]
    return word.lower(), found["between"] == " "


def _is_of_longer_name(value: Value, how: _How) -> bool:
    """`TOKEN_ACME=…`: what is random, unless the name says what of a secret it is."""
    end = value.match["more"].lower().replace("-", "_").rpartition("_")[2]
    if end in _PLAIN_ENDS or how not in ("set", "listed"):
        return False
    return is_random(value.text) or (_is_env(value) and is_long_hex(value.text))


def _is_code(value: Value) -> bool:
    """As `is_program`; but in an environment, and in quotes, words with a dot are no code."""
    text = value.text
    if (value.is_quoted or _is_env(value)) and is_dotted(text) and has_digit(text):
        return is_placeholder(text)
    return is_program(text)


def _is_given(value: Value) -> bool:
    """A password that is assigned: anything but a program, a term, or a word without a sign."""
    text = value.text
    if text != text.strip() or _is_code(value) or is_term(text):
        return False
    mixed = is_mixed(text)
    if value.is_quoted:
        is_sentence = text[-1] in ",:([{=+.?" and not (mixed and has_digit(text))
        return len(text) >= _FEWEST_OF_PASSWORD and not is_sentence
    if (_is_env(value) and text.isalnum()) or is_phrase(text):
        return True
    return mixed and (("(" not in text and "=" not in text[:-2]) or is_signed(text))


def _is_given_token(value: Value) -> bool:
    """A token that is assigned: eight signs and more, letters and digits, no words."""
    text, env = value.text, _is_env(value)
    fewest = _FEWEST_IN_QUOTES if value.is_quoted else _FEWEST_OF_TOKEN
    if len(text) < fewest or _is_code(value):
        return False
    if is_signed(text):
        return True
    if " " in text or "(" in text or is_mail(text) or is_term(text):
        return False
    if not (has_digit(text) and is_mixed(text)):
        return is_random("".join(x for x in text if x.isalnum()) if env else text)
    if "arn:" in _before(value):
        return False
    return env or is_random(text) or not is_words(text)
