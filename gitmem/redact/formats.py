"""The providers' documented formats of credentials: what a secret looks like wherever it stands.

A row is one provider's format: the word its marker shows, the literals without which it cannot occur (looked for
before any pattern is compiled, case counts), the pattern, and the public document the format comes from. Group 1 of a
pattern, where there is one, is the secret; otherwise the whole match is.

Rules every row keeps, so that any input takes time linear in its length: a pattern begins with its literal (or a
class of bounded length), has no repetition inside a repetition that could read the same text in two ways, and what
may be read before it fails is bounded.

Left out on purpose: identifiers that are no secret alone (Twilio's `AC…` and `SK…`, Stripe's `pk_…`), and formats
that are only "32 hex digits" or the like (Datadog, Mailchimp, Discord bots): those are found by their name in an
assignment (gitmem.redact.context).
"""

from __future__ import annotations

from gitmem.values import Value

_WORD = "[A-Za-z0-9_-]"
_AWS_SECRET = r"(?:[A-Za-z0-9+]|\\?/){40}(?![A-Za-z0-9/+=])"  # noqa: S105 - a pattern; JSON may escape a slash


class Format(Value):
    """One documented format. `source` is the public page, or the title of it, that shows the format."""

    kind: str
    literals: tuple[str, ...]
    pattern: str
    source: str


_MODELS = (
    Format(
        "anthropic-key",
        ("sk-ant-",),
        rf"sk-ant-{_WORD}{{20,}}",
        "https://platform.claude.com/docs/en/api/overview (api03, admin01; oat01 is what `claude setup-token` prints)",
    ),
    Format(
        "openrouter-key",
        ("sk-or-",),
        r"sk-or-(?:v1-)?[A-Za-z0-9]{32,}",
        "https://openrouter.ai/docs/api-reference/authentication",
    ),
    Format(
        "openai-key",
        ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
        rf"sk-(?:proj|svcacct|admin|None)-(?=[A-Za-z_-]{{0,100}}[0-9]){_WORD}{{20,}}",
        "https://platform.openai.com/docs/api-reference/authentication (project, service account and admin keys)",
    ),
    Format(
        # The old form of OpenAI, which DeepSeek, Moonshot and most compatible servers took over. A digit is asked
        # for, because words joined without a separator (class names) have none.
        "openai-key",
        ("sk-",),
        r"sk-(?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{20,}",
        "https://platform.openai.com/docs/api-reference/authentication; https://api-docs.deepseek.com",
    ),
    Format(
        "nvidia-key", ("nvapi-",), rf"nvapi-{_WORD}{{60,}}", "https://docs.api.nvidia.com/nim/reference/authentication"
    ),
    Format(
        "langfuse-key",
        ("sk-lf-",),
        r"sk-lf-[0-9a-f-]{36}",
        "https://langfuse.com/docs/api-and-data-platform/features/public-api",
    ),
    Format("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}", "https://console.groq.com/docs/quickstart"),
    Format("xai-key", ("xai-",), r"xai-[A-Za-z0-9]{60,}", "https://docs.x.ai/docs/tutorial"),
    Format(
        "huggingface-token",
        ("hf_", "api_org_"),
        r"(?:hf|api_org)_[A-Za-z0-9]{30,}",
        "https://huggingface.co/docs/hub/security-tokens",
    ),
    Format(
        "replicate-token",
        ("r8_",),
        r"r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])",
        "https://replicate.com/docs/topics/security/api-tokens (40 characters)",
    ),
    Format("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}", "https://docs.perplexity.ai/getting-started"),
    Format(
        "langsmith-key",
        ("lsv2_",),
        r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
        "https://docs.smith.langchain.com/administration/how_to_guides/organization_management/create_account_api_key",
    ),
    Format("tavily-key", ("tvly-",), r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,}", "https://docs.tavily.com/welcome"),
)

