// Signers whose key stays in a key service: the interface of a key service, its calls, and the check of every signature.
import { Clock, Duration, Effect, Exit, Layer, Option, Random, Record as Rec, Result, Schedule } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { BadRequest } from "../../../domain/request/Request.ts"
import type { Curve } from "../../../domain/signer/Signer.ts"
import { withMonotonicAround } from "../../lifecycle/MonotonicClock.ts"
import { makeTokenBuckets } from "../../limits/RateLimits.ts"
import { isAllowed, mayBeAllowed } from "../SignerSettings.ts"
import type { SignerSettings } from "../SignerSettings.ts"
import * as Decode from "./Decode.ts"
import { curveOperations, noteRequestId, probeOf, SignerUnavailable } from "./SignerBackend.ts"
import type { Inspection, Kind, Pinned, Prepared, Reason, SignerBackend } from "./SignerBackend.ts"

// The interface that each key service implements. `RemoteSigner.ts` has what they share.

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

// Calls a key service: up to three tries within eight seconds, at the rate of the account. An open circuit breaker stops all calls.

const tries = 3

/** Milliseconds for all tries and the waits between them. */
const totalMs = 8000

/** Milliseconds for one try. */
const tryMs = 3000

/** Milliseconds: the upper bound of the first random wait, which doubles with each try. */
const backOffMs = 200

/** Failed calls in a row that open the breaker. */
const failuresInARow = 5

/** How long the breaker stays open. The time doubles with each consecutive opening, until the total reaches a minute. */
const openFor = Schedule.upTo(Schedule.exponential("1 second"), { duration: "1 minute" })

interface RemoteCalls {
  run<A>(identity: Identity, call: Effect.Effect<A, SignerUnavailable>): Effect.Effect<A, SignerUnavailable>
}

const failure = (reason: SignerUnavailable["reason"], message: string, retryAfter?: number) =>
  new SignerUnavailable({ reason, message, ...(retryAfter === undefined ? {} : { retryAfter }) })

/** Only missing, faulty or unexpected answers open the breaker. */
const classify = <A>(exit: Exit.Exit<A, SignerUnavailable>) => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error?.reason === "unreachable" || error?.reason === "unexpected"
    ? CircuitBreaker.failure()
    : CircuitBreaker.success
}

const isTriedAgain = ({ reason }: SignerUnavailable, tried: number) =>
  reason === "throttled" || reason === "unreachable" ? tried < tries : reason === "login" && tried < 2

const waitAfter = ({ retryAfter }: SignerUnavailable, tried: number) =>
  retryAfter === undefined
    ? Effect.map(Random.next, (random) => random * backOffMs * 2 ** (tried - 1))
    : Effect.succeed(retryAfter)

const nowMs = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

