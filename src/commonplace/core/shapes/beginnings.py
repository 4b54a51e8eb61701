"""The shapes of secrets that begin, or stand, as their issuer has published: the table of them.

Pure; judges nothing: what has such a beginning is a secret.
"""

from __future__ import annotations

from commonplace.core.shapes.judgement import is_in_address
from commonplace.core.shapes.shape import Shape

_GITLEAKS = "gitleaks, config/gitleaks.toml"
_TRUFFLEHOG = "trufflehog, pkg/detectors"
_GITHUB = "docs.github.com, supported secret scanning patterns"

BEGINNINGS: tuple[Shape, ...] = (
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
        r"\.webhook\.office\.com/"
        r"(?P<s>webhookb2/[\w@/-]{70,160}/IncomingWebhook/[\w/-]{60,90})",
    ),
    Shape(
        "webhook",
        "zapier.com and make.com, webhooks",
        ("hooks.zapier.com/", "hook."),
        r"(?:hooks\.zapier\.com/hooks/catch/|hook\.[a-z0-9]{2,8}\.make\.com/)(?P<s>[\w/-]{16,80})",
    ),
    Shape(
        "Telegram bot token",
        "core.telegram.org/bots/api",
        (":AA",),
        r"\d{8,10}:AA[\w-]{33}",
        before=10,
    ),
    Shape(
        "Telegram bot token",
        "core.telegram.org/bots/api, making requests",
        ("/bot",),
        r"/bot(?P<s>\d{8,10}:[\w-]{35})",
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
        beside="key",
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
    Shape("Azure client secret", _GITLEAKS, ("Q~",), r"[\w~.-]{3}\dQ~[\w~.-]{31,34}", before=4),
    Shape(
        "DigitalOcean token",
        "docs.digitalocean.com, tokens",
        ("dop_v1_", "doo_v1_", "dor_v1_"),
        r"do[opr]_v1_[0-9a-f]{20,100}",
    ),
    Shape("Amazon Bedrock key", _GITLEAKS, ("ABSK",), r"ABSK[A-Za-z0-9+/]{100,300}={0,2}"),
    Shape("Facebook token", _GITLEAKS, ("EAA",), r"EAA[A-Z][A-Za-z0-9]{90,400}"),
    Shape("Square token", _GITLEAKS, ("EAAA",), r"EAAA[\w-]{56,64}"),
    Shape("EasyPost key", _GITLEAKS, ("EZAK", "EZTK"), r"EZ[AT]K[A-Za-z0-9]{54}"),
    Shape("Octopus Deploy key", _GITLEAKS, ("API-",), r"API-[A-Z0-9]{26}(?![A-Z0-9])"),
    Shape("ClickHouse key", _GITLEAKS, ("4b1d",), r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    Shape(
        "Artifactory key",
        _GITLEAKS,
        ("AKCp", "cmVmd"),
        r"AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59}(?![A-Za-z0-9])",
    ),
    Shape(
        "Sourcegraph token",
        _GITLEAKS,
        ("sgp_",),
        r"sgp_(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}",
    ),
    Shape("Zoho token", _TRUFFLEHOG, ("1000.",), r"1000\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    Shape("NVIDIA key", _TRUFFLEHOG, ("nvapi-",), r"nvapi-[\w-]{60,70}"),
    Shape("ElevenLabs key", _TRUFFLEHOG, ("sk_",), r"sk_[0-9a-f]{48}(?![0-9a-f])"),
    Shape(
        "Cloudflare token", _TRUFFLEHOG, ("cfut_", "cfat_"), r"cf[ua]t_[A-Za-z0-9]{40}[0-9a-f]{8}"
    ),
    Shape(
        "Resend key", "resend.com/docs, api keys", ("re_",), r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"
    ),
    Shape("NuGet key", "learn.microsoft.com/nuget, api keys", ("oy2",), r"oy2[a-z0-9]{43}"),
    Shape(
        "crates.io token",
        "doc.rust-lang.org/cargo, publishing",
        ("cio",),
        r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])",
    ),
    Shape("PostHog key", _TRUFFLEHOG, ("phx_",), r"phx_\w{43,48}"),
    Shape("Apify token", _TRUFFLEHOG, ("apify_api_",), r"apify_api_[A-Za-z0-9-]{36}"),
    Shape(
        "Mapbox token",
        "docs.mapbox.com, access tokens",
        ("sk.eyJ",),
        r"sk\.eyJ[\w-]{40,200}\.[\w-]{20,24}",
    ),
    Shape("Frame.io token", _GITLEAKS, ("fio-u-",), r"fio-u-[\w=-]{64}"),
    Shape("Flutterwave key", _GITLEAKS, ("FLWSECK",), r"FLWSECK(?:_TEST)?-[0-9a-h]{12,32}(?:-X)?"),
    Shape("Infracost key", _GITLEAKS, ("ico-",), r"(?<!\.)ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Shape("MaxMind key", _GITLEAKS, ("_mmk",), r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", before=36),
    Shape(
        "Plaid token",
        _GITLEAKS,
        ("access-",),
        r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f-]{27}",
    ),
    Shape("Scalingo token", _GITLEAKS, ("tk-us-",), r"tk-us-[\w-]{48}"),
    Shape(
        "SettleMint token",
        _GITLEAKS,
        ("sm_aat_", "sm_pat_", "sm_sat_"),
        r"sm_[aps]at_[A-Za-z0-9]{16}",
    ),
    Shape("Defined Networking token", _GITLEAKS, ("dnkey-",), r"dnkey-[\w=-]{26}-[\w=-]{52}"),
    Shape(
        "Harness key",
        _GITLEAKS,
        ("pat.", "sat."),
        r"[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
    ),
    Shape(
        "Asana token",
        "developers.asana.com, personal access tokens",
        ("1/", "2/"),
        r"[12]/\d{15,17}(?:/\d{15,17})?:[0-9a-f]{32}",
    ),
    Shape("Alibaba key", _GITLEAKS, ("LTAI",), r"LTAI[A-Za-z0-9]{20,26}"),
    Shape("Heroku key", "devcenter.heroku.com, oauth", ("HRKU-",), r"HRKU-[\w-]{36,80}"),
    Shape(
        "Fly.io token",
        "fly.io/docs/security/tokens",
        ("fm2_", "fm1r_", "fm1a_", "fo1_"),
        r"fm(?:2|1r|1a)_[A-Za-z0-9+/=]{60,2000}|fo1_[\w-]{43}",
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
        "second factor",
        "github.com/google/google-authenticator, key URI format",
        ("otpauth://",),
        r"otpauth://[^\s?]{1,200}\?(?:[^\s&]{1,100}&){0,5}secret=(?P<s>[A-Za-z2-7]{16,128})",
    ),
    Shape("private key", "RFC 8037, RFC 7517", ('"d":"',), r'"d":"(?P<s>[\w-]{40,700})"'),
    Shape(
        "1Password key",
        "support.1password.com, secret key",
        ("A3-",),
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    Shape("wallet key", "BIP 32", ("xprv",), r"xprv[A-Za-z0-9]{90,120}"),
    Shape(
        "calendar address",
        "support.google.com, secret address of a calendar",
        ("/private-",),
        r"/private-(?P<s>[0-9a-f]{32})(?=/)",
    ),
    Shape(
        "password",
        "postgresql.org, the password file",
        (":5432:",),
        r":5432:[^\s:]{1,60}:[^\s:]{1,60}:(?P<s>[^\s:]{3,100})",
    ),
    Shape(
        "Commonplace token", "commonplace, docs/http.md", ("cp_",), r"cp_[\w-]{6,40}_[\w-]{32,80}"
    ),
    Shape("web token", "RFC 7519", ("eyJ",), r"eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,2000}"),
    Shape(
        "password in an address",
        "RFC 3986, 3.2.1",
        ("://",),
        r"://(?:[^\s/:@'\"<>]{0,200}:(?P<s>[^\s/@'\"<>]{1,200})|(?P<t>[\w-]{20,200}))(?=@)",
        is_split=True,
        judge=is_in_address,
    ),
)
