// Builds the backend of a key service: pins the key at creation, limits and repeats calls, and checks every signature.
import { Effect } from "effect"
import { isAllowed, mayBeAllowed } from "../../SignerSettings.ts"
import type { SignerSettings } from "../../SignerSettings.ts"
import * as RequestIds from "../RequestIds.ts"
import { probeOf } from "../Curves.ts"
import { SignerUnavailable } from "../SignerBackend.ts"
import type { Kind, Pinned, Prepared, Reason, SignerBackend } from "../SignerBackend.ts"
import * as PinnedKey from "./Pinned.ts"
import type { RemoteCalls } from "./RemoteCalls.ts"
import type { Identity, Provider } from "./RemoteKey.ts"

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

export interface Shared {
  readonly calls: RemoteCalls
  readonly settings: SignerSettings
}

export const make = <Request, Named, Config extends Named>(
  provider: Provider<Request, Named, Config>,
  { calls, settings }: Shared
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
      yield* PinnedKey.onCurve(pinned, curve)
      yield* allow(prepared.config)
      const signed = yield* calls.run(identity, provider.sign(prepared, curve, message))
      if (signed.requestId !== undefined) yield* RequestIds.note(signed.requestId)
      return yield* PinnedKey.check(pinned, message, signed.signature)
    })

    const inspect = Effect.andThen(
      allow(prepared.config),
      Effect.suspend(() => calls.run(identity, provider.describe(prepared)))
    )

    const publicKey = (curve: Pinned["curve"]) => Effect.as(PinnedKey.onCurve(pinned, curve), pinned.publicKey)
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