export const makeRemoteCalls = Effect.gen(function* () {
  const breaker = yield* CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(failuresInARow),
    openDuration: openFor
  }).pipe(Effect.provide(Layer.fresh(CircuitBreaker.layerStoreMemory())))
  const buckets = makeTokenBuckets()

  /** Waits until the rate of the account allows a call, if that is before `end`. */
  const takeTurn = Effect.fnUntraced(function* ({ account, rate, service }: Identity, end: number) {
    const bucket = { key: account, limit: rate, refillRate: Duration.millis(1000 / rate), allowOverflow: true }
    const [free, since] = yield* Effect.orDie(buckets.take({ ...bucket, tokens: 0 }))
    const wait = Math.ceil(Math.max(0, (1 - free) * (1000 / rate) - since))
    if ((yield* nowMs) + wait >= end) {
      return yield* failure("throttled", `the service signs ${rate} times a second with ${service}`, wait)
    }
    yield* Effect.orDie(buckets.take({ ...bucket, tokens: 1 }))
    if (wait > 0) yield* Effect.sleep(wait)
  })

  const leftAlone = (service: string, { reason }: CircuitBreaker.CircuitBreakerError) => {
    const wait = reason._tag === "CircuitOpen" ? Duration.toMillis(reason.retryAfter) : undefined
    return failure("unreachable", `${service} has failed several times and is not called for a while`, wait)
  }

  const once = <A>(identity: Identity, call: Effect.Effect<A, SignerUnavailable>, end: number) => {
    const silent = failure("unreachable", `${identity.service} does not answer`)
    const limited = Effect.flatMap(nowMs, (now) =>
      Effect.timeoutOrElse(call, {
        duration: Math.min(tryMs, Math.max(0, end - now)),
        orElse: () => Effect.fail(silent)
      })
    )
    const guarded = withMonotonicAround((self: typeof limited) =>
      breaker.execute(self, { key: identity.breaker, classify })
    )(limited)
    return Effect.andThen(takeTurn(identity, end), guarded)
  }

  const run: RemoteCalls["run"] = Effect.fn("RemoteCalls.run")(function* (identity, call) {
    const end = (yield* nowMs) + totalMs
    for (let tried = 1; ; tried++) {
      const result = yield* Effect.result(once(identity, call, end))
      if (Result.isSuccess(result)) return result.success
      const failed = result.failure
      if (failed._tag === "CircuitBreakerError") return yield* leftAlone(identity.service, failed)
      if (!isTriedAgain(failed, tried)) return yield* failed
      const wait = yield* waitAfter(failed, tried)
      if ((yield* nowMs) + wait >= end) return yield* failed
      yield* Effect.sleep(wait)
    }
  })

  const calls: RemoteCalls = { run }
  return calls
})

// Checks what a key service returns against the public key that was pinned when the signer was created.

const mismatch = new SignerUnavailable({
  reason: "mismatch",
  message: "the key with this public_key did not make the signature"
})

const onOtherCurve = new SignerUnavailable({ reason: "curve", message: "the key is not on this curve" })

const completedSignature = async ({ curve, publicKey }: Pinned, message: Uint8Array, signature: Uint8Array) => {
  if (curve === "secp256k1") return Decode.completeSignature(publicKey, message, signature)
  return (await curveOperations.ed25519.verify(publicKey, message, signature)) ? signature : undefined
}

/** The signature in the format of `SignerBackend.sign`. `signature` is what a `Provider` returns. */
const checkSignature = Effect.fnUntraced(function* (pinned: Pinned, message: Uint8Array, signature: Uint8Array) {
  const complete = yield* Effect.promise(() => completedSignature(pinned, message, signature))
  return complete ?? (yield* mismatch)
})

/** Fails without a call if the key is on another curve. */
const onPinnedCurve = ({ curve }: Pinned, wanted: Pinned["curve"]) =>
  curve === wanted ? Effect.void : Effect.fail(onOtherCurve)

const notAllowed = new SignerUnavailable({ reason: "forbidden", message: "SIGNER_KEYS does not allow this key" })

/** The same for all keys that are not allowed, and for those that do not exist: otherwise, requests could find out which exist. */
const noneAllowed = new SignerUnavailable({
  reason: "forbidden",
  message: "SIGNER_KEYS allows no usable key with this name"
})

/** These reasons say nothing about a key. */
const ofService: ReadonlySet<Reason> = new Set(["unreachable", "throttled", "login", "not_installed"])

/** A request can name any account, so its calls share no breaker and no rate limit with those of signers. */
const ofRequest = (identity: Identity): Identity => ({
  ...identity,
  breaker: `request ${identity.breaker}`,
  account: `request ${identity.account}`
})

export interface RemoteServices {
  readonly calls: RemoteCalls
  readonly settings: SignerSettings
}

