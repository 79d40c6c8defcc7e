// Where a key is in each key service, and how the service logs in.
import { Effect, Schema } from "effect"
import { ShownUrl } from "../chain/Rpc.ts"
import { added, field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { maybe, text } from "../request/Shown.ts"

/** The region becomes a part of a host name. */
const AwsRegion = Schema.String.check(
  Schema.isMaxLength(32),
  Schema.isPattern(/^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$/u, { expected: "a region of AWS, such as eu-west-1" })
)

const awsRegion = "Region of the key."

const awsKeyPattern =
  /^(arn:aws[a-z-]{0,16}:kms:[a-z0-9-]{1,32}:\d{12}:)?(key\/[A-Za-z0-9-]{1,64}|alias\/[A-Za-z0-9/_-]{1,250})$|^[A-Za-z0-9-]{1,64}$/u

const AwsKeyId = Schema.String.check(
  Schema.isPattern(awsKeyPattern, { expected: "the id, the ARN or the alias of a key in AWS KMS" })
)

const awsKeyId = "Id, ARN, alias (`alias/…`) or ARN of an alias of the key."

export const requestedAwsKms = {
  region: field(AwsRegion, awsRegion, "eu-west-1"),
  key_id: field(AwsKeyId, awsKeyId, "alias/relayer-hot-1")
}

/** All fields, none of which is secret. */
export const shownAwsKms = {
  region: field(Shown.shaped(/^eu-west-[1-3]$/), awsRegion, "eu-west-1"),
  key_id: field(Shown.shaped(/^alias\/[a-z]{1,12}$/), awsKeyId, "alias/relayer-hot-1"),
  key_arn: field(
    Shown.shaped(/^arn:aws:kms:eu-west-1:111122223333:key\/[0-9a-f]{32}$/),
    added("ARN of the key that signs. An alias is only resolved when the signer is created."),
    "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
  )
}

// Where a key is in an Azure Key Vault or Managed HSM, and how the service logs in.

/** The clouds of Azure: the login host, and the domains of vaults and Managed HSMs. */
export const azureClouds = [
  { login: "login.microsoftonline.com", domains: ["vault.azure.net", "managedhsm.azure.net"] },
  { login: "login.chinacloudapi.cn", domains: ["vault.azure.cn", "managedhsm.azure.cn"] },
  { login: "login.microsoftonline.us", domains: ["vault.usgovcloudapi.net", "managedhsm.usgovcloudapi.net"] }
] as const

const azureDomains = azureClouds.flatMap((cloud) => cloud.domains)

/** A name of 3 to 24 characters below a domain of Azure, without port, path and credentials. */
const vaultUrl = new RegExp(
  `^https://[A-Za-z][A-Za-z0-9-]{2,23}\\.(${azureDomains.map((domain) => domain.replaceAll(".", "\\.")).join("|")})/?$`,
  "u"
)

const VaultUrl = Schema.String.check(
  Schema.isPattern(vaultUrl, { expected: `https://NAME. and one of ${azureDomains.join(", ")}` })
)

const AzureKeyName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9-]{1,127}$/u, { expected: "1 to 127 letters, digits and dashes" })
)

