// What stands behind a signer: a key that signs, wherever it is.
import { Schema } from "effect"
import type { Effect, Redacted } from "effect"
import type { BadRequest, ServiceUnavailable } from "../../../domain/request/Request.ts"
import type { CreateSigner, Curve, Signer, SignerType } from "../../../domain/signer/Signer.ts"

/** Why a key cannot be reached or used. */
const Reason = Schema.Literals([
  /** The address is one that the service does not call. */
  "forbidden",
  "unreachable",
  /** The answer is not one that such a server gives. */
  "unexpected",
  "login",
  /** The login works, and does not allow the use of the key. */
  "refused",
  "not_found",
  "bad_key",
  /** The key is another one than was configured. */
  "mismatch",
  /** There is no key on the curve. */
  "curve"
])
type Reason = typeof Reason.Type

/** `message` is a text of ours: never an answer of a server, never a secret. */
export class SignerUnavailable extends Schema.TaggedError<SignerUnavailable>()("SignerUnavailable", {
  reason: Reason,
  message: Schema.String
}) {}

export interface SignerBackend {
  /** secp256k1: 65 bytes, uncompressed; ed25519: 32 bytes. */
  publicKey(curve: Curve): Effect.Effect<Uint8Array, SignerUnavailable>
  /**
   * secp256k1: `message` is a digest of 32 bytes, the signature r, s (not above half the order) and the recovery bit, 65
   * bytes. ed25519: any message, 64 bytes.
   */
  sign(curve: Curve, message: Uint8Array): Effect.Effect<Uint8Array, SignerUnavailable>
}

/** What is kept of a request: what is shown, and what is sealed. */
export interface Prepared<Config> {
  readonly config: Config
  readonly secret: Redacted.Redacted
}

interface Kind<Request, Config> {
  /** The column that holds the secret, sealed: the key itself, or what it is reached with. */
  readonly column: "key" | "config"
  /** Whether `prepare` or the backend wait for something outside of the database: Vault, a key derivation. */
  readonly worksOutside: boolean
  prepare(request: Request): Effect.Effect<Prepared<Config>, BadRequest | ServiceUnavailable>
  open(prepared: Prepared<Config>): SignerBackend
  /** The field of a request that is to blame. Absent: `config`. */
  readonly fields?: Readonly<Partial<Record<Reason, string>>>
}

export type RequestOf<T extends SignerType> = Extract<CreateSigner, { readonly type: T }>["config"]
export type ConfigOf<T extends SignerType> = Extract<Signer, { readonly type: T }>["config"]

/** A type of signer. */
export type SignerKind<T extends SignerType> = Kind<RequestOf<T>, ConfigOf<T>>
