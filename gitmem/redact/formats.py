"""The providers' documented formats of credentials, recognised without context.

A row is one provider's format: the word its marker shows; literals without one of which it cannot occur, looked for
before any pattern is compiled (case counts); the pattern; and the public document the format comes from. Group 1 of a
pattern, where there is one, is the secret; otherwise the whole match is.

Rules every row keeps, so that time is linear in the text: a pattern begins with its literal or a class of bounded
length, has no nested quantifiers, and every repetition before a match is bounded. A literal stands in a run of at least
`LEAST` letters, digits and `_-.:/+=~`, so shorter words need not be searched.

Left out: identifiers that are no secret alone (Twilio's `AC…`, Stripe's and Mapbox's `pk…`), and formats that are only
"32 hex digits" or the like, found by their names (gitmem.redact.names).
"""

from __future__ import annotations

from gitmem.values import Value

LEAST = 20
"""Characters of the shortest word in which a literal of `FORMATS` can be a secret's."""

_WORD = "[A-Za-z0-9_-]"
_MIXED = "(?=[A-Za-z_-]{0,37}[0-9])(?=[a-z0-9_-]{0,37}[A-Z])"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_PEM_KINDS = "BQUklWQVRF|BSU0EgUFJJVkFU|BFQyBQUklWQVRF|BEU0EgUFJJVkFU|BPUEVOU1NIIFBSSVZBVE|BFTkNSWVBURUQgUFJJVkFU"
AWS_SECRET = r"(?:[A-Za-z0-9+]|\\?/){40}(?![A-Za-z0-9/+=])"  # noqa: S105 - a pattern; JSON may escape a slash


class Format(Value):
    """One documented format. `source` is the public page, or the title of it, that shows the format."""

    kind: str
    literals: tuple[str, ...]
    pattern: str
    source: str


