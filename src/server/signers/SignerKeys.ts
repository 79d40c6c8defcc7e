// Keys of signers: what a request gives is tried and sealed, and what is stored is authenticated and opened.
import { Effect, Option, Schema } from "effect"
import type { Redacted } from "effect"
import { Hex } from "effect/encoding"
import type { CreateSigner } from "../../domain/signer/CreateSigner.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { isRemote, Signer, SignerNotFound } from "../../domain/signer/Signer.ts"
import type { SignerType } from "../../domain/signer/Signer.ts"
import { RowMacs } from "../secrets/RowMacs.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as Addresses from "./Addresses.ts"
import { SignerKinds } from "./backends/SignerBackend.ts"
import type { Prepared, SignerKind } from "./backends/SignerBackend.ts"
import { measured } from "./SignerMetrics.ts"
import type { SealedSigner, StoredSigner } from "./SignersRepo.ts"

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
      return { ...prepared, addresses: yield* Addresses.derive(kind.open(prepared)) }
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
