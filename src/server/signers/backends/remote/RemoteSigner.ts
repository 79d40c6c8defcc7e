// Builds the backend of a key service: pins the key at creation, limits and repeats calls, and checks every signature.
import { Effect } from "effect"
import type { SignerSettings } from "../../SignerSettings.ts"
import * as RequestIds from "../RequestIds.ts"
import * as ProbeMessage from "../ProbeMessage.ts"
import { SignerUnavailable } from "../SignerBackend.ts"
import type { Kind, Pinned, Prepared, SignerBackend } from "../SignerBackend.ts"
import { isAllowed } from "./AllowedKeys.ts"
import * as PinnedKey from "./Pinned.ts"
import type { RemoteCalls } from "./RemoteCalls.ts"
import type { Provider } from "./RemoteKey.ts"

const notAllowed = new SignerUnavailable({ reason: "forbidden", message: "SIGNER_KEYS does not allow this key" })

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

  const backendOf = (prepared: Prepared<Config>, pinned: Pinned): SignerBackend => {
    const identity = provider.identity(prepared)

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
    prepare: Effect.fnUntraced(function* (request) {
      const named = yield* provider.prepare(request)
      const { config, curve, publicKey } = yield* calls.run(provider.identity(named), provider.resolve(named))
      const prepared = { config, secret: named.secret, pinned: { curve, publicKey } }
      // Signs a probe, because a signer without the right to sign would only fail when it is first used.
      yield* backendOf(prepared, prepared.pinned).sign(curve, ProbeMessage.make(curve))
      return prepared
    }),
    open: (prepared) => {
      // `Signers` reads the public key from the row. A database constraint ensures that it is present.
      if (prepared.pinned === undefined) throw new Error("a signer of a key service has no public key")
      return backendOf(prepared, prepared.pinned)
    }
  }
}
