// The key of a signer, from a request to a signature: tried and sealed, authenticated and opened, measured, and tested with a probe.
import { Clock, Effect, Metric, Option, Schema } from "effect"
import type { Redacted } from "effect"
import { Hex } from "effect/encoding"
import type { NetworkType } from "../../domain/network/Network.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { CreateSigner } from "../../domain/signer/CreateSigner.ts"
import { isRemote, networkTypesOn, Signer, SignerNotFound } from "../../domain/signer/Signer.ts"
import type { Curve, SignerAddresses, SignerType, VerificationStep } from "../../domain/signer/Signer.ts"
import { RowMacs, Secrets } from "../secrets/Secrets.ts"
import type { SealedSigner, StoredSigner } from "./SignersRepo.ts"
import { curveOperations, probeOf, SignerKinds, SignerUnavailable } from "./backends/SignerBackend.ts"
import type { Inspection, Prepared, SignerBackend, SignerKind } from "./backends/SignerBackend.ts"

// The addresses of a public key. The chain libraries take 75 MB of memory and are loaded when the first signer is created.

const encodeAddress: Record<NetworkType, (publicKey: Uint8Array) => Promise<string>> = {
  evm: async (publicKey) => {
    const { publicKeyToAddress } = await import("viem/accounts")
    return publicKeyToAddress(`0x${Buffer.from(publicKey).toString("hex")}`).toLowerCase()
  },
  solana: async (publicKey) => {
    const { getAddressDecoder } = await import("@solana/addresses")
    return getAddressDecoder().decode(publicKey)
  },
  stellar: async (publicKey) => {
    const { StrKey } = await import("@stellar/stellar-sdk/base")
    return StrKey.encodeEd25519PublicKey(publicKey)
  }
}

/** The addresses on the network types of the curve. */
const addressesOfKey = Effect.fn("SignerKeys.ofPublicKey")((curve: Curve, publicKey: Uint8Array) =>
  Effect.promise(async (): Promise<Partial<SignerAddresses>> => {
    const encoded = networkTypesOn([curve]).map(
      async (networkType) => [networkType, await encodeAddress[networkType](publicKey)] as const
    )
    return Object.fromEntries(await Promise.all(encoded))
  })
)

/** The addresses on the network types of all curves on which there is a key. */
export const addressesOf = Effect.fn("SignerKeys.derive")(function* (backend: SignerBackend) {
  const addresses: Array<Partial<SignerAddresses>> = []
  for (const curve of backend.curves) addresses.push(yield* addressesOfKey(curve, yield* backend.publicKey(curve)))
  return Object.assign({}, ...addresses) as Partial<SignerAddresses>
})

// How long signatures take, and why signers fail.

