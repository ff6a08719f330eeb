"""Recognises tokens by the prefixes and shapes that their issuers publish.

Source: the documentation of token formats of Airtable, Alibaba, Anaconda, Anthropic, Atlassian,
AWS, Brevo, Databricks, DigitalOcean, Discord, Docker Hub, Doppler, Dynatrace, E2B, Figma,
Firecrawl, Fireworks, Fly.io, GitHub, GitLab, Google, Grafana, Groq, HashiCorp, Heroku, HubSpot,
Hugging Face, Jina, LangSmith, Linear, LlamaCloud, Mailgun, Microsoft Entra, Modal, Neon, New Relic,
Notion, npm, NVIDIA, OpenAI, OpenShift, Perplexity, Pinecone, PlanetScale, Postman, Pulumi, PyPI,
Replicate, Resend, RubyGems, RunPod, SendGrid, Sentry, Shopify, Slack, Sonar, Square, Stripe,
Supabase, Tailscale, Tavily, Telegram, Together, Twilio, Vercel, Voyage, Weights & Biases and xAI;
Cerebras, CircleCI, 1Password, Microsoft Teams; age; RFC 7519 (JWT).
"""

import re
from collections.abc import Iterator

from jobledger.core.log.redaction.detection.long_runs import long_runs

CUT = "…"
"""Stands where a text was cut; never part of a secret."""

BEFORE_RUN = rf"(?<![A-Za-z0-9_{CUT}-])"
"""Begins an expression that reads to the end of a run of characters, once for each run."""

_STANDING_ALONE = {
    "LTAI": r"[0-9A-Za-z]{16,26}(?![0-9A-Za-z])",
    "glpat-": r"[A-Za-z0-9_.-]{20,}",
    "glptt-": r"[A-Za-z0-9_.-]{20,}",
    "glrt-": r"[A-Za-z0-9_.-]{20,}",
    "gldt-": r"[A-Za-z0-9_.-]{20,}",
    "glc_": r"[A-Za-z0-9+/=]{20,}",
    "glsa_": r"[A-Za-z0-9_]{20,}",
    "hf_": r"[A-Za-z0-9]{20,}",
    "api_org_": r"[A-Za-z0-9]{20,}",
    "sk-": r"[A-Za-z0-9_-]{20,}",
    "xai-": r"[A-Za-z0-9_-]{20,}",
    "gsk_": r"[A-Za-z0-9]{20,}",
    "pplx-": r"[A-Za-z0-9]{20,}",
    "nvapi-": r"[A-Za-z0-9_-]{20,}",
    "r8_": r"[A-Za-z0-9]{20,}",
    "rpa_": r"[A-Za-z0-9]{20,}",
    "lsv2_": r"[ps][tk]_[A-Za-z0-9_]{20,}",
    "tgp_v1_": r"[A-Za-z0-9_-]{20,}",
    "fw_": r"[A-Za-z0-9]{20,}",
    "wandb_v1_": r"[A-Za-z0-9_]{20,}",
    "SG.": r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "key-": r"[0-9a-f]{32}(?![0-9a-f])",
    "SK": r"[0-9a-f]{32}(?![0-9a-f])",
    "npm_": r"[A-Za-z0-9]{30,}",
    "dapi": r"[0-9a-f]{32}",
    "pul-": r"[0-9a-f]{40}",
    "tskey-": r"[a-z]+-[A-Za-z0-9-]{10,}",
    "ntn_": r"[A-Za-z0-9]{20,}",
    "pa-": r"[A-Za-z0-9_]{43}(?![A-Za-z0-9_-])",
    "csk-": r"[a-z0-9]{40,}",
    "sbp_": r"[0-9a-f]{40}",
    "napi_": r"[a-z0-9]{40,}",
    "ops_eyJ": r"[A-Za-z0-9_-]{40,}",
    "fm2_": r"[A-Za-z0-9+/=]{40,}",
    "as-": r"[A-Za-z0-9]{22}(?![A-Za-z0-9_-])",
    "jina_": r"[A-Za-z0-9_-]{40,}",
    "llx-": r"[A-Za-z0-9_-]{30,}",
    "fc-": r"[0-9a-f]{32}(?![0-9a-f])",
    "e2b_": r"[0-9a-f]{40}",
    "re_": r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![A-Za-z0-9_])",
    "dp.": r"(?:st|pt|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    "sq": r"[apu]_[0-9a-f]{40}",
    "pat-": r"[a-z]{2}[0-9]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "pat": r"[A-Za-z0-9]{14}\.[0-9a-f]{64}",
    "ABSK": r"[A-Za-z0-9+/=]{80,}",
    "ATBB": r"[A-Za-z0-9]{28,}",
}
"""Beginnings that must not lie within a word -> the rest."""

