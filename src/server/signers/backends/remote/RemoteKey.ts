// What one key service implements, so that its keys can sign. The rest is shared: see `RemoteSigner.ts`.
import type { Effect } from "effect"
import type { BadRequest } from "../../../../domain/request/Request.ts"
import type { Curve } from "../../../../domain/signer/Curve.ts"
import type { Inspection, Prepared, Reason, SignerUnavailable } from "../SignerBackend.ts"

/** A key as the key service describes it now. */
export interface Described extends Inspection {
  readonly curve: Curve
}

/** The key that a request names. `config` is stored and shown, and names one key for good: no alias, no newest version. */
interface Resolved<Config> extends Described {
  readonly config: Config
}

interface Signed {
  /** secp256k1: r and s, 64 bytes, with any s. ed25519: 64 bytes. */
  readonly signature: Uint8Array
  /** The key service's id of the call. */
  readonly requestId?: string
}

/** Whose calls these are. Parts of it are hashes where they would be secrets. */
export interface Identity {
  /** What the operator calls the key service, such as `AWS KMS`. */
  readonly service: string
  /** Type, endpoint and credential: what fails together. */
  readonly breaker: string
  /** Type, account and region: what shares a limit. */
  readonly account: string
  /** Calls per second. */
  readonly rate: number
}

/**
 * `Request`: the configuration in a request. `Named`: its parts that are shown. `Config`: those and what was found out about the
 * key, which names it for good. The effects make one call, without a time limit and without a retry; their interruption ends it.
 * An effect that is run again repeats the same call.
 */
export interface Provider<Request, Named, Config extends Named> {
  /** The field of a request that causes a failure. Absent: `config`. */
  readonly fields: Readonly<Partial<Record<Reason, string>>>
  /** Splits a request into what is shown and what is sealed. */
  prepare(request: Request): Effect.Effect<Prepared<Named>, BadRequest>
  /** Finds the key that the request names. */
  resolve(named: Prepared<Named>): Effect.Effect<Resolved<Config>, SignerUnavailable>
  /** Asks about the key of a signer, and warns if the request would find another key now. */
  describe(pinned: Prepared<Config>): Effect.Effect<Described, SignerUnavailable>
  /** `message`: of secp256k1 a digest of 32 bytes, of ed25519 the message itself. */
  sign(pinned: Prepared<Config>, curve: Curve, message: Uint8Array): Effect.Effect<Signed, SignerUnavailable>
  identity(prepared: Prepared<Named>): Identity
  /** The name of the key as `SIGNER_KEYS` lists it, if the service uses it by a login of its own. Absent: by that of the signer. */
  ambientKey(config: Config): string | undefined
}
