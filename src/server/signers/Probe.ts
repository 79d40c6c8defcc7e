// Tests a signer on each of its curves: fetches the public key, signs a probe, and verifies the signature.
import { Effect } from "effect"
import * as crypto from "node:crypto"
import type { Curve, Signer, SignerAddresses, VerificationStep } from "../../domain/signer/Signer.ts"
import * as Addresses from "./Addresses.ts"
import { operations } from "./backends/Curves.ts"
import { SignerUnavailable } from "./backends/SignerBackend.ts"
import type { SignerBackend } from "./backends/SignerBackend.ts"

const steps = ["public_key", "sign", "verify"] as const

const mismatch = (message: string) => new SignerUnavailable({ reason: "mismatch", message })

/**
 * A probe is never a valid transaction. ed25519: on solana its first byte would announce 101 signers, for which it is too
 * short, and stellar signs a hash, which is shorter. secp256k1: a SHA-256, while evm signs a Keccak hash.
 */
const makeProbe = (curve: Curve) => {
  const message = Buffer.concat([Buffer.from("effect-relayer signer probe\n"), crypto.randomBytes(32)])
  return curve === "ed25519" ? message : crypto.createHash("sha256").update(message).digest()
}

const tryCurve = (signer: Signer, backend: SignerBackend, curve: Curve) => {
  const tried = new Map<string, VerificationStep>()
  const attempt = <A>(step: VerificationStep["step"], self: Effect.Effect<A, SignerUnavailable>) =>
    self.pipe(
      Effect.tap(() => Effect.sync(() => tried.set(step, { curve, step, status: "ok" }))),
      Effect.tapError(({ message }) => Effect.sync(() => tried.set(step, { curve, step, status: "failed", message })))
    )

  const fetchKey = Effect.gen(function* () {
    const publicKey = yield* backend.publicKey(curve)
    const known: Partial<SignerAddresses> = signer.addresses
    const fetched = Object.entries(yield* Addresses.ofPublicKey(signer.type, curve, publicKey))
    if (fetched.every(([networkType, address]) => known[networkType as keyof SignerAddresses] === address)) {
      return publicKey
    }
    return yield* mismatch("is not the key that the signer was created with")
  })

  return Effect.gen(function* () {
    const probe = makeProbe(curve)
    const publicKey = yield* attempt("public_key", fetchKey)
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
  }).pipe(
    Effect.ignore,
    Effect.map(() => steps.map((step) => tried.get(step) ?? { curve, step, status: "skipped" as const }))
  )
}

export const run = Effect.fn("Probe.run")((signer: Signer, backend: SignerBackend) =>
  Effect.map(
    Effect.forEach(Addresses.curvesOf(signer.type), (curve) => tryCurve(signer, backend, curve)),
    (tried): ReadonlyArray<VerificationStep> => tried.flat()
  )
)