const signerSignSeconds = Metric.histogram("signer_sign_seconds", {
  description:
    "Time of a signature with its retries, by type of the signer and outcome (`signed`, `failed`), in seconds.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

const signerFailuresTotal = Metric.counter("signer_failures_total", {
  description: "Signatures that failed, by type of the signer and reason.",
  incremental: true
})

export const signerMetrics = [signerSignSeconds, signerFailuresTotal]

const secondsSince = (began: bigint) => Effect.map(Clock.monotonicTimeNanos, (now) => Number(now - began) / 1e9)

const measure = Effect.fnUntraced(function* (type: SignerType, outcome: "signed" | "failed", began: bigint) {
  yield* Metric.update(Metric.withAttributes(signerSignSeconds, { type, outcome }), yield* secondsSince(began))
})

const count = (type: SignerType, { reason }: SignerUnavailable) =>
  Metric.update(Metric.withAttributes(signerFailuresTotal, { type, reason }), 1)

/** Returns the same key with measured signatures. Interrupted signatures are not measured. */
const measured = (type: SignerType, backend: SignerBackend): SignerBackend => ({
  ...backend,
  sign: (curve, message) =>
    Effect.flatMap(Clock.monotonicTimeNanos, (began) =>
      backend.sign(curve, message).pipe(
        Effect.tapError((failure) => Effect.andThen(measure(type, "failed", began), count(type, failure))),
        Effect.tap(() => measure(type, "signed", began))
      )
    )
})

const toSigner = Schema.decodeUnknownEffect(Signer)

export const required = <A>(found: Effect.Effect<Option.Option<A>>) =>
  Effect.flatMap(found, Option.match({ onNone: () => Effect.fail(new SignerNotFound({})), onSome: Effect.succeed }))

/** What the secret is sealed together with, and what the MAC authenticates for reads that do not open the secret. */
export const content = (signer: Signer) => ({
  type: signer.type,
  config: signer.config,
  addresses: signer.addresses,
  ...(isRemote(signer) ? { curve: signer.curve, public_key: signer.public_key } : {})
})

const rowOf = (signer: Signer) => ({ table: "signers", id: signer.id, content: content(signer) })

export const make = Effect.gen(function* () {
  const secrets = yield* Secrets
  const macs = yield* RowMacs
  const backends = yield* SignerKinds

  const kindOf = (type: SignerType): SignerKind<SignerType> => backends[type]

  const place = (signer: Signer) => ({
    table: "signers",
    id: signer.id,
    column: kindOf(signer.type).column,
    context: content(signer)
  })

  const verified = ({ signer, mac }: StoredSigner) => Effect.as(macs.verify(rowOf(signer), mac), signer)

  /** The key that a request leads to, with its addresses. */
  const prepare = Effect.fnUntraced(function* ({ type, config: request }: Pick<CreateSigner, "type" | "config">) {
    const kind = kindOf(type)
    return yield* Effect.gen(function* () {
      const prepared = yield* kind.prepare(request)
      return { ...prepared, addresses: yield* addressesOf(kind.open(prepared)) }
    }).pipe(
      Effect.catchTag("SignerUnavailable", ({ reason, message }) =>
        Effect.fail(BadRequest.of([{ field: kind.fields?.[reason] ?? "config", message }]))
      )
    )
  })

  /** `signer` with the prepared key. */
  const signerWith = (
    signer: Pick<Signer, "id" | "type">,
    { config, addresses, pinned }: Effect.Success<ReturnType<typeof prepare>>
  ) => {
    const key = pinned === undefined ? {} : { curve: pinned.curve, public_key: Hex.encode(pinned.publicKey) }
    return Effect.orDie(toSigner({ ...signer, config, addresses, ...key }))
  }

  /** The row of the signer. */
  const seal = Effect.fnUntraced(function* (signer: Signer, secret: Prepared<Signer["config"]>["secret"]) {
    const sealed = yield* secrets.seal(secret, place(signer))
    return { signer, mac: yield* macs.make(rowOf(signer)), sealed, column: kindOf(signer.type).column }
  })

  /** A private key, or the JSON of a login. */
  const secretOf = ({ signer, sealed }: SealedSigner): Effect.Effect<Option.Option<Redacted.Redacted>> =>
    Effect.option(secrets.open(sealed, place(signer)))

  const open = Effect.fn("Signers.open")(function* ({ signer, sealed }: SealedSigner) {
    const secret = yield* Effect.orDie(secrets.open(sealed, place(signer)))
    const pinned = isRemote(signer)
      ? { pinned: { curve: signer.curve, publicKey: Buffer.from(signer.public_key, "hex") } }
      : {}
    return measured(signer.type, kindOf(signer.type).open({ config: signer.config, secret, ...pinned }))
  })

  return { kindOf, verified, prepare, signerWith, seal, secretOf, open }
})

// Tests a signer on each of its curves: reads the public key, signs a probe, and verifies the signature.

const stepsOfKey = ["public_key", "sign", "verify"] as const

interface TriedKey {
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
    const fetched = Object.entries(yield* addressesOfKey(curve, publicKey))
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
    const verified = Effect.promise(() => curveOperations[curve].verify(publicKey, probe, signature))
    yield* attempt(
      "verify",
      Effect.filterOrFail(
        verified,
        (isValid) => isValid,
        () => mismatch("the signature does not match the public key")
      )
    )
  }).pipe(Effect.ignore)

  const names = backend.inspect === undefined ? stepsOfKey : (["key_state", ...stepsOfKey] as const)
  const steps = names.map((step) => tried.get(step) ?? { curve, step, status: "skipped" as const })
  return { steps, mismatch: found }
})

export const probeKey = Effect.fn("SignerKeys.run")(function* (signer: Signer, backend: SignerBackend) {
  const tried = yield* Effect.forEach(backend.curves, (curve) => tryCurve(signer, backend, curve))
  return {
    steps: tried.flatMap(({ steps }) => steps),
    mismatch: tried.find(({ mismatch }) => mismatch !== undefined)?.mismatch
  } satisfies TriedKey
})
