// Signers hold the key of an account. A key goes in, or is made inside, and never comes out.
import { Schema } from "effect"
import { maybe, resourceId } from "./Text.ts"

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

export const CreateSigner = Schema.Struct({
  /** Absent: a UUID. */
  id: maybe(SignerId),
  type: Schema.Literal("plain"),
  config: maybe(
    Schema.Struct({
      /** Absent: the service makes one, and nobody ever sees it. */
      key: maybe(PrivateKey)
    })
  )
}).annotate({ identifier: "CreateSignerRequest" })
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

export const Signer = Schema.Struct({
  id: SignerId,
  type: Schema.Literal("plain"),
  /** What of the configuration is no secret: nothing, for `plain`. */
  config: Schema.Struct({}),
  addresses: SignerAddresses
}).annotate({ identifier: "Signer" })
export type Signer = typeof Signer.Type

export class SignerNotFound extends Schema.TaggedError<SignerNotFound>()("SignerNotFound", {}) {}

export class SignerIdTaken extends Schema.TaggedError<SignerIdTaken>()("SignerIdTaken", {}) {}
