// The interface that each key service implements. `RemoteSigner.ts` has what they share.
import type { Effect } from "effect"
import type { BadRequest } from "../../../../domain/request/Request.ts"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import type { Inspection, Prepared, Reason, SignerUnavailable } from "../SignerBackend.ts"

/** A key as the key service describes it now. */
export interface Described extends Inspection {
  readonly curve: Curve
}

/** The key that a request names. `config` is stored and shown, and names one key for good: no alias, no newest version. */
interface Resolved<Config> extends Described {
  readonly config: Config
}

interface RemoteSignature {
  /** secp256k1: r and s, 64 bytes, with any s. ed25519: 64 bytes. */
  readonly signature: Uint8Array
  /** The id that the key service gave to the call. */
  readonly requestId?: string
}

/** The account that calls are made for. If a part would be a secret, it is a hash. */
export interface Identity {
  /** What the operator calls the key service, such as `AWS KMS`. */
  readonly service: string
  /** Type, endpoint and credential. Calls with equal values share a circuit breaker. */
  readonly breaker: string
  /** Type, account and region. Calls with equal values share a rate limit. */
  readonly account: string
  /** Calls per second. */
  readonly rate: number
}

/**
 * `Request` is the configuration in a request. `Named` is its part that responses show. `Config` adds what the key service reported
 * about the key, and identifies the key permanently. Each effect makes its calls once, without a time limit and without a retry.
 * An interruption ends them. If an effect runs again, it repeats the same calls.
 */
export interface Provider<Request, Named, Config extends Named> {
  /** The field of a request that causes a failure. If absent, it is `config`. */
  readonly fields: Readonly<Partial<Record<Reason, string>>>
  /** Splits a request into what is shown and what is sealed. */
  prepare(request: Request): Effect.Effect<Prepared<Named>, BadRequest>
  /** Finds the key that the request names. */
  resolve(named: Prepared<Named>): Effect.Effect<Resolved<Config>, SignerUnavailable>
  /** As `Kind.ofKey`. */
  ofKey?(request: Request, config: Config): Request
  /** Asks about the key of a signer, and warns if the request would find another key now. */
  describe(pinned: Prepared<Config>): Effect.Effect<Described, SignerUnavailable>
  /** `message` is a digest of 32 bytes on secp256k1, and the message itself on ed25519. */
  sign(pinned: Prepared<Config>, curve: Curve, message: Uint8Array): Effect.Effect<RemoteSignature, SignerUnavailable>
  identity(prepared: Prepared<Named>): Identity
  /**
   * The name of the key for `SIGNER_KEYS`, if the service uses its own login. Undefined if the signer has credentials. Until the key
   * is resolved, these are the first parts of its name that the request determines, or an empty text.
   */
  ambientKey(named: Named): string | undefined
}
