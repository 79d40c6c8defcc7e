// Signers hold the key of an account, or reach it. A key goes in, or is made inside, and never comes out.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import type { NetworkType } from "../network/Network.ts"
import { maybe, resourceId, text } from "../request/Text.ts"
import * as Vault from "./Vault.ts"

export const SignerId = resourceId.pipe(Schema.brand("SignerId"))
export type SignerId = typeof SignerId.Type

/** Order of secp256k1 (SEC 2, section 2.4.1): a key must lie below it, or it has no evm address. */
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
      { expected: "a key above zero and below the order of secp256k1" }
    )
  )
)

/** The curve of the signatures that a network type asks for. */
export const curveOf = {
  evm: "secp256k1",
  solana: "ed25519",
  stellar: "ed25519"
} as const satisfies Record<NetworkType, string>

export const Curve = Schema.Literals(["secp256k1", "ed25519"]).annotate({ identifier: "Curve" })
export type Curve = typeof Curve.Type

const keystore = "a keystore: a JSON object, or the text of one"

/** Web3 Secret Storage version 3, not read yet; 16 kB hold any of them. */
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

/** 32 bytes; the last digit but the padding holds four bits. */
const Ed25519PublicKey = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/u, { expected: "an ed25519 public key: 32 bytes as base64" })
)

/** Absent: a UUID. */
const id = maybe(SignerId)

export const CreateSigner = Schema.Union([
  Schema.Struct({
    id,
    type: Schema.tag("plain"),
    config: maybe(
      Schema.Struct({
        /** Absent: the service makes one, and nobody ever sees it. */
        key: maybe(PrivateKey)
      })
    )
  }).annotate({ identifier: "CreatePlainSignerRequest" }),
  Schema.Struct({
    id,
    type: Schema.tag("local"),
    config: Schema.Struct({
      keystore: Keystore,
      /** As UTF-8; it is not normalized. */
      passphrase: Schema.RedactedFromValue(text(0, 1024))
    })
  }).annotate({ identifier: "CreateLocalSignerRequest" }),
  Schema.Struct({
    id,
    type: Schema.tag("vault"),
    config: Schema.Struct({ ...Vault.requested, key_name: Vault.Path, mount_point: Vault.mountPoint("secret") })
  }).annotate({ identifier: "CreateVaultSignerRequest" }),
  Schema.Struct({
    id,
    type: Schema.tag("vault_transit"),
    config: Schema.Struct({
      ...Vault.requested,
      key_name: Vault.Name,
      mount_point: Vault.mountPoint("transit"),
      pubkey: Ed25519PublicKey
    })
  }).annotate({ identifier: "CreateVaultTransitSignerRequest" })
]).annotate({ message: "type must be plain, local, vault or vault_transit" })
export type CreateSigner = typeof CreateSigner.Type

/** The account that the key controls, per network type. */
export const SignerAddresses = Schema.Struct({
  /** Lower-case hex. */
  evm: Schema.String,
  /** Base58. */
  solana: Schema.String,
  /** StrKey, `G…`. */
  stellar: Schema.String
}).annotate({ identifier: "SignerAddresses" })
export type SignerAddresses = typeof SignerAddresses.Type

const { evm: _, ...ed25519Addresses } = SignerAddresses.fields

const Ed25519Addresses = Schema.Struct(ed25519Addresses).annotate({ identifier: "Ed25519SignerAddresses" })

/** `config` is what of the configuration is no secret. */
export const Signer = Schema.Union([
  Schema.Struct({
    id: SignerId,
    type: Schema.tag("plain"),
    config: Schema.Struct({}),
    addresses: SignerAddresses
  }).annotate({ identifier: "PlainSigner" }),
  Schema.Struct({
    id: SignerId,
    type: Schema.tag("local"),
    config: Schema.Struct({}),
    addresses: SignerAddresses
  }).annotate({ identifier: "LocalSigner" }),
  Schema.Struct({
    id: SignerId,
    type: Schema.tag("vault"),
    config: Schema.Struct(Vault.shown),
    addresses: SignerAddresses
  }).annotate({ identifier: "VaultSigner" }),
  Schema.Struct({
    id: SignerId,
    type: Schema.tag("vault_transit"),
    config: Schema.Struct({ ...Vault.shown, pubkey: Schema.String }),
    addresses: Ed25519Addresses
  }).annotate({ identifier: "VaultTransitSigner" })
])
export type Signer = typeof Signer.Type
export type SignerType = Signer["type"]

/** The network types that a signer can serve: those that it has an address on. */
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
  step: Schema.Literals(["public_key", "sign", "verify"]),
  /** Skipped: an earlier step of the curve has failed. */
  status: Schema.Literals(["ok", "failed", "skipped"]),
  /** Why it has failed. */
  message: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "SignerVerificationStep" })
export type VerificationStep = typeof VerificationStep.Type

/** Whether the key is still there, is still the same, and signs. */
export const Verification = Schema.Struct({
  id: SignerId,
  verified: Schema.Boolean,
  steps: Schema.Array(VerificationStep)
}).annotate({ identifier: "SignerVerification" })
export type Verification = typeof Verification.Type

export class SignerNotFound extends Schema.TaggedError<SignerNotFound>()("SignerNotFound", {}) {}

export class SignerIdTaken extends Schema.TaggedError<SignerIdTaken>()("SignerIdTaken", {}) {}

/** `error`: the relayers that hold it. */
export class SignerInUse extends Schema.TaggedError<SignerInUse>()("SignerInUse", { error: Schema.String }) {}