const AzureKeyVersion = Schema.String.check(
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

const azureVault = field(
  VaultUrl,
  "URL of the vault or Managed HSM. It determines the login host.",
  "https://relayers.vault.azure.net"
)
const azureKeyName = field(AzureKeyName, "Name of the key.", "hot-1")
const azureKeyVersion = {
  description: "Version of the key. If absent, the signer keeps the version that is current when it is created.",
  examples: ["9885aa558e8d448789683188f8c194b0"]
}

/** The secrets of a login. Managed identities have none. */
export const AzureCredentials = Schema.Struct({
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
export type AzureCredentials = typeof AzureCredentials.Type

export const requestedAzureKeyVault = {
  auth_type: maybe(AuthType, authType),
  tenant_id: maybe(TenantId, tenantId),
  client_id: maybe(ClientId, clientId),
  ...AzureCredentials.fields,
  vault_url: azureVault,
  key_name: azureKeyName,
  key_version: maybe(AzureKeyVersion, azureKeyVersion)
}

/** The fields that are not secret. */
export const shownAzureKeyVault = {
  auth_type: field(AuthType, authType.description, "client_secret"),
  tenant_id: Schema.optionalKey(TenantId.annotateKey(tenantId)),
  client_id: Schema.optionalKey(ClientId.annotateKey(clientId)),
  vault_url: azureVault,
  key_name: azureKeyName,
  key_version: Schema.optionalKey(AzureKeyVersion.annotateKey(azureKeyVersion))
}

/** What Azure reports about the key when the signer is created. */
export const resolvedAzureKeyVault = {
  kid: field(
    Schema.String,
    added("The identifier of the version that signs."),
    "https://relayers.vault.azure.net/keys/hot-1/9885aa558e8d448789683188f8c194b0"
  )
}

// Where a key is in Google Cloud KMS, and the service account that the service logs in as.

const googleText = (pattern: RegExp, expected: string) => Schema.String.check(Schema.isPattern(pattern, { expected }))

/** No part of a resource name has a slash, so a part cannot name another resource. */
const GooglePart = googleText(/^[A-Za-z0-9_-]{1,63}$/u, "1 to 63 letters, digits, dashes and underscores")

/** Ids of old projects start with a domain and a colon. */
const ProjectId = googleText(
  /^([a-z0-9.-]{1,63}:)?[a-z0-9-]{1,63}$/u,
  "a project id: lower-case letters, digits and dashes"
)

const maxVersion = 4_294_967_295

const GoogleKeyVersion = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: maxVersion }, { expected: `an integer from 1 to ${maxVersion}` })
)

const googleKey = {
  location: field(GooglePart, "Location of the key ring.", "europe-west3"),
  key_ring_id: field(GooglePart, "Name of the key ring.", "relayers"),
  key_id: field(GooglePart, "Name of the key.", "hot-1"),
  key_version: field(GoogleKeyVersion, "Version of the key.", 1)
}

const keyProject = {
  description: added("Project of the key. If absent, the project of the service account; without one it is required."),
  examples: ["my-project"]
}

const neverCalled = "The service stores this URL and never calls it."

/** The fields of a service account key file that responses show. */
const googleAccount = {
  project_id: field(ProjectId, "Project of the service account.", "my-project"),
  client_id: field(text(1, 256), "Unique id of the service account.", "103249887654321098765"),
  auth_uri: field(ShownUrl, neverCalled, "https://accounts.google.com/o/oauth2/auth"),
  token_uri: field(ShownUrl, neverCalled, "https://oauth2.googleapis.com/token"),
  auth_provider_x509_cert_url: field(ShownUrl, neverCalled, "https://www.googleapis.com/oauth2/v1/certs"),
  client_x509_cert_url: field(ShownUrl, neverCalled, "https://www.googleapis.com/robot/v1/metadata/x509/relayer"),
  universe_domain: field(
    Schema.Literals(["googleapis.com"]),
    "The universe of the service account, which has one value.",
    "googleapis.com"
  )
}

/** The fields of a service account key file that log in. */
export const GoogleCredentials = Schema.Struct({
  private_key: field(
    Schema.RedactedFromValue(text(1, 8192)),
    "RSA private key in PEM.",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq...\n-----END PRIVATE KEY-----\n"
  ),
  private_key_id: field(
    Schema.RedactedFromValue(text(1, 256)),
    "Id of the private key.",
    "8f3d2c1b0a998877665544332211ffeeddccbbaa"
  ),
  client_email: field(
    Schema.RedactedFromValue(text(1, 320)),
    "Name of the service account.",
    "relayer@my-project.iam.gserviceaccount.com"
  )
})
export type GoogleCredentials = typeof GoogleCredentials.Type

export const requestedGoogleCloudKms = {
  service_account: maybe(Schema.Struct({ ...googleAccount, ...GoogleCredentials.fields }), {
    description:
      "The service account, with the fields of its key file. If absent, the service logs in as its environment provides " +
      "(Application Default Credentials), for which the package google-auth-library must be installed."
  }),
  key: field(Schema.Struct({ ...googleKey, project_id: maybe(ProjectId, keyProject) }), "The version of the key.")
}

