// Signers: private keys, or references to them. No response contains a private key.
import { Schema } from "effect"
import type { NetworkType } from "../network/Network.ts"
import { added, field } from "../request/Field.ts"
import { EvmAddress, SolanaAddress, StellarAddress } from "../chain/Amount.ts"
import * as Shown from "../request/Shown.ts"
import { Instant, resourceId } from "../request/Shown.ts"
import {
  exampleVaultPubkey,
  resolvedAzureKeyVault,
  resolvedGoogleCloudKms,
  shownAwsKms,
  shownAzureKeyVault,
  shownGoogleCloudKms,
  shownPkcs11,
  shownTurnkey,
  shownVault,
  vaultPubkey
} from "./KeyServices.ts"

// The id and the type of a signer.

export const SignerId = resourceId
  .annotate({ description: "Identifier of the signer.", examples: ["hot-1"] })
  .pipe(Schema.brand("SignerId"))
export type SignerId = typeof SignerId.Type

export const typeTag = <const T extends string>(type: T) => field(Schema.tag(type), "Where the key is stored.", type)

// The curves of keys and signatures.

export const Curve = Schema.Literals(["secp256k1", "ed25519"]).annotate({
  identifier: "Curve",
  description: "Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar.",
  examples: ["secp256k1"]
})
export type Curve = typeof Curve.Type

/** The curve of the signatures of each network type. */
export const curveOf = {
  evm: "secp256k1",
  solana: "ed25519",
  stellar: "ed25519"
} as const satisfies Record<NetworkType, Curve>

const networkTypes = ["evm", "solana", "stellar"] as const satisfies ReadonlyArray<NetworkType>

/** The network types that a key on these curves can serve. */
export const networkTypesOn = (curves: ReadonlyArray<Curve>): ReadonlyArray<NetworkType> =>
  networkTypes.filter((networkType) => curves.includes(curveOf[networkType]))

/** secp256k1: an uncompressed point of 65 bytes, without the prefix 0x. ed25519: 32 bytes. */
const PublicKey = field(
  Schema.String.check(
    Schema.isPattern(/^(04[0-9a-f]{128}|[0-9a-f]{64})$/u, { expected: "a public key of 65 or 32 bytes, in hex" })
  ),
  added("The public key in hex: the uncompressed point of 65 bytes for secp256k1, 32 bytes for ed25519."),
  "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
)

// The addresses of a key: one for each network type that its curves serve.

const evm = field(EvmAddress, "Hex in lower case.", "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23")
const solana = field(SolanaAddress, "Base58.", "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV")
const stellar = field(StellarAddress, "StrKey.", "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ")

/** Addresses of a key that signs on both curves. */
export const SignerAddresses = Schema.Struct({ evm, solana, stellar }).annotate({
  identifier: "SignerAddresses",
  description: "The address of the key on each network type."
})
export type SignerAddresses = typeof SignerAddresses.Type

const Secp256k1Addresses = Schema.Struct({ evm }).annotate({
  identifier: "Secp256k1SignerAddresses",
  description: "The address of the key on each network type of its curve."
})

const Ed25519Addresses = Schema.Struct({ solana, stellar }).annotate({
  identifier: "Ed25519SignerAddresses",
  description: "The address of the key on each network type of its curve."
})

/** Addresses of a key whose curve is known when the signer is created. */
const AddressesOfCurve = Schema.Union([Secp256k1Addresses, Ed25519Addresses]).annotate({
  identifier: "SignerAddressesOfCurve",
  description: "The addresses of the key on the network types of its curve."
})

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

/** Whose key the service knows while it signs: it is a key of either curve. */
const onBothCurves = <const T extends string, C extends Schema.Top>(identifier: string, type: T, config: C) =>
  Schema.Struct({
    id: SignerId,
    type: typeTag(type),
    config,
    addresses: SignerAddresses,
    managed_by: Shown.managedBy
  }).annotate({ identifier })

/** Whose key stays in a key service. The service reads the key and its curve when the signer is created. */
const remote = <const T extends string, C extends Schema.Top>(identifier: string, type: T, config: C) =>
  Schema.Struct({
    id: SignerId,
    type: typeTag(type),
    config,
    curve: Curve,
    public_key: PublicKey,
    addresses: AddressesOfCurve,
    disabled_reason: Schema.optionalKey(SignerDisabledReason),
    managed_by: Shown.managedBy
  }).annotate({ identifier })

/** `config` contains the parts of the configuration that are not secret. */
export const Signer = Schema.Union([
  onBothCurves("PlainSigner", "plain", noConfig),
  onBothCurves("LocalSigner", "local", noConfig),
  onBothCurves("VaultSigner", "vault", field(Schema.Struct(shownVault), withoutSecrets)),
  Schema.Struct({
    id: SignerId,
    type: typeTag("vault_transit"),
    config: field(
      Schema.Struct({ ...shownVault, pubkey: field(Schema.String, vaultPubkey, exampleVaultPubkey) }),
      withoutSecrets
    ),
    addresses: Ed25519Addresses,
    managed_by: Shown.managedBy
  }).annotate({ identifier: "VaultTransitSigner" }),
  remote("Pkcs11Signer", "pkcs11", field(Schema.Struct(shownPkcs11), withoutSecrets)),
  remote("AwsKmsSigner", "aws_kms", field(Schema.Struct(shownAwsKms), "Where the key is in AWS KMS.")),
  remote(
    "GoogleCloudKmsSigner",
    "google_cloud_kms",
    field(Schema.Struct({ ...shownGoogleCloudKms, ...resolvedGoogleCloudKms }), withoutSecrets)
  ),
  remote(
    "AzureKeyVaultSigner",
    "azure_key_vault",
    field(Schema.Struct({ ...shownAzureKeyVault, ...resolvedAzureKeyVault }), withoutSecrets)
  ),
  remote("TurnkeySigner", "turnkey", field(Schema.Struct(shownTurnkey), withoutSecrets))
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

// The result of the verification of a signer, step by step.

export const VerificationStep = Schema.Struct({
  curve: Curve,
  step: field(
    Schema.Literals(["key_state", "public_key", "sign", "verify"]),
    "What was tested. `key_state` is tested if the key stays in Vault or in a key service.",
    "sign"
  ),
  status: field(
    Schema.Literals(["ok", "warning", "failed", "skipped"]),
    "`warning`: the step succeeded, but `message` needs attention. `skipped`: an earlier step of the curve has failed.",
    "ok"
  ),
  message: Schema.optionalKey(
    field(
      Shown.Words,
      "Why the step has failed, what the warning is, or the state of the key.",
      "Vault does not answer"
    )
  )
}).annotate({ identifier: "SignerVerificationStep", description: "One step of a verification." })
export type VerificationStep = typeof VerificationStep.Type

/** Whether the key can be reached, matches the public key, and signs. */
export const Verification = Schema.Struct({
  id: SignerId,
  verified: field(Schema.Boolean, "Whether no step has failed.", true),
  steps: field(Schema.Array(VerificationStep), "The steps in order, for each curve.")
}).annotate({ identifier: "SignerVerification", description: "The result of a verification." })
export type Verification = typeof Verification.Type