_ANYWHERE = {
    "AKIA": r"AKIA[0-9A-Z]{16}",
    "ASIA": r"ASIA[0-9A-Z]{16}",
    "AIza": r"AIza[0-9A-Za-z_-]{35}",
    "ya29.": r"ya29\.[0-9A-Za-z_-]{20,}",
    "GOCSPX-": r"GOCSPX-[0-9A-Za-z_-]{20,}",
    "gh": r"gh[pousr]_[A-Za-z0-9]{20,}",
    "github_pat_": r"github_pat_[A-Za-z0-9_]{20,}",
    "dckr_": r"dckr_[po]at_[A-Za-z0-9_-]{20,}",
    "xox": r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    "xapp-": r"xapp-[A-Za-z0-9-]{10,}",
    "pypi-": r"pypi-[A-Za-z0-9_-]{30,}",
    "rubygems_": r"rubygems_[0-9a-f]{40,}",
    "whsec_": r"whsec_[A-Za-z0-9+/=]{16,}",
    "sq0": r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}",
    "hv": r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    "ATATT3": r"ATATT3[A-Za-z0-9_=-]{40,}",
    "PMAK-": r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
    "NRAK-": r"NRAK-[A-Z0-9]{20,}",
    "figd_": r"figd_[A-Za-z0-9_-]{20,}",
    "lin_api_": r"lin_api_[A-Za-z0-9]{20,}",
    "AGE-SECRET-KEY-": r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    "k_live_": r"[rsp]k_live_[A-Za-z0-9]{10,}",
    "k_test_": r"[rsp]k_test_[A-Za-z0-9]{10,}",
    "_v1_": r"do[oprt]_v1_[0-9a-f]{40,}",
    "shp": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    ".atlasv1.": r"(?<![A-Za-z0-9])[A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_=-]{40,}",
    "hooks.slack": r"(?:(?<=hooks\.slack\.com/services/)|(?<=hooks\.slack\.com/workflows/)|"
    r"(?<=hooks\.slack\.com/triggers/))[A-Za-z0-9/]{20,}",
    "/IncomingWebhook/": r"(?<=/IncomingWebhook/)[A-Za-z0-9_-]{20,}",
    "sb_secret_": r"sb_secret_[A-Za-z0-9_-]{20,}",
    "HRKU-": r"HRKU-[A-Za-z0-9_-]{30,}",
    "tvly-": r"tvly-[A-Za-z0-9_-]{20,}",
    "pcsk_": r"pcsk_[A-Za-z0-9_]{20,}",
    "pscale_": r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}",
    "sntry": r"sntry[su]_[A-Za-z0-9+/=_-]{30,}",
    "CCIPAT_": r"CCIPAT_[A-Za-z0-9_]{20,}",
    "vercel_blob_": r"vercel_blob_rw_[A-Za-z0-9_]{20,}",
    "/api/webhooks/": r"(?<=/api/webhooks/)[0-9]{5,25}/[A-Za-z0-9_-]{40,}",
    ":AA": r"(?<![A-Za-z0-9:.])(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",
    "NRAL": r"(?<![0-9A-Za-z])[0-9a-zA-Z]{36}NRAL(?![0-9A-Za-z])",
    "8Q~": r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}",
    "/t/": r"(?<=/t/)[a-z]{2}-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?=/)",
    "sha256~": r"sha256~[A-Za-z0-9_-]{43}",
    "dt0c": r"dt0c0[0-9]\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    "xkeysib-": r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
    "eyJ": BEFORE_RUN + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*",
}
"""Literals that are needed -> the whole."""

ISSUED: tuple[tuple[str, re.Pattern[str]], ...] = (
    *((needed, re.compile(shape)) for needed, shape in _ANYWHERE.items()),
    *(
        (begin, re.compile(rf"{re.escape(begin)}(?<![A-Za-z0-9{CUT}]{re.escape(begin)}){rest}"))
        for begin, rest in _STANDING_ALONE.items()
    ),
)
"""What is looked for begins with letters where it can: then the search for it is quick."""


def issued_in(text: str) -> Iterator[re.Pattern[str]]:
    """Yield the shapes that may occur in a text: those whose literal stands in one of its runs."""
    runs = long_runs(text)
    return (shape for needed, shape in ISSUED if needed in runs)
