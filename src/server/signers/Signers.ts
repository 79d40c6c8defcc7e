// Signers: their keys are given, generated here, or kept in Vault or a key service. Secrets are sealed and never leave the service.
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import * as Caller from "../../domain/access/Caller.ts"
import { checked } from "../../domain/request/Checked.ts"
import { maxNamed, usedBy } from "../../domain/request/InUse.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { ServiceUnavailable } from "../../domain/request/Request.ts"
import { CreateSigner } from "../../domain/signer/CreateSigner.ts"
import { Signer, SignerInUse, SignerNotFound, isRemote } from "../../domain/signer/Signer.ts"
import { SignerId } from "../../domain/signer/SignerId.ts"
import { Verification } from "../../domain/signer/Verification.ts"
import type { SignerIdTaken, SignerKeyTaken, SignerType } from "../../domain/signer/Signer.ts"
import type { SignerAddresses } from "../../domain/signer/SignerAddresses.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Audit } from "../audit/Audit.ts"
import { Changes } from "../changes/Changes.ts"
import { OutboundWork } from "../limits/OutboundWork.ts"
import { RowMacs } from "../secrets/RowMacs.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as Addresses from "./Addresses.ts"
import { SignerKinds } from "./backends/SignerBackend.ts"
import type { SignerBackend, SignerKind } from "./backends/SignerBackend.ts"
import * as Disabling from "./Disabling.ts"
import * as Probe from "./Probe.ts"
import { measured } from "./SignerMetrics.ts"
import * as SignersRepo from "./SignersRepo.ts"
import type { SealedSigner, StoredSigner } from "./SignersRepo.ts"

const checkCreate = checked(CreateSigner)

const toSigner = Schema.decodeUnknownEffect(Signer)

const required = <A>(found: Effect.Effect<Option.Option<A>>) =>
  Effect.flatMap(found, Option.match({ onNone: () => Effect.fail(new SignerNotFound({})), onSome: Effect.succeed }))

/** A signer with its secret: a private key, or the JSON of a login. */
export interface ConfiguredSigner {
  readonly signer: Signer
  /** None: it cannot be opened. */
  readonly secret: Option.Option<Redacted.Redacted>
}

export class Signers extends Context.Service<
  Signers,
  {
    /**
     * `BadRequest` if the keystore does not open, or the key in Vault or a key service cannot be reached or used.
     * `ServiceUnavailable` if too many keystores are waiting.
     */
    create(
      request: CreateSigner
    ): Effect.Effect<Signer, SignerIdTaken | SignerKeyTaken | BadRequest | ServiceUnavailable | Caller.TooManyRequests>
    list(query: PageQuery): Effect.Effect<Page<Signer>>
    get(id: SignerId): Effect.Effect<Signer, SignerNotFound>
    /**
     * The addresses of signers, which cannot be deleted until the running transaction ends. If `wait` is false, signers that
     * are being deleted are left out.
     */
    hold(
      ids: ReadonlyArray<SignerId>,
      options: { readonly wait: boolean }
    ): Effect.Effect<ReadonlyMap<SignerId, Partial<SignerAddresses>>>
    delete(id: SignerId): Effect.Effect<void, SignerNotFound | SignerInUse>
    /**
     * Checks that the key is available, matches the addresses, and signs. The audit log records the result. If the key service
     * has another key, the signer is disabled. If a disabled signer has its pinned key again, it is enabled.
     */
    verify(id: SignerId): Effect.Effect<Verification, SignerNotFound | Caller.TooManyRequests>
    /**
     * The signers with these ids and what they are sealed with, for configurations. `lock`: their rows are locked until the
     * running transaction ends.
     *
     * @internal
     */
    configured(ids: ReadonlyArray<string>, lock: boolean): Effect.Effect<ReadonlyArray<ConfiguredSigner>>
    /** Returns the key to sign with. If the signer is disabled, it does not sign. */
    use(id: SignerId): Effect.Effect<SignerBackend, SignerNotFound>
  }