_CODE_HOSTS = (
    Format(
        # The underscore and dots: since 2026 an installation token is `ghs_`, an app id, and a JWT.
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        r"gh[pousr]_[A-Za-z0-9_]{36,}(?:\.[A-Za-z0-9_-]{8,}){0,2}",
        "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/"
        "about-authentication-to-github#githubs-token-formats; GitHub changelog 2026-05-15",
    ),
    Format(
        "github-token",
        ("github_pat_",),
        r"github_pat_[A-Za-z0-9_]{36,}",
        "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/"
        "about-authentication-to-github#githubs-token-formats",
    ),
    Format(
        "gitlab-token",
        (
            *("glpat-", "gldt-", "glrt", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-"),
            *("glwt-", "glsoat-", "glffct-", "gloas-"),
        ),
        rf"gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|wt|soat|ffct|oas)-{_WORD}{{20,}}(?:\.{_WORD}+){{0,3}}",
        "https://docs.gitlab.com/security/tokens/#token-prefixes",
    ),
    Format("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36,}", "https://docs.npmjs.com/about-access-tokens"),
    Format("pypi-token", ("pypi-",), rf"pypi-AgE{_WORD}{{40,}}", "PyPI Help: API tokens"),
    Format(
        "rubygems-key",
        ("rubygems_",),
        r"rubygems_[0-9a-f]{48}",
        "https://guides.rubygems.org/api-key-scopes (API keys)",
    ),
    Format(
        "docker-token",
        ("dckr_",),
        rf"dckr_[op]at_{_WORD}{{20,}}",
        "https://docs.docker.com/security/access-tokens (personal, organization)",
    ),
    Format("buildkite-token", ("bkua_",), r"bkua_[0-9a-f]{40}", "https://buildkite.com/docs/apis/managing-api-tokens"),
    Format(
        "circleci-token", ("CCIPAT_",), r"CCIPAT_[A-Za-z0-9_]{40,}", "https://circleci.com/docs/managing-api-tokens"
    ),
    Format(
        "sentry-token",
        ("sntry",),
        r"sntry[su]_[A-Za-z0-9_=+/-]{40,}",
        "https://docs.sentry.io/account/auth-tokens",
    ),
    Format("linear-key", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", "https://linear.app/developers/graphql"),
    Format(
        "postman-key",
        ("PMAK-",),
        r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
        "https://learning.postman.com/docs/developer/postman-api/authentication",
    ),
    Format(
        "atlassian-token",
        ("ATATT3", "ATCTT3"),
        r"AT[AC]TT3[A-Za-z0-9_=+/-]{60,}",
        "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account",
    ),
    Format(
        "figma-token", ("figd_",), rf"figd_{_WORD}{{36,}}", "https://developers.figma.com/docs/rest-api/authentication"
    ),
    Format(
        "notion-token", ("ntn_",), r"ntn_[A-Za-z0-9]{40,}", "https://developers.notion.com/reference/authentication"
    ),
)

_CLOUDS = (
    Format(
        "aws-key-id",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids",
    ),
    Format(
        # The id and the secret side by side, as the console's CSV file and credential tables have them.
        "aws-secret-key",
        ("AKIA", "ASIA"),
        rf"A[KS]IA[A-Z2-7]{{16}}[\s,:;|\"']{{1,8}}({_AWS_SECRET})",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
    ),
    Format(
        # By its name too, because it may begin like a path and need not have a digit.
        "aws-secret-key",
        ("ecret_access_key", "ecretAccessKey", "ECRET_ACCESS_KEY"),
        rf"(?i:ecret_?access_?key)\\{{0,8}}[\"'\]]{{0,2}}[ \t]{{0,4}}[:=]>?[ \t]{{0,4}}\\{{0,8}}[\"']?({_AWS_SECRET})",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
    ),
    Format(
        "google-key",
        ("AIza",),
        rf"AIza{_WORD}{{35}}(?!{_WORD})",
        "https://cloud.google.com/docs/authentication/api-keys",
    ),
    Format("google-key", ("AQ.Ab",), rf"AQ\.Ab{_WORD}{{30,}}", "https://ai.google.dev/gemini-api/docs/api-key"),
    Format(
        "google-oauth",
        ("ya29.",),
        rf"ya29\.{_WORD}{{20,}}(?:\.{_WORD}+){{0,3}}",
        "https://developers.google.com/identity/protocols/oauth2 (access tokens)",
    ),
    Format(
        "google-oauth",
        ("1//0",),
        rf"1//0{_WORD}{{40,}}",
        "https://developers.google.com/identity/protocols/oauth2 (refresh tokens)",
    ),
    Format(
        "google-oauth",
        ("GOCSPX-",),
        rf"GOCSPX-{_WORD}{{28}}",
        "https://developers.google.com/identity/protocols/oauth2/web-server (client secrets)",
    ),
    Format(
        "azure-key",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{43,86}={1,2})",
        "https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string",
    ),
    Format(
        "azure-sas",
        ("sig=",),
        r"sig=([A-Za-z0-9%+/]{42,100}(?:%3[Dd]|=))",
        "https://learn.microsoft.com/rest/api/storageservices/create-service-sas",
    ),
    Format(
        "azure-client-secret",
        ("Q~",),
        r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
        "https://learn.microsoft.com/purview/sit-defn-client-secret-api-key",
    ),
    Format(
        "digitalocean-token",
        ("_v1_",),
        r"do[opr]_v1_[0-9a-f]{64}",
        "https://docs.digitalocean.com/reference/api/create-personal-access-token",
    ),
    Format(
        "cloudflare-token",
        ("cfk_", "cfut_", "cfat_"),
        r"cf(?:k|ut|at)_[A-Za-z0-9]{40,}",
        "https://developers.cloudflare.com/fundamentals/api/get-started/token-formats",
    ),
    Format(
        "databricks-token",
        ("dapi",),
        r"dapi[0-9a-f]{32}(?:-[0-9])?(?![0-9a-z])",
        "https://docs.aws.amazon.com/secretsmanager/latest/userguide/mes-partner-DatabricksPAT.html",
    ),
    Format(
        "vault-token",
        ("hvs.", "hvb.", "hvr."),
        rf"hv[sbr]\.{_WORD}{{24,}}",
        "https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes",
    ),
    Format(
        "terraform-token",
        (".atlasv1.",),
        rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_WORD}{{60,}}",
        "https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens",
    ),
    Format(
        "pulumi-token",
        ("pul-",),
        r"pul-[0-9a-f]{40}(?![0-9a-z])",
        "https://www.pulumi.com/docs/administration/access-identity/access-tokens",
    ),
    Format(
        "doppler-token",
        ("dp.",),
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
        "https://docs.doppler.com/reference/auth-token-formats",
    ),
    Format(
        "supabase-key",
        ("sbp_", "sb_secret_"),
        rf"(?:sbp_(?:[a-z]{{2}}_?)?[0-9a-f]{{40}}|sb_secret_{_WORD}{{20,}})",
        "https://supabase.com/docs/guides/api/api-keys",
    ),
    Format(
        "planetscale-key",
        ("pscale_",),
        rf"pscale_(?:tkn|pw|oauth)_{_WORD}{{32,}}",
        "https://planetscale.com/docs/concepts/service-tokens",
    ),
    Format(
        "grafana-token",
        ("glsa_", "glc_"),
        r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,}={0,2})",
        "https://grafana.com/docs/grafana/latest/administration/service-accounts",
    ),
    Format(
        "newrelic-key",
        ("NRAK-",),
        r"NRAK-[A-Z0-9]{27}",
        "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys",
    ),
    Format(
        "tailscale-key",
        ("tskey-",),
        r"tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}",
        "https://tailscale.com/kb/1085/auth-keys",
    ),
    Format(
        "onepassword-token",
        ("ops_eyJ",),
        r"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,2}",
        "https://developer.1password.com/docs/service-accounts",
    ),
    Format(
        "age-key",
        ("AGE-SECRET-KEY-1",),
        r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}",
        "https://github.com/C2SP/C2SP/blob/main/age.md (native X25519 identities)",
    ),
)

