// Requests to create signers. Their secrets are redacted.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { decisive } from "../request/Change.ts"
import { added, field, judged } from "../request/Field.ts"
import { maybe, text } from "../request/Shown.ts"
import {
  exampleVaultPubkey,
  namesPkcs11Key,
  requestedAwsKms,
  requestedAzureKeyVault,
  requestedGoogleCloudKms,
  requestedPkcs11,
  requestedTurnkey,
  requestedVault,
  VaultKeyName,
  vaultMountPoint,
  VaultPath,
  VaultPubkey,
  vaultPubkey
} from "./KeyServices.ts"
import { SignerId, typeTag } from "./Signer.ts"
import type { SignerType } from "./Signer.ts"

/** Order of secp256k1 (SEC 2, section 2.4.1). A key that is not below it has no evm address. */
const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const hexKey = /^(0x)?[0-9a-fA-F]{64}$/u

/** A 32-byte private key: secp256k1 secret for evm, ed25519 seed for solana and stellar. */
export const PrivateKey = Schema.RedactedFromValue(
  Schema.String.check(
    Schema.isPattern(hexKey, {
      expected:
        "32 bytes as 64 hex digits (docs/signers.md says how to convert a base58 key of solana and an S… key of stellar)"
    }),
    Schema.makeFilter(
      (key: string) => {
        if (!hexKey.test(key)) return true
        const value = BigInt(`0x${key.replace(/^0x/, "")}`)
        return value > 0n && value < curveOrder
      },
      { expected: "a key above zero and below the order of secp256k1", toJsonSchema: () => [{}, true] }
    )
  )
)

const keystore = "a keystore: a JSON object, or the text of one"

/** Web3 Secret Storage version 3, as text. Keystores are far smaller than 16 kB. */
const Keystore = Schema.RedactedFromValue(
  Schema.Union([Schema.String, Schema.Record(Schema.String, Schema.Unknown)])
    .annotate({ message: `Expected ${keystore}` })
    .pipe(
      Schema.decodeTo(
        text(2, 16_384),
        SchemaTransformation.transformEffect({
          decode: (input: string | { readonly [key: string]: unknown }, options) =>
            typeof input === "string"
              ? Effect.succeed(input)
              : Effect.try({
                  try: () => JSON.stringify(input),
                  catch: () => new SchemaIssue.InvalidValue({ expected: keystore }, input, options)
                }),
          encode: (json: string): Effect.Effect<string | { readonly [key: string]: unknown }> => Effect.succeed(json)
        })
      )
    )
)

const id = maybe(SignerId.schema, { description: "Identifier of the signer. If absent, the service generates a UUID." })

/** Configurations of the types whose key is elsewhere, with the login that the service has there. */
const logins = {
  vault: field(
    Schema.Struct({
      ...requestedVault,
      key_name: field(VaultPath, "Path of the secret in the key-value store.", "relayer/hot-1"),
      mount_point: vaultMountPoint("secret")
    }),
    "Where the key is in Vault, and the credentials to read it."
  ),
  vault_transit: field(
    Schema.Struct({
      ...requestedVault,
      key_name: field(VaultKeyName, "Name of the key in the transit engine.", "hot-1"),
      mount_point: vaultMountPoint("transit"),
      pubkey: field(VaultPubkey, vaultPubkey, exampleVaultPubkey)
    }),
    "Where the key is in Vault, and the credentials to use it."
  ),
  pkcs11: field(
    Schema.Struct(requestedPkcs11).check(namesPkcs11Key),
    added("Where the key is in a token of PKCS#11, and the PIN to use it.")
  ),
  google_cloud_kms: field(
    Schema.Struct(requestedGoogleCloudKms),
    "Where the key is in Google Cloud KMS, and the credentials to use it."
  ),
  azure_key_vault: field(
    Schema.Struct(requestedAzureKeyVault),
    "Where the key is in Azure Key Vault or Managed HSM, and how the service logs in."
  ),
  turnkey: field(Schema.Struct(requestedTurnkey), "Where the key is in Turnkey, and the API key that uses it.")
}

const create = <const T extends SignerType, C extends Schema.Top>(identifier: string, type: T, config: C) =>
  Schema.Struct({ id, type: typeTag(type), config }).annotate({ identifier })

export const CreateSigner = Schema.Union([
  create(
    "CreatePlainSignerRequest",
    "plain",
    maybe(
      Schema.Struct({
        key: maybe(PrivateKey, {
          description: "32 bytes as hex. If absent, the service generates a key that nobody can read.",
          examples: ["0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"]
        })
      }),
      { description: "The key." }
    )
  ),
  create(
    "CreateLocalSignerRequest",
    "local",
    field(
      Schema.Struct({
        keystore: field(Keystore, "A keystore (Web3 Secret Storage version 3): an object, or its text.", {
          version: 3,
          crypto: {}
        }),
        passphrase: judged(
          field(
            Schema.RedactedFromValue(text(0, 1024)),
            "Passphrase of the keystore. It is used as UTF-8, without normalization.",
            "correct horse battery staple"
          ),
          decisive
        )
      }),
      "The keystore and its passphrase."
    )
  ),
  create("CreateVaultSignerRequest", "vault", logins.vault),
  create("CreateVaultTransitSignerRequest", "vault_transit", logins.vault_transit),
  create("CreatePkcs11SignerRequest", "pkcs11", logins.pkcs11),
  create(
    "CreateAwsKmsSignerRequest",
    "aws_kms",
    field(Schema.Struct(requestedAwsKms), "Where the key is in AWS KMS. The service logs in as itself.")
  ),
  create("CreateGoogleCloudKmsSignerRequest", "google_cloud_kms", logins.google_cloud_kms),
  create("CreateAzureKeyVaultSignerRequest", "azure_key_vault", logins.azure_key_vault),
  create("CreateTurnkeySignerRequest", "turnkey", logins.turnkey)
]).annotate({
  identifier: "CreateSignerRequest",
  description: "A signer to create."
})
export type CreateSigner = typeof CreateSigner.Type

const replace = <const T extends keyof typeof logins>(identifier: string, type: T) =>
  Schema.Struct({ type: typeTag(type), config: logins[type] }).annotate({ identifier })

/** The configuration of a signer with another login. `aws_kms` has none: the service logs in as itself. */
export const ReplaceSignerCredentials = Schema.Union([
  replace("ReplaceVaultCredentialsRequest", "vault"),
  replace("ReplaceVaultTransitCredentialsRequest", "vault_transit"),
  replace("ReplacePkcs11CredentialsRequest", "pkcs11"),
  replace("ReplaceGoogleCloudKmsCredentialsRequest", "google_cloud_kms"),
  replace("ReplaceAzureKeyVaultCredentialsRequest", "azure_key_vault"),
  replace("ReplaceTurnkeyCredentialsRequest", "turnkey")
]).annotate({
  identifier: "ReplaceSignerCredentialsRequest",
  description: "The type and the configuration of a signer, with the login that it is to use from now on."
})
export type ReplaceSignerCredentials = typeof ReplaceSignerCredentials.Type
