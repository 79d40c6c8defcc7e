// The interface of signer types: how a type prepares its configuration, and a key that signs.
import { Context, Schema } from "effect"
import type { Effect, Redacted } from "effect"
import type { CreateSigner } from "../../../domain/signer/CreateSigner.ts"
import type { BadRequest, ServiceUnavailable } from "../../../domain/request/Request.ts"
import type { Curve, Signer, SignerType } from "../../../domain/signer/Signer.ts"

/** Why a key cannot be reached or used. */
const Reason = Schema.Literals([
  /** The service does not call this address. */
  "forbidden",
  "unreachable",
  /** The server does not answer as such a server does. */
  "unexpected",
  "login",
  /** The server asks for fewer calls, or this instance has used up the rate of the account. */
  "throttled",
  /** The signature waits for an approval, or the key service has not generated the key yet. */
  "pending",
  /** The login works, but does not allow the use of the key. */
  "refused",
  "not_found",
  "bad_key",
  /** The key is not the configured one. */
  "mismatch",
  /** The backend has no key on the curve. */
  "curve",
  /** The backend needs a package that is not installed. */
  "not_installed"
])
export type Reason = typeof Reason.Type

/** `message` never contains a secret or text of another server. */
export class SignerUnavailable extends Schema.TaggedError<SignerUnavailable>()("SignerUnavailable", {
  reason: Reason,
  message: Schema.NonEmptyString,
  /** Milliseconds after which a call may succeed. Absent if unknown. */
  retryAfter: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  /** The id of the failed call in the log of the key service. */
  requestId: Schema.optionalKey(Schema.String)
}) {}

/** What a key service currently reports about a key. */
export interface Inspection {
  readonly publicKey: Uint8Array
  /** The state for the operator, such as `enabled, ECC_SECG_P256K1`. */
  readonly state: string
  /** What needs an operator's attention, such as an alias that points to another key now. */
  readonly warning?: string
}

export interface SignerBackend {
  /** The curves on which it has a key. */
  readonly curves: ReadonlyArray<Curve>
  /** Whether it signs with one key as long as it is open, so that the key is checked once. Absent: the key can change. */
  readonly hasFixedKey?: boolean
  /** secp256k1: 65 bytes, uncompressed; ed25519: 32 bytes. */
  publicKey(curve: Curve): Effect.Effect<Uint8Array, SignerUnavailable>
  /**
   * secp256k1: `message` is a digest of 32 bytes, the signature r, s (not above half the order) and the recovery bit, 65
   * bytes. ed25519: any message, 64 bytes.
   */
  sign(curve: Curve, message: Uint8Array): Effect.Effect<Uint8Array, SignerUnavailable>
  /** Asks the key service about the key, without a cache. If absent, `publicKey` asks it. */
  readonly inspect?: Effect.Effect<Inspection, SignerUnavailable>
}

/** The key of a signer whose key stays in a key service. It never changes. */
export interface Pinned {
  readonly curve: Curve
  /** In the format of `SignerBackend.publicKey`. */
  readonly publicKey: Uint8Array
}

/** The parts of a request that are stored: `config` is shown, `secret` is sealed. */
export interface Prepared<Config> {
  readonly config: Config
  /** Empty if the signer has no secret. An empty secret is sealed too, because the seal protects the rest of the row. */
  readonly secret: Redacted.Redacted
  /** Present if the key stays in a key service. */
  readonly pinned?: Pinned
}

export interface Kind<Request, Config> {
  /** The column of the sealed secret: the key itself, or the credentials that reach it. */
  readonly column: "key" | "config"
  /** Whether `prepare` or the backend wait for something outside of the database: Vault, a key derivation. */
  readonly worksOutside: boolean
  prepare(request: Request): Effect.Effect<Prepared<Config>, BadRequest | ServiceUnavailable | SignerUnavailable>
  open(prepared: Prepared<Config>): SignerBackend
  /**
   * The request for a new login of a signer, with the name of its key added if the request could lead to another key now: to a newer
   * version, or to a second key with the same label. Absent: a request always leads to one key.
   */
  ofKey?(request: Request, config: Config): Request
  /** The field of a request that causes a failure. Absent: `config`. */
  readonly fields?: Readonly<Partial<Record<Reason, string>>>
}

export type RequestOf<T extends SignerType> = Extract<CreateSigner, { readonly type: T }>["config"]
export type ConfigOf<T extends SignerType> = Extract<Signer, { readonly type: T }>["config"]

/** A type of signer. */
export type SignerKind<T extends SignerType> = Kind<RequestOf<T>, ConfigOf<T>>

/**
 * The implementation of each type, also called signer backends. A host program may replace a type, for example to keep the keys of
 * `plain` signers in its own store.
 */
export class SignerKinds extends Context.Service<SignerKinds, { readonly [T in SignerType]: SignerKind<T> }>()(
  "effect-relayer/server/signers/backends/SignerBackend/SignerKinds"
) {}
