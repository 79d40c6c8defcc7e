// Where a key is in an Azure Key Vault or Managed HSM, and how the service logs in.
import { Schema } from "effect"
import { added, field } from "../request/Field.ts"
import { maybe, text } from "../request/Text.ts"

/** The clouds of Azure: the login host, and the domains of vaults and Managed HSMs. */
export const clouds = [
  { login: "login.microsoftonline.com", domains: ["vault.azure.net", "managedhsm.azure.net"] },
  { login: "login.chinacloudapi.cn", domains: ["vault.azure.cn", "managedhsm.azure.cn"] },
  { login: "login.microsoftonline.us", domains: ["vault.usgovcloudapi.net", "managedhsm.usgovcloudapi.net"] }
] as const

const domains = clouds.flatMap((cloud) => cloud.domains)

/** A name of 3 to 24 characters below a domain of Azure, without port, path and credentials. */
const vaultUrl = new RegExp(
  `^https://[A-Za-z][A-Za-z0-9-]{2,23}\\.(${domains.map((domain) => domain.replaceAll(".", "\\.")).join("|")})/?$`,
  "u"
)

const VaultUrl = Schema.String.check(
  Schema.isPattern(vaultUrl, { expected: `https://NAME. and one of ${domains.join(", ")}` })
)

const KeyName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9-]{1,127}$/u, { expected: "1 to 127 letters, digits and dashes" })
)

const KeyVersion = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{32}$/u, { expected: "a version of a key: 32 hex digits in lower case" })
)

/** A directory id or a verified domain. It becomes a part of a path, so it must not be a URL. */
const TenantId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9-]{0,62}(\.[A-Za-z0-9][A-Za-z0-9-]{0,62}){0,8}$/u, {
    expected: "a directory id (UUID) or a domain"
  })
)

const ClientId = Schema.String.check(
  Schema.isPattern(/^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/u, { expected: "a UUID" })
)

const AuthType = Schema.Literals(["client_secret", "managed_identity", "workload_identity"])

const authType = {
  description:
    "How the service logs in: with a client secret, with the managed identity of its machine, or with a token file " +
    "(workload identity). The default is client_secret.",
  examples: ["client_secret" as const]
}
const tenantId = { description: "Directory (tenant) of the application.", examples: ["contoso.onmicrosoft.com"] }
const clientId = {
  description: "Client id of the application or of a user-assigned identity.",
  examples: ["3d1e6a0f-6d0f-4c4c-9d1c-6f7d2f6d8a11"]
}

const vault = field(
  VaultUrl,
  "URL of the vault or Managed HSM. It determines the login host.",
  "https://relayers.vault.azure.net"
)
const keyName = field(KeyName, "Name of the key.", "hot-1")
const keyVersion = {
  description: "Version of the key. If absent, the signer keeps the version that is current when it is created.",
  examples: ["9885aa558e8d448789683188f8c194b0"]
}

/** The secrets of a login. Managed identities have none. */
export const Credentials = Schema.Struct({
  client_secret: maybe(Schema.RedactedFromValue(text(1, 1024)), {
    description: "Client secret of the application, for auth_type client_secret.",
    examples: ["abc8Q~0123456789"]
  }),
  federated_token_file: maybe(Schema.RedactedFromValue(text(1, 1024)), {
    description:
      "Token file for auth_type workload_identity, in the directory AZURE_TOKEN_DIRECTORY of the service. If absent, the " +
      "file AZURE_FEDERATED_TOKEN_FILE of the service.",
    examples: ["/var/run/secrets/azure/tokens/azure-identity-token"]
  })
})
export type Credentials = typeof Credentials.Type

export const requested = {
  auth_type: maybe(AuthType, authType),
  tenant_id: maybe(TenantId, tenantId),
  client_id: maybe(ClientId, clientId),
  ...Credentials.fields,
  vault_url: vault,
  key_name: keyName,
  key_version: maybe(KeyVersion, keyVersion)
}

/** The fields that are not secret. */
export const shown = {
  auth_type: field(AuthType, authType.description, "client_secret"),
  tenant_id: Schema.optionalKey(TenantId.annotateKey(tenantId)),
  client_id: Schema.optionalKey(ClientId.annotateKey(clientId)),
  vault_url: vault,
  key_name: keyName,
  key_version: Schema.optionalKey(KeyVersion.annotateKey(keyVersion))
}

/** What Azure reports about the key when the signer is created. */
export const resolved = {
  kid: field(
    Schema.String,
    added("The identifier of the version that signs."),
    "https://relayers.vault.azure.net/keys/hot-1/9885aa558e8d448789683188f8c194b0"
  )
}