>()("effect-relayer/server/signers/Signers") {
  /** @internal */
  static readonly layer = Layer.effect(
    Signers,
    Effect.gen(function* () {
      const repo = yield* SignersRepo.make
      const secrets = yield* Secrets
      const macs = yield* RowMacs
      const backends = yield* SignerKinds
      const changes = yield* Changes
      const audit = yield* Audit
      const outboundWork = yield* OutboundWork
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.make

      const kindOf = (type: SignerType): SignerKind<SignerType> => backends[type]

      const disabling = yield* Disabling.make

      /** What the secret is sealed together with, and what the MAC authenticates for reads that do not open the secret. */
      const content = (signer: Signer) => ({
        type: signer.type,
        config: signer.config,
        addresses: signer.addresses,
        ...(isRemote(signer) ? { curve: signer.curve, public_key: signer.public_key } : {})
      })

      const place = (signer: Signer) => ({
        table: "signers",
        id: signer.id,
        column: kindOf(signer.type).column,
        context: content(signer)
      })

      const rowOf = (signer: Signer) => ({ table: "signers", id: signer.id, content: content(signer) })

      const verified = ({ signer, mac }: StoredSigner) => Effect.as(macs.verify(rowOf(signer), mac), signer)

      /** A request holds no connection while it waits for a key. */
      const withKey = <A, E, R>({ worksOutside }: SignerKind<SignerType>, work: Effect.Effect<A, E, R>) =>
        worksOutside ? outboundWork.run(work) : work

      const prepare = Effect.fnUntraced(function* ({ type, config: request }: CreateSigner) {
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

      const create = Effect.fn("Signers.create")(function* (given: CreateSigner) {
        const request = yield* checkCreate(given)
        const { type } = request
        const id = SignerId.make(request.id ?? (yield* random.uuidV7()))
        const kind = kindOf(type)
        const { config, secret, addresses, pinned } = yield* withKey(kind, prepare(request))
        const key = pinned === undefined ? {} : { curve: pinned.curve, public_key: Hex.encode(pinned.publicKey) }
        const signer = yield* Effect.orDie(toSigner({ id, type, config, addresses, ...key }))
        const sealed = yield* secrets.seal(secret, place(signer))
        yield* repo
          .insert({ signer, mac: yield* macs.make(rowOf(signer)), sealed, column: kind.column })
          .pipe(
            Effect.andThen(changes.record({ action: "signer.created", id, schema: Signer, after: signer })),
            transaction
          )
        yield* Effect.annotateLogs(Effect.logInfo("signer created"), { signer_id: id, type })
        return signer
      })

      const list = Effect.fn("Signers.list")(function* (query: PageQuery) {
        const page = yield* repo.page(pageRequest(query))
        return { ...page, items: yield* Effect.forEach(page.items, verified) }
      })

      const get = Effect.fn("Signers.get")((id: SignerId) => Effect.flatMap(required(repo.find(id)), verified))

      const hold = Effect.fn("Signers.hold")(function* (
        ids: ReadonlyArray<SignerId>,
        { wait }: { readonly wait: boolean }
      ) {
        const signers = yield* Effect.forEach(yield* repo.hold(ids, wait), verified)
        return new Map(signers.map(({ id, addresses }) => [id, addresses]))
      })

      const deleteRow = (id: SignerId) =>
        Effect.gen(function* () {
          const found = yield* repo.delete(id)
          if (Option.isNone(found)) return yield* new SignerNotFound({})
          yield* changes.record({ action: "signer.deleted", id, schema: Signer, before: found.value })
        }).pipe(transaction)

      const remove: (id: SignerId) => Effect.Effect<void, SignerNotFound | SignerInUse> = Effect.fn("Signers.delete")(
        function* (id: SignerId) {
          const isReferenced = yield* Effect.as(deleteRow(id), false).pipe(
            Effect.catchTag("ReferencedByRelayer", () => Effect.succeed(true))
          )
          if (!isReferenced) return yield* Effect.annotateLogs(Effect.logInfo("signer deleted"), { signer_id: id })
          const ids = yield* repo.users(id, maxNamed + 1)
          // The last relayer that used it has been deleted in between.
          if (ids.length === 0) return yield* remove(id)
          return yield* new SignerInUse({ error: usedBy(yield* Caller.current, "relayers", ids) })
        }
      )

      const open = Effect.fn("Signers.open")(function* ({ signer, sealed }: SealedSigner) {
        const secret = yield* Effect.orDie(secrets.open(sealed, place(signer)))
        const pinned = isRemote(signer)
          ? { pinned: { curve: signer.curve, publicKey: Buffer.from(signer.public_key, "hex") } }
          : {}
        return measured(signer.type, kindOf(signer.type).open({ config: signer.config, secret, ...pinned }))
      })

      const configured = Effect.fn("Signers.configured")(function* (ids: ReadonlyArray<string>, lock: boolean) {
        return yield* Effect.forEach(yield* repo.findAllSealed(ids, lock), ({ signer, sealed }) =>
          Effect.map(Effect.option(secrets.open(sealed, place(signer))), (secret) => ({ signer, secret }))
        )
      })

      const use = Effect.fn("Signers.use")(function* (id: SignerId) {
        const stored = yield* required(repo.findSealed(id))
        return disabling.guard(stored.signer, yield* open(stored))
      })

      const verify = Effect.fn("Signers.verify")(function* (id: SignerId) {
        const stored = yield* required(repo.findSealed(id))
        const { signer } = stored
        const { steps, mismatch } = yield* withKey(kindOf(signer.type), Probe.run(signer, yield* open(stored)))
        const verified = steps.every(({ status }) => status === "ok" || status === "warning")
        if (isRemote(signer) && mismatch !== undefined) yield* disabling.disable(signer, mismatch.message)
        if (isRemote(signer) && verified) yield* disabling.enable(signer)
        yield* Effect.annotateLogs(Effect.logInfo("signer verified"), { signer_id: id, verified })
        const after = { id, verified, steps }
        yield* audit.record({ action: "signer.verified", id, schema: Verification, after })
        return after
      })

      return Signers.of({ create, list, get, hold, delete: remove, verify, configured, use })
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