export const make = <Request, Named, Config extends Named>(
  provider: Provider<Request, Named, Config>,
  { calls, settings }: RemoteServices
): Kind<Request, Config> => {
  const allow = (config: Config) => {
    const key = provider.ambientKey(config)
    return key === undefined || isAllowed(settings.keys, key) ? Effect.void : Effect.fail(notAllowed)
  }

  /** Finds the key that a request names. If the key may not be used, the service makes no call, or reports nothing about the key. */
  const resolve = Effect.fnUntraced(function* (named: Prepared<Named>) {
    const name = provider.ambientKey(named.config)
    const resolving = calls.run(ofRequest(provider.identity(named)), provider.resolve(named))
    if (name === undefined || isAllowed(settings.keys, name)) return yield* resolving
    if (!mayBeAllowed(settings.keys, name)) return yield* noneAllowed
    return yield* resolving.pipe(
      Effect.tap(({ config }) => allow(config)),
      Effect.mapError((failure) => (ofService.has(failure.reason) ? failure : noneAllowed))
    )
  })

  const backendOf = (prepared: Prepared<Config>, pinned: Pinned, identity: Identity): SignerBackend => {
    const sign = Effect.fn("RemoteSigner.sign")(function* (curve: Pinned["curve"], message: Uint8Array) {
      yield* onPinnedCurve(pinned, curve)
      yield* allow(prepared.config)
      const signed = yield* calls.run(identity, provider.sign(prepared, curve, message))
      if (signed.requestId !== undefined) yield* noteRequestId(signed.requestId)
      return yield* checkSignature(pinned, message, signed.signature)
    })

    const inspect = Effect.andThen(
      allow(prepared.config),
      Effect.suspend(() => calls.run(identity, provider.describe(prepared)))
    )

    const publicKey = (curve: Pinned["curve"]) => Effect.as(onPinnedCurve(pinned, curve), pinned.publicKey)
    return { hasFixedKey: true, curves: [pinned.curve], publicKey, sign, inspect }
  }

  return {
    column: "config",
    worksOutside: true,
    fields: provider.fields,
    ...(provider.ofKey === undefined ? {} : { ofKey: provider.ofKey }),
    prepare: Effect.fnUntraced(function* (request) {
      const named = yield* provider.prepare(request)
      const { config, curve, publicKey } = yield* resolve(named)
      const prepared = { config, secret: named.secret, pinned: { curve, publicKey } }
      // Signs a probe, because a signer without the right to sign would only fail when it is first used.
      const backend = backendOf(prepared, prepared.pinned, ofRequest(provider.identity(prepared)))
      yield* backend.sign(curve, probeOf(curve))
      return prepared
    }),
    open: (prepared) => {
      // `Signers` reads the public key from the row. A database constraint ensures that it is present.
      if (prepared.pinned === undefined) throw new Error("a signer of a key service has no public key")
      return backendOf(prepared, prepared.pinned, provider.identity(prepared))
    }
  }
}

// The failures of the keys of a signer type: for each, the field of the request that causes it, and the message.

export interface FailureDetails {
  /** Replaces the message of the reason. */
  readonly detail?: string | undefined
  readonly retryAfter?: number | undefined
  readonly requestId?: string | undefined
}

/** By reason: the field of the request, and a message whose subject is that field or the key service. */
export const makeFailures = <R extends Reason>(
  table: Readonly<Record<R, readonly [field: string, message: string]>>
) => ({
  /** A missing package is a problem of the type. */
  fields: { not_installed: "type", ...Rec.map(table, ([field]) => field) },
  unavailable: (reason: R, { detail, retryAfter, requestId }: FailureDetails = {}) =>
    new SignerUnavailable({
      reason,
      message: detail ?? table[reason][1],
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(requestId === undefined ? {} : { requestId })
    })
})

/** A key service that is called over HTTP has all failures but a missing package. */
export type RemoteReason = Exclude<Reason, "not_installed">
export type Failures = ReturnType<typeof makeFailures<RemoteReason>>

// Loads the package of a key service on first use. Packages of key services are optional peers of this one.

/** `load` is `() => import(name)`, which bundlers and the compiler can read. */
export const loadPackage = <A>(name: string, load: () => Promise<A>): Effect.Effect<A, SignerUnavailable> =>
  Effect.tryPromise({
    try: load,
    catch: () =>
      new SignerUnavailable({
        reason: "not_installed",
        message: `needs the package ${name}, which cannot be loaded: install it next to effect-relayer`
      })
  })
