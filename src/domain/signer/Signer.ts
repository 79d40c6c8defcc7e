// Signers: private keys, or references to them. No response contains a private key.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import type { NetworkType } from "../network/Network.ts"
import { EvmAddress, SolanaAddress, StellarAddress } from "../chain/Address.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { maybe, resourceId, text } from "../request/Text.ts"
import * as Vault from "./Vault.ts"

export const SignerId = resourceId
  .annotate({ description: "Identifier of the signer.", examples: ["hot-1"] })
  .pipe(Schema.brand("SignerId"))
export type SignerId = typeof SignerId.Type

/** Order of secp256k1 (SEC 2, section 2.4.1). A key that is not below it has no evm address. */
const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const hexKey = /^(0x)?[0-9a-fA-F]{64}$/u

/** A 32-byte private key: secp256k1 secret for evm, ed25519 seed for solana and stellar. */
export const PrivateKey = Schema.RedactedFromValue(
  Schema.String.check(
    Schema.isPattern(hexKey, { expected: "32 bytes as 64 hex digits" }),
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

/** The curve of the signatures of each network type. */
export const curveOf = {
  evm: "secp256k1",
  solana: "ed25519",
  stellar: "ed25519"
} as const satisfies Record<NetworkType, string>

export const Curve = Schema.Literals(["secp256k1", "ed25519"]).annotate({
  identifier: "Curve",
  description: "Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar.",
  examples: ["secp256k1"]
})
export type Curve = typeof Curve.Type

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

const pubkey = "The ed25519 public key: 32 bytes as base64."

const examplePubkey = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

/** 32 bytes as base64. The last digit before the padding holds four bits. */
const Ed25519PublicKey = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/u, { expected: "an ed25519 public key: 32 bytes as base64" })
)

const id = maybe(SignerId.schema, { description: "Identifier of the signer. If absent, the service generates a UUID." })

const typeTag = <const T extends string>(type: T) => field(Schema.tag(type), "Where the key is stored.", type)

export const CreateSigner = Schema.Union([
  Schema.Struct({
    id,
    type: typeTag("plain"),
    config: maybe(
      Schema.Struct({
        key: maybe(PrivateKey, {
          description: "32 bytes as hex. If absent, the service generates a key that nobody can read.",
          examples: ["0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"]
        })
      }),
      { description: "The key." }
    )
  }).annotate({ identifier: "CreatePlainSignerRequest" }),
  Schema.Struct({
    id,
    type: typeTag("local"),
    config: field(
      Schema.Struct({
        keystore: field(Keystore, "A keystore (Web3 Secret Storage version 3): an object, or its text.", {
          version: 3,
          crypto: {}
        }),
        passphrase: field(
          Schema.RedactedFromValue(text(0, 1024)),
          "Passphrase of the keystore. It is used as UTF-8, without normalization.",
          "correct horse battery staple"
        )
      }),
      "The keystore and its passphrase."
    )
  }).annotate({ identifier: "CreateLocalSignerRequest" }),
  Schema.Struct({
    id,
    type: typeTag("vault"),
    config: field(
      Schema.Struct({
        ...Vault.requested,
        key_name: field(Vault.Path, "Path of the secret in the key-value store.", "relayer/hot-1"),
        mount_point: Vault.mountPoint("secret")
      }),
      "Where the key is in Vault, and the credentials to read it."
    )
  }).annotate({ identifier: "CreateVaultSignerRequest" }),
  Schema.Struct({
    id,
    type: typeTag("vault_transit"),
    config: field(
      Schema.Struct({
        ...Vault.requested,
        key_name: field(Vault.Name, "Name of the key in the transit engine.", "hot-1"),
        mount_point: Vault.mountPoint("transit"),
        pubkey: field(Ed25519PublicKey, pubkey, examplePubkey)
      }),
      "Where the key is in Vault, and the credentials to use it."
    )
  }).annotate({ identifier: "CreateVaultTransitSignerRequest" })
]).annotate({
  identifier: "CreateSignerRequest",
  message: "type must be plain, local, vault or vault_transit",
  description: "A signer to create."
})
export type CreateSigner = typeof CreateSigner.Type

