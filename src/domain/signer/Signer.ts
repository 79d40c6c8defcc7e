// Signers: private keys, or references to them. No response contains a private key.
import { Schema } from "effect"
import type { NetworkType } from "../network/NetworkId.ts"
import { field } from "../request/Field.ts"
import { Instant } from "../request/Instant.ts"
import * as Shown from "../request/Shown.ts"
import * as AwsKms from "./AwsKms.ts"
import * as AzureKeyVault from "./AzureKeyVault.ts"
import { Curve, PublicKey, curveOf } from "./Curve.ts"
import * as GoogleCloudKms from "./GoogleCloudKms.ts"
import * as Pkcs11 from "./Pkcs11.ts"
import { AddressesOfCurve, Ed25519Addresses, SignerAddresses } from "./SignerAddresses.ts"
import { SignerId, typeTag } from "./SignerId.ts"
import * as Turnkey from "./Turnkey.ts"
import * as Vault from "./Vault.ts"

/** Why the service no longer signs with the key. */
export const SignerDisabledReason = Schema.Struct({
  code: field(
    Schema.Literals(["key_mismatch"]),
    "`key_mismatch`: the key service has a key, or signed with a key, that does not match `public_key`.",
    "key_mismatch"
  ),
  message: field(
    Shown.Words,
    "What the service detected.",
    "the key with this `public_key` did not make the signature"
  ),
  at: field(Instant, "When the service detected it.", "2026-01-02T03:04:05.678Z")
}).annotate({
  identifier: "SignerDisabledReason",
  description: "Why the service no longer signs with the key. A successful verification enables the signer again."
})
export type SignerDisabledReason = typeof SignerDisabledReason.Type

const noConfig = field(Schema.Record(Schema.String, Schema.Never), "Empty: all of the configuration is secret.", {})

const withoutSecrets = "The configuration without its secrets."

/** Fields of signers whose key stays in a key service. The service reads the key and its curve when the signer is created. */
const remote = {
  curve: Curve,
  public_key: PublicKey,
  addresses: AddressesOfCurve,
  disabled_reason: Schema.optionalKey(SignerDisabledReason),
  managed_by: Shown.managedBy
}

/** `config` contains the parts of the configuration that are not secret. */
export const Signer = Schema.Union([
  Schema.Struct({
    id: SignerId,
    type: typeTag("plain"),
    config: noConfig,
    addresses: SignerAddresses,
    managed_by: Shown.managedBy
  }).annotate({ identifier: "PlainSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("local"),
    config: noConfig,
    addresses: SignerAddresses,
    managed_by: Shown.managedBy
  }).annotate({ identifier: "LocalSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("vault"),
    config: field(Schema.Struct(Vault.shown), withoutSecrets),
    addresses: SignerAddresses,
    managed_by: Shown.managedBy
  }).annotate({ identifier: "VaultSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("vault_transit"),
    config: field(
      Schema.Struct({ ...Vault.shown, pubkey: field(Schema.String, Vault.pubkey, Vault.examplePubkey) }),
      withoutSecrets
    ),
    addresses: Ed25519Addresses,
    managed_by: Shown.managedBy
  }).annotate({ identifier: "VaultTransitSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("pkcs11"),
    config: field(Schema.Struct(Pkcs11.shown), withoutSecrets),
    ...remote
  }).annotate({ identifier: "Pkcs11Signer" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("aws_kms"),
    config: field(Schema.Struct(AwsKms.shown), "Where the key is in AWS KMS."),
    ...remote
  }).annotate({ identifier: "AwsKmsSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("google_cloud_kms"),
    config: field(Schema.Struct({ ...GoogleCloudKms.shown, ...GoogleCloudKms.resolved }), withoutSecrets),
    ...remote
  }).annotate({ identifier: "GoogleCloudKmsSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("azure_key_vault"),
    config: field(Schema.Struct({ ...AzureKeyVault.shown, ...AzureKeyVault.resolved }), withoutSecrets),
    ...remote
  }).annotate({ identifier: "AzureKeyVaultSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("turnkey"),
    config: field(Schema.Struct(Turnkey.shown), withoutSecrets),
    ...remote
  }).annotate({ identifier: "TurnkeySigner" })
]).annotate({ identifier: "Signer", description: "A private key, or a reference to one, that relayers sign with." })
export type Signer = typeof Signer.Type
export type SignerType = Signer["type"]

/** A signer whose key stays in a key service. */
export type RemoteSigner = Extract<Signer, { readonly public_key: string }>

export const isRemote = (signer: Signer): signer is RemoteSigner => "public_key" in signer

/** The curves of the keys that signers of a type can have. A key that stays in a key service is on one of them, other keys are on all. */
const curvesOf = {
  plain: ["secp256k1", "ed25519"],
  local: ["secp256k1", "ed25519"],
  vault: ["secp256k1", "ed25519"],
  vault_transit: ["ed25519"],
  pkcs11: ["secp256k1", "ed25519"],
  aws_kms: ["secp256k1", "ed25519"],
  google_cloud_kms: ["secp256k1", "ed25519"],
  azure_key_vault: ["secp256k1"],
  turnkey: ["secp256k1", "ed25519"]
} as const satisfies Record<SignerType, ReadonlyArray<Curve>>

export const signerTypesFor = (networkType: NetworkType): ReadonlyArray<SignerType> =>
  Object.entries(curvesOf).flatMap(([type, curves]: [string, ReadonlyArray<Curve>]) =>
    curves.includes(curveOf[networkType]) ? [type as SignerType] : []
  )

export class SignerNotFound extends Schema.TaggedError<SignerNotFound>()("SignerNotFound", {}) {
  override readonly message = "no signer has this id"
}

export class SignerIdTaken extends Schema.TaggedError<SignerIdTaken>()("SignerIdTaken", {}) {
  override readonly message = "a signer has this id already; choose another id"
}

/** Another signer has the same public key. Two signers with one key would use the same nonces twice. */
export class SignerKeyTaken extends Schema.TaggedError<SignerKeyTaken>()("SignerKeyTaken", {}) {
  override readonly message = "another signer has this key already; use that signer"
}

/** Relayers use the signer; `error` names them. */
export class SignerInUse extends Schema.TaggedError<SignerInUse>()("SignerInUse", { error: Shown.Words }) {
  override readonly message = this.error
}
