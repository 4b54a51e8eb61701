"""The one table of the shapes that secrets have: each with its kind in words and its source.

Pure, and light: a shape is compiled when a text first holds one of its hints. Knows these shapes
and no others: a password in plain prose, or a random string with no known beginning, passes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Shape(NamedTuple):
    """A shape that secrets of one kind have.

    Attributes:
        kind: What it is, in words: `GitHub token`.
        source: Who published the shape.
        hints: A text without one of these holds no such secret; in lower case where `named`.
        pattern: A regular expression of bounded repeats that begins where a hint does;
            the secret is its group `s`, or all of it.
        named: It goes by the name before it, in any case, so that what follows is judged too.
        before: How far before a hint the secret may begin, where it does not begin with one.
        is_split: It may be short, or have blanks in it.
    """

    kind: str
    source: str
    hints: tuple[str, ...]
    pattern: str
    named: bool = False
    before: int = 0
    is_split: bool = False


class Span(NamedTuple):
    """Where a secret stands in a text, and what it is."""

    start: int
    end: int
    kind: str


_GITLEAKS = "gitleaks, config/gitleaks.toml"
_GITHUB = "docs.github.com, supported secret scanning patterns"
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

SHAPES: tuple[Shape, ...] = (
    Shape(
        "private key",
        "RFC 7468; OpenSSH PROTOCOL.key; RFC 9580",
        ("-----BEGIN ",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----)[\s\S]){0,20000}"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
        is_split=True,
    ),
    Shape(
        "age key", "age-encryption.org/v1", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[A-Z0-9]{58}"
    ),
    Shape(
        "PuTTY key",
        "PuTTY manual, appendix C",
        ("Private-Lines:",),
        r"Private-Lines: ?\d{1,4}\r?\n(?P<s>(?:[A-Za-z0-9+/=]{1,64}\r?\n?){1,200})",
        is_split=True,
    ),
    Shape("Anthropic key", _GITHUB, ("sk-ant-",), r"sk-ant-[\w-]{16,300}"),
    Shape(
        "OpenRouter key",
        "openrouter.ai/docs, authentication",
        ("sk-or-v1-",),
        r"sk-or-v1-[0-9a-f]{64}",
    ),
    Shape(
        "OpenAI key",
        "platform.openai.com, api keys",
        ("sk-",),
        r"sk-(?:proj-|svcacct-|admin-|None-)?(?=[A-Za-z_-]{0,300}\d)[A-Za-z0-9_-]{20,300}",
    ),
    Shape(
        "Stripe key",
        "docs.stripe.com/keys",
        ("k_live_", "k_test_"),
        r"[sprw]k_(?:live|test)_\w{10,200}",
        before=1,
    ),
    Shape("webhook secret", "docs.stripe.com/webhooks", ("whsec_",), r"whsec_[\w+/=]{16,200}"),
    Shape(
        "GitHub token",
        "github.blog, behind GitHub's new authentication token formats",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}",
    ),
    Shape(
        "GitLab token",
        "docs.gitlab.com, token overview",
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "glsoat-",
            "gloas-",
        ),
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[\w.-]{16,200}",
    ),
    Shape("Bitbucket token", _GITLEAKS, ("ATBB",), r"ATBB[A-Za-z0-9]{32}"),
    Shape(
        "Atlassian token",
        "support.atlassian.com, api tokens",
        ("ATATT3", "ATCTT3"),
        r"AT[AC]TT3[\w=-]{50,400}",
    ),
    Shape(
        "Slack token",
        "api.slack.com/authentication/token-types",
        ("xox", "xapp-"),
        r"xox[abceprs](?:\.xox[bp])?-[\w-]{10,400}|xapp-\d-[\w-]{10,300}",
    ),
    Shape(
        "Slack webhook",
        "api.slack.com/messaging/webhooks",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?P<s>(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,80})",
    ),
    Shape(
        "Discord webhook",
        "discord.com/developers, webhook resource",
        ("/api/webhooks/",),
        r"/api/webhooks/\d{16,20}/(?P<s>[\w-]{60,80})",
    ),
    Shape(
        "Teams webhook",
        "learn.microsoft.com, incoming webhooks",
        (".webhook.office.com/",),
        r"\.webhook\.office\.com/(?P<s>webhookb2/[0-9a-f@/-]{70,160}/IncomingWebhook/[0-9a-f/-]{60,90})",
    ),
    Shape(
        "Telegram bot token",
        "core.telegram.org/bots/api",
        (":AA",),
        r"\d{8,10}:AA[\w-]{33}",
        before=10,
    ),
    Shape(
        "AWS access key",
        "docs.aws.amazon.com, IAM unique identifiers",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}",
    ),
    Shape(
        "AWS secret key",
        "docs.aws.amazon.com, IAM access keys",
        ("aws",),
        r"aws.{0,20}?(?:secret|access).{0,20}?key.{0,10}?[:= \"']{1,5}"
        r"(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        named=True,
    ),
    Shape(
        "Google API key",
        "cloud.google.com/docs/authentication/api-keys",
        ("AIza",),
        r"AIza[\w-]{35}",
    ),
    Shape(
        "Google OAuth token",
        "developers.google.com/identity/protocols/oauth2",
        ("ya29.", "1//0"),
        r"ya29\.[\w-]{20,300}|1//0[\w-]{40,200}",
    ),
    Shape(
        "Google client secret",
        "developers.google.com/identity/protocols/oauth2",
        ("GOCSPX-",),
        r"GOCSPX-[\w-]{20,100}",
    ),
    Shape(
        "Azure storage key",
        "learn.microsoft.com, storage connection strings",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:Account|SharedAccess)Key=(?P<s>[A-Za-z0-9+/]{40,100}={0,2})",
    ),
    Shape(
        "Azure signature",
        "learn.microsoft.com, shared access signatures",
        ("sig=",),
        r"(?<=[?&;])sig=(?P<s>[A-Za-z0-9%+/]{40,120}(?:=|%3[Dd]){0,2})",
    ),
    Shape("Azure client secret", _GITLEAKS, ("8Q~",), r"[\w~.-]{3}8Q~[\w~.-]{31,34}", before=3),
    Shape(
        "DigitalOcean token",
        "docs.digitalocean.com, tokens",
        ("dop_v1_", "doo_v1_", "dor_v1_"),
        r"do[opr]_v1_[0-9a-f]{20,100}",
    ),
    Shape("Alibaba key", _GITLEAKS, ("LTAI",), r"LTAI[A-Za-z0-9]{20,26}"),
    Shape("Heroku key", "devcenter.heroku.com, oauth", ("HRKU-",), r"HRKU-[\w-]{36,80}"),
    Shape(
        "Fly.io token",
        "fly.io/docs/security/tokens",
        ("fm2_", "fm1r_", "fm1a_"),
        r"fm(?:2|1r|1a)_[A-Za-z0-9+/=]{60,2000}",
    ),
    Shape("Netlify token", _GITHUB, ("nfp_",), r"nfp_[A-Za-z0-9]{30,60}"),
    Shape(
        "Supabase key", _GITHUB, ("sbp_", "sb_secret_"), r"sbp_[0-9a-f]{40}|sb_secret_[\w-]{30,80}"
    ),
    Shape("PlanetScale token", _GITLEAKS, ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}"),
    Shape("Databricks token", _GITLEAKS, ("dapi",), r"dapi[0-9a-f]{32}(?:-\d)?"),
    Shape("Cloudflare key", _GITLEAKS, ("v1.0-",), r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    Shape(
        "Vault token",
        "developer.hashicorp.com/vault, tokens",
        ("hvs.", "hvb.", "hvr."),
        r"hv[sbr]\.[\w-]{24,300}",
    ),
    Shape(
        "Terraform token",
        _GITLEAKS,
        (".atlasv1.",),
        r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,70}",
        before=14,
    ),
    Shape("Pulumi token", _GITLEAKS, ("pul-",), r"pul-[0-9a-f]{40}"),
    Shape("Doppler token", _GITLEAKS, ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,60}"),
    Shape(
        "Tailscale key",
        "tailscale.com/kb, key prefixes",
        ("tskey-",),
        r"tskey-[a-z]{2,12}-[A-Za-z0-9]{6,20}-[A-Za-z0-9]{20,60}",
    ),
    Shape(
        "Docker token",
        "docs.docker.com, access tokens",
        ("dckr_",),
        r"dckr_(?:pat|oat)_[\w-]{24,60}",
    ),
    Shape("npm token", "docs.npmjs.com, access tokens", ("npm_",), r"npm_[A-Za-z0-9]{30,60}"),
    Shape("PyPI token", "warehouse.pypa.io, api tokens", ("pypi-AgE",), r"pypi-AgE[\w-]{16,400}"),
    Shape("RubyGems key", _GITLEAKS, ("rubygems_",), r"rubygems_[0-9a-f]{48}"),
    Shape("Clojars token", _GITLEAKS, ("CLOJARS_",), r"CLOJARS_[A-Za-z0-9]{60}"),
    Shape(
        "Hugging Face token",
        "huggingface.co/docs/hub/security-tokens",
        ("hf_", "api_org_"),
        r"(?:hf|api_org)_[A-Za-z]{20,60}|hf_(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,60}",
    ),
    Shape("Groq key", _GITHUB, ("gsk_",), r"gsk_[A-Za-z0-9]{40,60}"),
    Shape("xAI key", _GITHUB, ("xai-",), r"xai-[A-Za-z0-9]{70,90}"),
    Shape("Perplexity key", _GITHUB, ("pplx-",), r"pplx-[A-Za-z0-9]{40,60}"),
    Shape("Replicate token", _GITHUB, ("r8_",), r"r8_[A-Za-z0-9]{37}"),
    Shape("LangSmith key", _GITHUB, ("lsv2_",), r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    Shape(
        "SendGrid key", "docs.sendgrid.com, api keys", ("SG.",), r"SG\.[\w-]{16,64}\.[\w-]{16,128}"
    ),
    Shape("Mailgun key", _GITLEAKS, ("key-",), r"key-[0-9a-f]{32}(?![0-9a-f])"),
    Shape("Mailchimp key", _GITLEAKS, ("-us",), r"[0-9a-f]{32}-us\d{1,2}", before=32),
    Shape("Brevo key", _GITLEAKS, ("xkeysib-",), r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    Shape("Twilio key", "twilio.com/docs/iam/api-keys", ("SK",), r"SK[0-9a-f]{32}(?![0-9a-f])"),
    Shape(
        "Square token",
        "developer.squareup.com, access tokens",
        ("sq0",),
        r"sq0(?:atp|csp|idp)-[\w-]{22,43}",
    ),
    Shape(
        "Shopify token",
        "shopify.dev, authentication",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    ),
    Shape("Shippo token", _GITLEAKS, ("shippo_",), r"shippo_(?:live|test)_[0-9a-f]{40}"),
    Shape("Duffel token", _GITLEAKS, ("duffel_",), r"duffel_(?:live|test)_[\w=-]{43}"),
    Shape(
        "Linear key", _GITLEAKS, ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}"
    ),
    Shape(
        "Notion token",
        "developers.notion.com, authorization",
        ("ntn_", "secret_"),
        r"ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9_])",
    ),
    Shape(
        "Airtable token",
        "airtable.com/developers, authentication",
        ("pat",),
        r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
    ),
    Shape("Figma token", _GITHUB, ("figd_",), r"figd_[\w-]{36,60}"),
    Shape(
        "HubSpot token",
        "developers.hubspot.com, private apps",
        ("pat-",),
        r"pat-(?:na|eu|ap)\d-[0-9a-f]{8}-[0-9a-f-]{27}",
    ),
    Shape("Contentful token", _GITHUB, ("CFPAT-",), r"CFPAT-[\w-]{40,60}"),
    Shape("Typeform token", _GITLEAKS, ("tfp_",), r"tfp_[A-Za-z0-9_.=-]{59}"),
    Shape("Postman key", _GITLEAKS, ("PMAK-",), r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    Shape(
        "Grafana token",
        "grafana.com/docs, service accounts",
        ("glsa_", "glc_"),
        r"glsa_[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2}",
    ),
    Shape(
        "New Relic key",
        "docs.newrelic.com, api keys",
        ("NRAK-", "NRJS-", "NRII-"),
        r"NR(?:AK|JS|II)-[A-Za-z0-9_-]{19,40}",
    ),
    Shape(
        "Sentry token",
        "docs.sentry.io/api/auth",
        ("sntrys_", "sntryu_"),
        r"sntrys_[A-Za-z0-9+/=_]{60,400}|sntryu_[0-9a-f]{64}",
    ),
    Shape(
        "Dynatrace token",
        "docs.dynatrace.com, access tokens",
        ("dt0",),
        r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    ),
    Shape(
        "SonarQube token",
        "docs.sonarsource.com, user tokens",
        ("sqp_", "squ_", "sqa_"),
        r"sq[pua]_[0-9a-f]{40}",
    ),
    Shape("Buildkite token", _GITHUB, ("bkua_",), r"bkua_[0-9a-f]{40}"),
    Shape(
        "CircleCI token",
        _GITHUB,
        ("CCIPAT_", "CCIPRJ_"),
        r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,30}_[0-9a-f]{40}",
    ),
    Shape("Prefect key", _GITLEAKS, ("pnu_",), r"pnu_[A-Za-z0-9]{36}"),
    Shape("ReadMe key", _GITLEAKS, ("rdme_",), r"rdme_[a-z0-9]{70}"),
    Shape("Adafruit key", _GITHUB, ("aio_",), r"aio_[A-Za-z0-9]{28}(?![A-Za-z0-9_])"),
    Shape("OpenShift token", "docs.openshift.com, oauth", ("sha256~",), r"sha256~[\w-]{43}"),
    Shape(
        "1Password token",
        "developer.1password.com, service accounts",
        ("ops_ey",),
        r"ops_eyJ[\w+/=-]{100,4000}",
    ),
    Shape(
        "Commonplace token", "commonplace, docs/http.md", ("cp_",), r"cp_[\w-]{6,40}_[\w-]{32,80}"
    ),
    Shape("web token", "RFC 7519", ("eyJ",), r"eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,2000}"),
    Shape(
        "password in an address",
        "RFC 3986, 3.2.1",
        ("://",),
        r"://[^\s/:@'\"<>]{0,200}:(?P<s>[^\s/@'\"<>]{1,200})(?=@)",
        is_split=True,
    ),
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

_HINTS = [(hint, x) for x, each in enumerate(SHAPES) for hint in each.hints]
_NAMED = [(hint, x) for hint, x in _HINTS if SHAPES[x].named]
_SPLIT = [(hint, x) for hint, x in _HINTS if not SHAPES[x].named and SHAPES[x].is_split]
_WHOLE = [(hint, x) for hint, x in _HINTS if not SHAPES[x].named and not SHAPES[x].is_split]
_SHORTEST = 15
"""Of the words that may hold a secret with a beginning of its own, in characters."""

_CLEAR_BEGINNING = 4

_DISGUISES = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\uff01-\uff5e\U0001d400-\U0001d7ff]"
)

_DIGIT, _LETTER, _SYMBOL = re.compile(r"\d"), re.compile("[A-Za-z]"), re.compile(r"[!@#$%^&*?~+]")
_PROGRAM = re.compile(
    r"\[secret: |[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)*[({]|[({\\|%*]"
    r"|\$[{(\w]|0x[0-9A-Fa-f]+$"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|https?:|/|\.\.|[\d.,:]+\.?$"
)
_LONGEST_NAME = 60
_QUERY = re.compile(r"[?&][\w.%-]*$")
_AFTER_SCHEME = re.compile(r"(?i)(?:bearer|basic|token)[ \t]+[\w-]{6,}\.[\w.-]{6,}$")
_WORDS = re.compile(r"[A-Za-z]+\d{0,2}(?:[_.:/-][A-Za-z]*\d{0,2})*[.:)]*")
_PLACEHOLDER = re.compile(
    r"(?i)[x*.#-]+$|(?:bearer|basic)$|<.*>$|\{.*\}$|(?:your|my|the|some|new|old|a)[ _-]"
    r"|pass(?:word|wd|phrase)?$|pwd$|(?:secret|token|none|null|true|false|string|str|redacted|hidden|optional|required|example)$"
)


@cache
def _compiled(shape: Shape) -> re.Pattern[str]:
    """The shape as it is looked for; what goes by no name begins where no word goes on."""
    if shape.named:
        return re.compile(shape.pattern, re.IGNORECASE)
    inside = shape.pattern.startswith(("(?<=", "://", "/", "-", r"\."))
    # In JSON and in a URL an escape ends in a letter or a digit, which is no part of the secret.
    # A long beginning also counts after `x_` or `x-`; `task-sk-team` is a word.
    signs = "" if min(map(len, shape.hints)) >= _CLEAR_BEGINNING else "-"
    begins = rf"(?:(?<![A-Za-z0-9{signs}])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{{2}}))"
    return re.compile(shape.pattern if inside else f"{begins}(?:{shape.pattern})")


def hinted(text: str) -> list[Shape]:
    """The shapes of which a text holds a hint, in the order of the table; mostly none.

    What has a beginning of its own is looked for in the long words alone, which are few: 2 % of a
    write of 1 KB, where looking through all of the text takes 15 %.
    """
    if disguised := undisguised(text):
        text = f"{text}\n{disguised[0]}"
    folded = _folded(text)
    found = {x for hint, x in _NAMED if hint in folded}
    found.update(x for hint, x in _SPLIT if hint in text)
    words = "\n".join([word for word in text.split() if len(word) >= _SHORTEST])
    if words:
        found.update(x for hint, x in _WHOLE if hint in words)
    return [SHAPES[x] for x in sorted(found)]


def find(text: str, shapes: Iterable[Shape] | None = None) -> list[Span]:
    """Where secrets stand in a text, in its order; what overlaps is one, of the kind found first.

    Args:
        text: Any text, however hostile: the time is linear in its length.
        shapes: Those that `hinted` gave for it, or for a longer text around it.
    """
    shapes = list(hinted(text) if shapes is None else shapes)
    found = _found(text, shapes)
    if shapes and (disguised := undisguised(text)):
        plain, places = disguised
        found += [
            (places[start], places[end - 1] + 1, order, kind)
            for start, end, order, kind in _found(plain, shapes)
        ]
    return _joined(sorted(found))


def undisguised(text: str) -> tuple[str, Sequence[int]] | None:
    """A text without invisible characters and with wide letters as plain ones; None for most texts.

    Text that was copied from a page or a chat has such characters. The second value is the position
    of each character of the plain text in the text.
    """
    if text.isascii() or not _DISGUISES.search(text):
        return None
    from array import array
    from unicodedata import normalize

    signs: list[str] = []
    places = array("L")
    done = 0
    for match in _DISGUISES.finditer(text):
        at = match.start()
        signs.append(text[done:at])
        places.extend(range(done, at))
        done = at + 1
        if len(plain := normalize("NFKC", match[0])) == 1 and plain != match[0]:
            signs.append(plain)
            places.append(at)
    signs.append(text[done:])
    places.extend(range(done, len(text)))
    return "".join(signs), places


def _found(text: str, shapes: Sequence[Shape]) -> list[tuple[int, int, int, str]]:
    found: list[tuple[int, int, int, str]] = []
    folded = ""
    for order, shape in enumerate(shapes):
        if shape.named and not folded:
            folded = _folded(text)
        for match in _matches(shape, text, folded if shape.named else text):
            span = _span_of(shape, match)
            if span is not None:
                found.append((*span[:2], order, shape.kind))
    return found


def _folded(text: str) -> str:
    """In lower case, each sign where it was."""
    folded = text.lower()
    return folded if len(folded) == len(text) else "".join(x.lower()[0] for x in text)


def _matches(shape: Shape, text: str, hay: str) -> Iterator[re.Match[str]]:
    """Where the shape stands, by its hints: far faster than a pattern that looks for itself."""
    for hint in shape.hints:
        done, at = 0, hay.find(hint)
        while at >= 0:
            pattern = _compiled(shape)
            for start in range(max(done, at - shape.before), at + 1):
                if match := pattern.match(text, start):
                    done = match.end()
                    yield match
                    break
            at = hay.find(hint, max(at + len(hint), done))


def _span_of(shape: Shape, match: re.Match[str]) -> Span | None:
    groups = match.groupdict()
    if not groups:
        return Span(*match.span(), shape.kind)
    name = next((each for each in groups if groups[each] is not None), "")
    value, (start, end) = match[name], match.span(name)
    if not shape.named or "d" not in groups:
        # Two long words with a dot between are a name in a program, but not after `Bearer`.
        is_name = shape.named and _is_program(value) and not _AFTER_SCHEME.search(match[0])
        return None if is_name else Span(start, end, shape.kind)
    if name == "s":
        if _QUERY.search(match.string, max(match.start() - _LONGEST_NAME, 0), match.start()):
            value = value.partition("&")[0]
        bare = value.rstrip(".:!?)}")
        value, end = bare or value, start + len(bare or value)
    judge = _is_password if shape.kind == "password" else _is_token
    is_env = match[0][:1].isupper() and "=" in match[0] and " " not in match[0]
    is_secret = judge(value, is_quoted=name != "s", is_env=is_env)
    return Span(start, end, shape.kind) if is_secret else None


def _is_program(value: str) -> bool:
    """Whether it is a name or a call of a program, or stands for a value."""
    return bool(_PROGRAM.match(value) or _PLACEHOLDER.match(value))


def _is_password(value: str, *, is_quoted: bool, is_env: bool) -> bool:
    if _is_program(value) or value != value.strip():
        return False
    if is_quoted:
        return value[-1] not in ",:([{=+.?" and len(value) > 3  # noqa: PLR2004  shorter is a word
    if is_env and value.isalnum():
        return True
    mixed = bool(_LETTER.search(value)) and bool(_DIGIT.search(value) or _SYMBOL.search(value))
    return mixed and "(" not in value and "=" not in value[:-2]


def _is_token(value: str, *, is_quoted: bool, is_env: bool) -> bool:
    long = len(value) >= (12 if is_quoted else 8)
    if not long or " " in value or _is_program(value):
        return False
    if not (_DIGIT.search(value) and _LETTER.search(value)) or "(" in value:
        return False
    return is_env or not _WORDS.fullmatch(value)


def _joined(found: list[tuple[int, int, int, str]]) -> list[Span]:
    """What overlaps as one, of the kind that stands first in the table."""
    spans: list[Span] = []
    first = 0
    for start, end, order, kind in found:
        last = spans[-1] if spans else None
        if last is None or start >= last.end:
            spans.append(Span(start, end, kind))
            first = order
        else:
            spans[-1] = Span(last.start, max(end, last.end), kind if order < first else last.kind)
            first = min(first, order)
    return spans