const solanaAddress = field(SolanaAddress, "Base58.", "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV")
const stellarAddress = field(StellarAddress, "StrKey.", "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ")

/** The address of the key per network type. */
export const SignerAddresses = Schema.Struct({
  evm: field(EvmAddress, "Hex in lower case.", "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23"),
  solana: solanaAddress,
  stellar: stellarAddress
}).annotate({ identifier: "SignerAddresses", description: "The address of the key on each network type." })
export type SignerAddresses = typeof SignerAddresses.Type

const Ed25519Addresses = Schema.Struct({ solana: solanaAddress, stellar: stellarAddress }).annotate({
  identifier: "Ed25519SignerAddresses",
  description: "The address of the key on each network type of its curve."
})

const noConfig = field(Schema.Record(Schema.String, Schema.Never), "Empty: all of the configuration is secret.", {})

/** `config` contains the parts of the configuration that are not secret. */
export const Signer = Schema.Union([
  Schema.Struct({
    id: SignerId,
    type: typeTag("plain"),
    config: noConfig,
    addresses: SignerAddresses
  }).annotate({ identifier: "PlainSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("local"),
    config: noConfig,
    addresses: SignerAddresses
  }).annotate({ identifier: "LocalSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("vault"),
    config: field(Schema.Struct(Vault.shown), "The configuration without its secrets."),
    addresses: SignerAddresses
  }).annotate({ identifier: "VaultSigner" }),
  Schema.Struct({
    id: SignerId,
    type: typeTag("vault_transit"),
    config: field(
      Schema.Struct({ ...Vault.shown, pubkey: field(Schema.String, pubkey, examplePubkey) }),
      "The configuration without its secrets."
    ),
    addresses: Ed25519Addresses
  }).annotate({ identifier: "VaultTransitSigner" })
]).annotate({ identifier: "Signer", description: "A private key, or a reference to one, that relayers sign with." })
export type Signer = typeof Signer.Type
export type SignerType = Signer["type"]

/** The network types that a signer has an address on, and so can serve. */
export const networkTypesOf = {
  plain: ["evm", "solana", "stellar"],
  local: ["evm", "solana", "stellar"],
  vault: ["evm", "solana", "stellar"],
  vault_transit: ["solana", "stellar"]
} as const satisfies {
  readonly [T in SignerType]: ReadonlyArray<NetworkType & keyof Extract<Signer, { type: T }>["addresses"]>
}

export const signerTypesFor = (networkType: NetworkType): ReadonlyArray<SignerType> =>
  Object.entries(networkTypesOf).flatMap(([type, networkTypes]: [string, ReadonlyArray<NetworkType>]) =>
    networkTypes.includes(networkType) ? [type as SignerType] : []
  )

export const VerificationStep = Schema.Struct({
  curve: Curve,
  step: field(Schema.Literals(["public_key", "sign", "verify"]), "What was tested.", "sign"),
  status: field(
    Schema.Literals(["ok", "failed", "skipped"]),
    "`skipped`: an earlier step of the curve has failed.",
    "ok"
  ),
  message: Schema.optionalKey(field(Shown.Words, "Why the step has failed.", "Vault does not answer"))
}).annotate({ identifier: "SignerVerificationStep", description: "One step of a verification." })
export type VerificationStep = typeof VerificationStep.Type

/** Whether the key can be reached, is the expected one, and signs. */
export const Verification = Schema.Struct({
  id: SignerId,
  verified: field(Schema.Boolean, "Whether every step succeeded.", true),
  steps: field(Schema.Array(VerificationStep), "The steps in order, for each curve.")
}).annotate({ identifier: "SignerVerification", description: "The result of a verification." })
export type Verification = typeof Verification.Type

export class SignerNotFound extends Schema.TaggedError<SignerNotFound>()("SignerNotFound", {}) {
  override readonly message = "no signer has this id"
}

export class SignerIdTaken extends Schema.TaggedError<SignerIdTaken>()("SignerIdTaken", {}) {
  override readonly message = "a signer has this id already; choose another id"
}

/** Relayers use the signer; `error` names them. */
export class SignerInUse extends Schema.TaggedError<SignerInUse>()("SignerInUse", { error: Shown.Words }) {
  override readonly message = this.error
}