_SERVICES = (
    Format(
        "slack-token",
        ("xox", "xapp-"),
        r"(?:xoxe\.)?x(?:ox[a-z]|app)-(?=[A-Za-z-]{0,60}[0-9])[A-Za-z0-9%-]{20,}",
        "https://docs.slack.dev/authentication/tokens",
    ),
    Format(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com\\?/(?:services|workflows|triggers)\\?/((?:[A-Za-z0-9]{6,40}\\?/){1,3}[A-Za-z0-9]{16,64})",
        "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
    ),
    Format(
        "discord-webhook",
        ("api/webhooks/",),
        rf"api/webhooks/[0-9]{{17,20}}/({_WORD}{{60,80}})",
        "https://docs.discord.com/developers/resources/webhook",
    ),
    Format(
        "stripe-key",
        ("k_live_", "k_test_", "sk_org_"),
        r"(?:(?:sk|rk)_(?:live|test)|sk_org(?:_live|_test)?)_[A-Za-z0-9]{16,}",
        "https://docs.stripe.com/keys",
    ),
    Format("stripe-webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}={0,2}", "https://docs.stripe.com/webhooks"),
    Format(
        "toss-key",
        ("live_sk_", "test_sk_", "live_gsk_", "test_gsk_"),
        r"(?:live|test)_g?sk_[A-Za-z0-9]{20,}",
        "https://docs.tosspayments.com/reference/using-api/api-keys",
    ),
    Format(
        "shopify-token",
        ("shp",),
        r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}",
        "https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens",
    ),
    Format(
        "square-token",
        ("sq0",),
        rf"sq0(?:atp|csp|idp)-{_WORD}{{22,}}",
        "https://developer.squareup.com/docs/build-basics/access-tokens",
    ),
    Format(
        "sendgrid-key",
        ("SG.",),
        rf"SG\.{_WORD}{{22}}\.{_WORD}{{43}}",
        "https://docs.sendgrid.com/ui/account-and-settings/api-keys (69 characters)",
    ),
    Format(
        "brevo-key",
        ("xkeysib-",),
        r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
        "https://developers.brevo.com/docs/getting-started",
    ),
    Format(
        "telegram-token",
        (":AA",),
        rf"[0-9]{{8,10}}:AA{_WORD}{{32,33}}(?!{_WORD})",
        "https://core.telegram.org/bots/api#authorizing-your-bot",
    ),
    Format(
        "jwt",
        ("eyJ",),
        rf"eyJ{_WORD}{{8,800}}\.eyJ{_WORD}{{8,16000}}\.{_WORD}{{16,}}(?:\.{_WORD}+){{0,2}}",
        "RFC 7519 section 3.1, RFC 7515 section 3 (base64url of a JSON object begins with eyJ)",
    ),
)

FORMATS: tuple[Format, ...] = (*_MODELS, *_CODE_HOSTS, *_CLOUDS, *_SERVICES)