/** The fields that are not secret. */
export const shownGoogleCloudKms = {
  service_account: Schema.optionalKey(
    field(
      Schema.Struct(googleAccount),
      "The service account without its secrets. Absent if the service uses the login of its environment."
    )
  ),
  key: field(
    Schema.Struct({ ...googleKey, project_id: Schema.optionalKey(ProjectId.annotateKey(keyProject)) }),
    "The version of the key."
  )
}

/** What Google reports about the key when the signer is created. */
export const resolvedGoogleCloudKms = {
  key_version_name: field(
    Schema.String,
    added("The full name of the version that signs."),
    "projects/my-project/locations/europe-west3/keyRings/relayers/cryptoKeys/hot-1/cryptoKeyVersions/1"
  ),
  algorithm: field(Schema.String, added("Algorithm of the key."), "EC_SIGN_SECP256K1_SHA256"),
  protection_level: field(Schema.String, added("Where Google keeps the key."), "HSM")
}

// Where a key is in a token of PKCS#11: a hardware security module, or a program that emulates one.

/** A name, never a path, because the code of a library runs in the service. */
const Pkcs11Module = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,31}$/u, { expected: "a name of PKCS11_MODULES" })
)

const Pkcs11KeyId = Schema.String.check(
  Schema.isPattern(/^([0-9a-f]{2}){1,64}$/u, { expected: "1 to 64 bytes as hex digits in lower case" })
)

const pkcs11Module = "Name of the module, as PKCS11_MODULES of the service defines it."
const tokenLabel = "Label of the token."
const tokenSerial = "Serial number of the token."
const keyLabel = "Label (CKA_LABEL) of the private key."
const pkcs11KeyId = "Id (CKA_ID) of the key in hex."

const pkcs11Key = {
  module: field(Pkcs11Module, pkcs11Module, "hsm"),
  token_label: field(text(1, 32), tokenLabel, "relayer"),
  token_serial: maybe(text(1, 16), {
    description: `${tokenSerial} It is needed if several tokens have this label.`,
    examples: ["bddb53699fe07764"]
  }),
  key_label: maybe(text(1, 255), {
    description: `${keyLabel} \`key_label\` or \`key_id\` is required; together they have to name exactly one key.`,
    examples: ["hot-1"]
  }),
  key_id: maybe(Pkcs11KeyId, { description: pkcs11KeyId, examples: ["01"] })
}

export const requestedPkcs11 = {
  ...pkcs11Key,
  pin: field(Schema.RedactedFromValue(text(1, 255)), "PIN of the user of the token.", "1234")
}

/** Without a label and an id, the request names no key. */
export const namesPkcs11Key = Schema.makeFilter(
  ({ key_id, key_label }: Partial<Record<"key_id" | "key_label", string>>) =>
    key_id === undefined && key_label === undefined
      ? { path: ["key_label"], issue: "is required if key_id is absent" }
      : undefined
)

const Pkcs11Name = Shown.shaped(/^[a-z]{1,12}(-[0-9])?$/)

/** The fields that are not secret. */
export const shownPkcs11 = {
  module: field(Pkcs11Name, pkcs11Module, "hsm"),
  token_label: field(Pkcs11Name, tokenLabel, "relayer"),
  token_serial: field(Shown.hex(16), tokenSerial, "bddb53699fe07764"),
  key_label: Schema.optionalKey(field(Pkcs11Name, keyLabel, "hot-1")),
  key_id: Schema.optionalKey(field(Shown.hex(2), pkcs11KeyId, "01"))
}

// Where a key is in Turnkey, and the API key that the service signs requests with.

const ApiPublicKey = Schema.String.check(
  Schema.isPattern(/^0[23][0-9a-fA-F]{64}$/u, { expected: "a compressed P-256 public key: 66 hex digits" })
)

const ApiPrivateKey = Schema.RedactedFromValue(
  Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/u, { expected: "a P-256 private key: 64 hex digits" }))
)

const OrganizationId = Schema.String.check(
  Schema.isPattern(/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/u, { expected: "a UUID" })
)

