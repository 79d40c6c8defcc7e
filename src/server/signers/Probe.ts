// Tests a signer on each of its curves: reads the public key, signs a probe, and verifies the signature.
import { Effect } from "effect"
import type { Curve, Signer, SignerAddresses, VerificationStep } from "../../domain/signer/Signer.ts"
import * as Addresses from "./Addresses.ts"
import { operations, probeOf } from "./backends/Curves.ts"
import { SignerUnavailable } from "./backends/SignerBackend.ts"
import type { Inspection, SignerBackend } from "./backends/SignerBackend.ts"

const ofKey = ["public_key", "sign", "verify"] as const

interface Tried {
  readonly steps: ReadonlyArray<VerificationStep>
  /** The failure if the key is not the pinned key of the signer. */
  readonly mismatch: SignerUnavailable | undefined
}

const mismatch = (message: string) => new SignerUnavailable({ reason: "mismatch", message })

const shownAs = ({ state, warning }: Inspection) =>
  warning === undefined
    ? { status: "ok" as const, message: state }
    : { status: "warning" as const, message: `${warning} (${state})` }

const tryCurve = Effect.fnUntraced(function* (signer: Signer, backend: SignerBackend, curve: Curve) {
  const tried = new Map<string, VerificationStep>()
  let found: SignerUnavailable | undefined

  const attempt = <A>(
    step: VerificationStep["step"],
    self: Effect.Effect<A, SignerUnavailable>,
    shown: (value: A) => Pick<VerificationStep, "status" | "message"> = () => ({ status: "ok" })
  ) =>
    self.pipe(
      Effect.tap((value) => Effect.sync(() => tried.set(step, { curve, step, ...shown(value) }))),
      Effect.tapError((failure) =>
        Effect.sync(() => {
          if (failure.reason === "mismatch") found = failure
          tried.set(step, { curve, step, status: "failed", message: failure.message })
        })
      )
    )

  const fetchKey = Effect.fnUntraced(function* (publicKey: Uint8Array) {
    const known: Partial<SignerAddresses> = signer.addresses
    const fetched = Object.entries(yield* Addresses.ofPublicKey(curve, publicKey))
    if (fetched.every(([networkType, address]) => known[networkType as keyof SignerAddresses] === address)) {
      return publicKey
    }
    return yield* mismatch("is not the key that the signer was created with")
  })

  yield* Effect.gen(function* () {
    const probe = probeOf(curve)
    const inspected = backend.inspect && (yield* attempt("key_state", backend.inspect, shownAs))
    const read = inspected === undefined ? backend.publicKey(curve) : Effect.succeed(inspected.publicKey)
    const publicKey = yield* attempt("public_key", Effect.flatMap(read, fetchKey))
    const signature = yield* attempt("sign", backend.sign(curve, probe))
    const verified = Effect.promise(() => operations[curve].verify(publicKey, probe, signature))
    yield* attempt(
      "verify",
      Effect.filterOrFail(
        verified,
        (isValid) => isValid,
        () => mismatch("the signature does not match the public key")
      )
    )
  }).pipe(Effect.ignore)

  const names = backend.inspect === undefined ? ofKey : (["key_state", ...ofKey] as const)
  const steps = names.map((step) => tried.get(step) ?? { curve, step, status: "skipped" as const })
  return { steps, mismatch: found }
})

export const run = Effect.fn("Probe.run")(function* (signer: Signer, backend: SignerBackend) {
  const tried = yield* Effect.forEach(backend.curves, (curve) => tryCurve(signer, backend, curve))
  return {
    steps: tried.flatMap(({ steps }) => steps),
    mismatch: tried.find(({ mismatch }) => mismatch !== undefined)?.mismatch
  } satisfies Tried
})