# fmt: off
_ROWS = (
    # Models
    ("anthropic-key", "sk-ant-", rf"sk-ant-{_WORD}{{20,}}",
     "https://platform.claude.com/docs/en/api/overview (api03, admin01; oat01 is what `claude setup-token` prints)"),
    ("openrouter-key", "sk-or-", r"sk-or-(?:v1-)?[A-Za-z0-9]{32,}",
     "https://openrouter.ai/docs/api-reference/authentication"),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-",
     rf"sk-(?:proj|svcacct|admin|None)-(?=[A-Za-z_-]{{0,100}}[0-9]){_WORD}{{20,}}",
     "https://platform.openai.com/docs/api-reference/authentication (project, service account and admin keys)"),
    # The old form of OpenAI, which DeepSeek, Moonshot and most compatible servers took over. A digit is asked
    # for, because words joined without a separator (class names) have none.
    ("openai-key", "sk-", r"sk-(?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{20,}",
     "https://platform.openai.com/docs/api-reference/authentication; https://api-docs.deepseek.com"),
    ("nvidia-key", "nvapi-", rf"nvapi-{_WORD}{{60,}}",
     "https://docs.api.nvidia.com/nim/reference/authentication"),
    ("langfuse-key", "sk-lf-", r"sk-lf-[0-9a-f-]{36}",
     "https://langfuse.com/docs/api-and-data-platform/features/public-api"),
    ("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}",
     "https://console.groq.com/docs/quickstart"),
    ("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,}",
     "https://docs.x.ai/docs/tutorial"),
    ("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}",
     "https://huggingface.co/docs/hub/security-tokens"),
    ("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])",
     "https://replicate.com/docs/topics/security/api-tokens (40 characters)"),
    ("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}",
     "https://docs.perplexity.ai/getting-started"),
    ("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
     "https://docs.smith.langchain.com/administration/how_to_guides/organization_management/create_account_api_key"),
    ("bedrock-key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,}={0,2}",
     "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html (long-term keys)"),
    ("tavily-key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,}",
     "https://docs.tavily.com/welcome"),
    # Code hosts, registries, builds
    # The underscore and dots: since 2026 an installation token is `ghs_`, an app id, and a JWT.
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9_]{36,}(?:\.[A-Za-z0-9_-]{8,}){0,2}",
     "https://github.blog/changelog/2021-03-31-authentication-token-format-updates; GitHub changelog 2026-05-15"),
    ("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{36,}",
     "https://github.blog/changelog/2021-03-31-authentication-token-format-updates"),
    ("gitlab-token", "glpat- gldt- glrt glcbt- glptt- glft- glimt- glagent- glwt- glsoat- glffct- gloas-",
     rf"gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|wt|soat|ffct|oas)-{_WORD}{{20,}}(?:\.{_WORD}+){{0,3}}",
     "https://docs.gitlab.com/security/tokens/#token-prefixes"),
    ("gitlab-token", "GR1348941", rf"GR1348941{_WORD}{{20}}",
     "https://docs.gitlab.com/security/tokens/#token-prefixes (runner registration)"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{36,}",
     "https://docs.npmjs.com/about-access-tokens"),
    ("pypi-token", "pypi-", rf"pypi-AgE{_WORD}{{40,}}",
     "PyPI Help: API tokens"),
    ("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}",
     "https://guides.rubygems.org/api-key-scopes (API keys)"),
    ("docker-token", "dckr_", rf"dckr_[op]at_{_WORD}{{20,}}",
     "https://docs.docker.com/security/access-tokens (personal, organization)"),
    ("buildkite-token", "bkua_", r"bkua_[0-9a-f]{40}",
     "https://buildkite.com/docs/apis/managing-api-tokens"),
    ("circleci-token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9_]{40,}",
     "https://circleci.com/docs/managing-api-tokens"),
    ("sentry-token", "sntry", r"sntry[su]_[A-Za-z0-9_=+/-]{40,}",
     "https://docs.sentry.io/account/auth-tokens"),
    ("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
     "https://linear.app/developers/graphql"),
    ("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
     "https://learning.postman.com/docs/developer/postman-api/authentication"),
    ("atlassian-token", "ATATT3 ATCTT3", r"AT[AC]TT3[A-Za-z0-9_=+/-]{60,}",
     "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account"),
    ("figma-token", "figd_", rf"figd_{_WORD}{{36,}}",
     "https://developers.figma.com/docs/rest-api/authentication"),
    ("artifactory-key", "AKCp cmVmd", r"(?:AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59})(?![A-Za-z0-9+/=])",
     "https://jfrog.com/help/r/jfrog-platform-administration-documentation/access-tokens"),
    ("sonar-token", "squ_ sqp_ sqa_", r"sq[upa]_[0-9a-f]{40}",
     "https://docs.sonarsource.com/sonarqube-server/latest/user-guide/managing-tokens"),
    ("sourcegraph-token", "sgp_", r"sgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}",
     "https://sourcegraph.com/docs/cli/how-tos/creating_an_access_token"),
    ("nuget-key", "oy2", r"oy2[a-z0-9]{43}(?![A-Za-z0-9])",
     "https://learn.microsoft.com/nuget/nuget-org/publish-a-package#create-an-api-key (46 characters)"),
    ("clojars-token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}",
     "https://github.com/clojars/clojars-web/wiki/Deploy-Tokens"),
    ("harness-token", "pat. sat.", rf"[ps]at\.{_WORD}{{22}}\.[A-Za-z0-9]{{24}}\.[A-Za-z0-9]{{20}}",
     "https://developer.harness.io/docs/platform/automation/api/add-and-manage-api-keys"),
    ("octopus-key", "API-", r"API-[A-Z0-9]{26}(?![A-Z0-9])",
     "https://octopus.com/docs/octopus-rest-api/how-to-create-an-api-key"),
    ("prefect-key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}",
     "https://docs.prefect.io/v3/manage/cloud/manage-users/api-keys"),
    ("readme-key", "rdme_", r"rdme_[a-z0-9]{70}",
     "https://docs.readme.com/main/reference/intro/authentication"),
    ("openshift-token", "sha256~", rf"sha256~{_WORD}{{43}}(?!{_WORD})",
     "https://docs.redhat.com/en/documentation/openshift_container_platform (OAuth access tokens)"),
    ("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
     "https://airtable.com/developers/web/guides/personal-access-tokens"),
    ("typeform-token", "tfp_", rf"tfp_{_WORD}{{40,}}",
     "https://www.typeform.com/developers/get-started/personal-access-token"),
    ("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,}",
     "https://developers.notion.com/reference/authentication"),
    # Clouds, infrastructure
    ("aws-key-id", "AKIA ASIA ABIA ACCA", r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
     "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids"),
    # The id and the secret side by side, as the console's CSV file and credential tables have them.
    ("aws-secret-key", "AKIA ASIA", rf"A[KS]IA[A-Z2-7]{{16}}[\s,:;|\"']{{1,8}}({AWS_SECRET})",
     "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html"),
    ("google-key", "AIza", rf"AIza{_WORD}{{35}}(?!{_WORD})",
     "https://cloud.google.com/docs/authentication/api-keys"),
    ("google-key", "AQ.Ab", rf"AQ\.Ab{_WORD}{{30,}}",
     "https://ai.google.dev/gemini-api/docs/api-key"),
    ("google-oauth", "ya29.", rf"ya29\.{_WORD}{{20,}}(?:\.{_WORD}+){{0,3}}",
     "https://developers.google.com/identity/protocols/oauth2 (access tokens)"),
    ("google-oauth", "1//0", rf"1//0{_WORD}{{40,}}",
     "https://developers.google.com/identity/protocols/oauth2 (refresh tokens)"),
    ("google-oauth", "GOCSPX-", rf"GOCSPX-{_WORD}{{28}}",
     "https://developers.google.com/identity/protocols/oauth2/web-server (client secrets)"),
    ("azure-key", "AccountKey= SharedAccessKey=", r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{43,86}={1,2})",
     "https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string"),
    ("azure-sas", "sig=", r"sig=([A-Za-z0-9%+/]{42,100}(?:%3[Dd]|=))",
     "https://learn.microsoft.com/rest/api/storageservices/create-service-sas"),
    ("signed-url", "-Signature=", r"X-(?:Amz|Goog)-Signature=([0-9a-f]{64,512})",
     "https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html; Google Cloud Storage, signed URLs"),
    ("azure-client-secret", "Q~", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
     "https://learn.microsoft.com/purview/sit-defn-client-secret-api-key"),
    ("heroku-key", "HRKU-", rf"HRKU-(?:AA{_WORD}{{58}}|{_UUID})",
     "https://devcenter.heroku.com/articles/authentication (since 2024)"),
    ("fly-token", "fm2_ fm1r_ fm1a_ fo1_", rf"(?:fo1_{_WORD}{{43}}|fm(?:2|1[ar])_[A-Za-z0-9+/]{{80,}}={{0,3}})",
     "https://fly.io/docs/security/tokens"),
    ("alibaba-key-id", "LTAI", r"LTAI[A-Za-z0-9]{16,20}(?![A-Za-z0-9])",
     "https://www.alibabacloud.com/help/en/ram/user-guide/create-an-accesskey-pair"),
    ("yandex-key", "AQVN", rf"AQVN{_WORD}{{35,38}}(?!{_WORD})",
     "https://yandex.cloud/en/docs/iam/concepts/authorization/api-key"),
    ("clickhouse-key", "4b1d", r"4b1d(?=[a-z0-9]{0,38}[A-Z])[A-Za-z0-9]{38}(?![A-Za-z0-9])",
     "https://clickhouse.com/docs/cloud/manage/openapi"),
    ("cloudflare-ca-key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}",
     "https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys"),
    ("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}",
     "https://docs.digitalocean.com/reference/api/create-personal-access-token"),
    ("cloudflare-token", "cfk_ cfut_ cfat_", r"cf(?:k|ut|at)_[A-Za-z0-9]{40,}",
     "https://developers.cloudflare.com/fundamentals/api/get-started/token-formats"),
    ("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-[0-9])?(?![0-9a-z])",
     "https://docs.aws.amazon.com/secretsmanager/latest/userguide/mes-partner-DatabricksPAT.html"),
    ("vault-token", "hvs. hvb. hvr.", rf"hv[sbr]\.{_WORD}{{24,}}",
     "https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes"),
    ("vault-token", "s.", r"s\.(?=[A-Za-z]{0,23}[0-9])(?=[a-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![A-Za-z0-9.(])",
     "https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes (before 1.10)"),
    ("terraform-token", ".atlasv1.", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_WORD}{{60,}}",
     "https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens"),
    ("pulumi-token", "pul-", r"pul-[0-9a-f]{40}(?![0-9a-z])",
     "https://www.pulumi.com/docs/administration/access-identity/access-tokens"),
    ("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
     "https://docs.doppler.com/reference/auth-token-formats"),
    ("supabase-key", "sbp_ sb_secret_", rf"(?:sbp_(?:[a-z]{{2}}_?)?[0-9a-f]{{40}}|sb_secret_{_WORD}{{20,}})",
     "https://supabase.com/docs/guides/api/api-keys"),
    ("planetscale-key", "pscale_", rf"pscale_(?:tkn|pw|oauth)_{_WORD}{{32,}}",
     "https://planetscale.com/docs/concepts/service-tokens"),
    ("grafana-token", "glsa_ glc_", r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,}={0,2})",
     "https://grafana.com/docs/grafana/latest/administration/service-accounts"),
    ("grafana-token", "eyJrIjoi", r"eyJrIjoi[A-Za-z0-9]{60,}={0,3}",
     "https://grafana.com/docs/grafana/latest/developers/http_api/auth (keys before 9.1: base64 of JSON)"),
    ("dynatrace-token", "dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}",
     "https://docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients"),
    ("newrelic-key", "NRAK- NRII-", r"NR(?:AK-[A-Z0-9]{27}|II-[A-Za-z0-9_-]{32})",
     "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys"),
    ("tailscale-key", "tskey-", r"tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}",
     "https://tailscale.com/kb/1085/auth-keys"),
    ("onepassword-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,2}",
     "https://developer.1password.com/docs/service-accounts"),
    ("onepassword-key", "A3-",
     r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?![A-Z0-9])",
     "https://support.1password.com/secret-key"),
    ("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}",
     "https://github.com/C2SP/C2SP/blob/main/age.md (native X25519 identities)"),
    # Services
    ("slack-token", "xox xapp-", r"(?:xoxe\.)?x(?:ox[a-z]|app)-(?=[A-Za-z-]{0,60}[0-9])[A-Za-z0-9%-]{20,}",
     "https://docs.slack.dev/authentication/tokens"),
    ("slack-webhook", "hooks.slack.com",
     r"hooks\.slack\.com\\?/(?:services|workflows|triggers)\\?/((?:[A-Za-z0-9]{6,40}\\?/){1,3}[A-Za-z0-9]{16,64})",
     "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"),
    ("discord-webhook", "api/webhooks/", rf"api/webhooks/[0-9]{{17,20}}/({_WORD}{{60,80}})",
     "https://docs.discord.com/developers/resources/webhook"),
    ("stripe-key", "k_live_ k_test_ sk_org_", r"(?:(?:sk|rk)_(?:live|test)|sk_org(?:_live|_test)?)_[A-Za-z0-9]{16,}",
     "https://docs.stripe.com/keys"),
    ("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}={0,2}",
     "https://docs.stripe.com/webhooks"),
    ("toss-key", "live_sk_ test_sk_ live_gsk_ test_gsk_", r"(?:live|test)_g?sk_[A-Za-z0-9]{20,}",
     "https://docs.tosspayments.com/reference/using-api/api-keys"),
    ("shopify-token", "shp", r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}",
     "https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens"),
    ("square-token", "sq0", rf"sq0(?:atp|csp|idp)-{_WORD}{{22,}}",
     "https://developer.squareup.com/docs/build-basics/access-tokens"),
    ("sendgrid-key", "SG.", rf"SG\.{_WORD}{{22}}\.{_WORD}{{43}}",
     "https://docs.sendgrid.com/ui/account-and-settings/api-keys (69 characters)"),
    ("brevo-key", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
     "https://developers.brevo.com/docs/getting-started"),
    ("telegram-token", ":A", rf"[0-9]{{8,10}}:A{_WORD}{{33,34}}(?!{_WORD})",
     "https://core.telegram.org/bots/api#authorizing-your-bot"),
    ("telegram-token", "/bot", rf"\\?/bot([0-9]{{6,12}}(?::|%3[Aa]){_WORD}{{30,}})",
     "https://core.telegram.org/bots/api#making-requests"),
    # Base64 of the bot's id (17 to 20 digits, so it begins with M, N or O), a time, a signature.
    ("discord-token", "",
     rf"[MNO](?=[A-Za-z]{{0,26}}[0-9])[A-Za-z0-9]{{22,27}}\.{_WORD}{{6}}\.{_MIXED}{_WORD}{{27,38}}(?!{_WORD})",
     "https://docs.discord.com/developers/reference#authentication"),
    ("mapbox-token", "sk.eyJ tk.eyJ", rf"[st]k\.eyJ{_WORD}{{40,}}\.{_WORD}{{20,}}",
     "https://docs.mapbox.com/help/dive-deeper/access-tokens (secret and temporary tokens)"),
    ("facebook-token", "EAA", r"EAA(?=[A-Za-z]{0,90}[0-9])[A-Za-z0-9]{80,}(?![A-Za-z0-9+/=])",
     "https://developers.facebook.com/docs/facebook-login/guides/access-tokens"),
    ("square-token", "EAAAE EAAAl", rf"EAAA[El]{_WORD}{{59}}(?![A-Za-z0-9_+/=-])",
     "https://developer.squareup.com/docs/build-basics/access-tokens (64 characters)"),
    ("twilio-key", "SK", r"SK[0-9a-f]{32}(?![0-9A-Za-z])",
     "https://www.twilio.com/docs/iam/api-keys"),
    ("mailgun-key", "key-", r"(?<![A-Za-z0-9_-])key-[0-9a-f]{32}(?![0-9A-Za-z-])",
     "https://documentation.mailgun.com/docs/mailgun/user-manual/api-key-mgmt/api-keys"),
    ("mailchimp-key", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}(?![0-9A-Za-z-])",
     "https://mailchimp.com/developer/marketing/guides/quick-start"),
    ("plaid-token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}",
     "https://plaid.com/docs/api/items (access_token)"),
    ("teams-webhook", "webhook.office.com",
     rf"webhook\.office\.com\\?/webhookb2\\?/{_UUID}@{_UUID}\\?/IncomingWebhook\\?/([0-9a-f]{{32}}\\?/{_UUID})",
     "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook"),
    ("shippo-token", "shippo_", r"shippo_(?:live|test)_[0-9a-f]{40}",
     "https://docs.goshippo.com/docs/guides_general/authentication"),
    ("easypost-key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54}",
     "https://docs.easypost.com/docs/authentication"),
    ("duffel-token", "duffel_", rf"duffel_(?:live|test)_{_WORD}{{40,}}",
     "https://duffel.com/docs/api/overview/authentication"),
    ("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{12,40}(?:-X)?",
     "https://developer.flutterwave.com/v3.0.0/docs/authentication"),
    ("maxmind-key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",
     "https://dev.maxmind.com/geoip/release-notes (license keys)"),
    # "-----BEGIN " and the kind of a key in base64, as kubeconfig has it (client-key-data)
    ("private-key", "LS0tLS1CRUdJTi", rf"LS0tLS1CRUdJTi(?:{_PEM_KINDS})[A-Za-z0-9+/]{{20,}}={{0,2}}",
     "RFC 7468 section 2; https://kubernetes.io/docs/reference/config-api/kubeconfig.v1"),
    ("jwt", "eyJ", rf"eyJ{_WORD}{{8,800}}\.eyJ{_WORD}{{8,16000}}\.{_WORD}{{16,}}(?:\.{_WORD}+){{0,2}}",
     "RFC 7519 section 3.1, RFC 7515 section 3 (base64url of a JSON object begins with eyJ)"),
)

# Formats too plain to count except in a text with one of these lower-case words, which name the provider.
_NAMED_ROWS = (
    ("okta-token", "okta ssws", rf"00(?=[a-z0-9_-]{{0,40}}[A-Z]){_WORD}{{40}}(?![A-Za-z0-9_+/=-])",
     "https://developer.okta.com/docs/guides/create-an-api-token"),
    ("mailgun-key", "mailgun", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9A-Za-z-])",
     "https://documentation.mailgun.com/docs/mailgun/user-manual/api-key-mgmt/api-keys"),
)
# fmt: on


def _table(rows: tuple[tuple[str, str, str, str], ...]) -> tuple[Format, ...]:
    return tuple(Format(kind, tuple(literals.split()), pattern, source) for kind, literals, pattern, source in rows)


FORMATS = _table(_ROWS)
NAMED_FORMATS = _table(_NAMED_ROWS)