const TurnkeyPublicKey = Schema.String.check(
  Schema.isPattern(/^(0x)?(04[0-9a-fA-F]{128}|0[23][0-9a-fA-F]{64}|[0-9a-fA-F]{64})$/u, {
    expected: "a secp256k1 key of 65 or 33 bytes or an ed25519 key of 32 bytes, in hex"
  })
)

/** The private half of the API key. */
export const TurnkeyCredentials = Schema.Struct({
  api_private_key: field(
    ApiPrivateKey,
    "Private key of the API key, in hex.",
    "487f361ddfd73440e707f4daa6775b376859e8a3c9f29b3bb694a12927c0213c"
  )
})
export type TurnkeyCredentials = typeof TurnkeyCredentials.Type

/** The fields that are not secret. */
export const shownTurnkey = {
  api_public_key: field(
    ApiPublicKey,
    "Public key of the API key, in hex.",
    "02f739f8c77b32f4d5f13265861febd76e7a9c61a1140d296b8c16302508870316"
  ),
  organization_id: field(OrganizationId, "The organization.", "2a1f3c7e-1111-4222-8333-444455556666"),
  private_key_id: field(
    text(1, 256),
    "Id of the private key, or the address of a wallet account.",
    "6b8b4d1e-5555-4666-8777-888899990000"
  ),
  public_key: field(
    TurnkeyPublicKey,
    "Public key in hex: 65 or 33 bytes on secp256k1, 32 bytes on ed25519. A probe checks it.",
    "04c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee51ae168fea63dc339a3c58419466ceaeef7f632653266d0e1236431a950cfe52a"
  )
}

export const requestedTurnkey = { ...shownTurnkey, ...TurnkeyCredentials.fields }

// Where a key is in HashiCorp Vault, and how the service logs in.

const vaultPath = (pattern: RegExp, expected: string) =>
  Schema.String.check(Schema.isMaxLength(256), Schema.isPattern(pattern, { expected }))

/** No part is empty or starts with a dot, so a path cannot leave its mount point. */
export const VaultPath = vaultPath(
  /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/u,
  "a path of letters, digits, dashes, underscores and dots, no part of which is empty or starts with a dot"
)

/** A path with one part. */
export const VaultKeyName = vaultPath(
  /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/u,
  "a name of letters, digits, dashes, underscores and dots that does not start with a dot"
)

const VaultCredential = Schema.RedactedFromValue(text(1, 1024))

/** Credentials of an AppRole. */
export const VaultCredentials = Schema.Struct({
  role_id: field(VaultCredential, "Role id of an AppRole.", "59d6d1ca-47bb-4e7e-a40b-8be3bc5a0ba8"),
  secret_id: field(VaultCredential, "Secret id of the AppRole.", "84896a0c-1347-aa90-a4f6-aca8b7558780")
})
export type VaultCredentials = typeof VaultCredentials.Type

const vaultAddress = "URL of Vault. It may have a path if Vault is behind a proxy."

export const requestedVault = {
  address: field(ShownUrl, vaultAddress, "https://vault.example.com"),
  namespace: maybe(VaultPath, { description: "Namespace in Vault Enterprise.", examples: ["team-a"] }),
  ...VaultCredentials.fields
}

export const vaultMountPoint = (usual: string) =>
  field(
    VaultPath.pipe(Schema.withDecodingDefaultKey(Effect.succeed(usual))),
    `Mount point of the engine. The default is ${usual}.`,
    usual
  )

/** The fields that are not secret. */
export const shownVault = {
  address: field(Shown.Url, vaultAddress, "https://vault.example.com"),
  namespace: Schema.optionalKey(field(Shown.Path, "Namespace in Vault Enterprise.", "team-a")),
  key_name: field(Shown.Path, "Name or path of the key.", "hot-1"),
  mount_point: field(Shown.Path, "Mount point of the engine.", "secret")
}

export const vaultPubkey = "The ed25519 public key: 32 bytes as base64."

export const exampleVaultPubkey = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

/** 32 bytes as base64. The last digit before the padding holds four bits. */
export const VaultPubkey = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/u, { expected: "an ed25519 public key: 32 bytes as base64" })
)
