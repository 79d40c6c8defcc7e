// Signers: their keys are given, generated here, or kept in Vault or a key service. Secrets are sealed and never leave the service.
import { Context, Effect, Equal, Layer, Option, Schema } from "effect"
import type { Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import * as Caller from "../../domain/access/Caller.ts"
import { checked } from "../../domain/request/Checked.ts"
import { maxNamed, usedBy } from "../../domain/request/InUse.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import { BadRequest, ServiceUnavailable } from "../../domain/request/Request.ts"
import { CreateSigner, ReplaceSignerCredentials } from "../../domain/signer/CreateSigner.ts"
import { Signer, SignerInUse, SignerNotFound, isRemote } from "../../domain/signer/Signer.ts"
import { SignerId } from "../../domain/signer/SignerId.ts"
import { Verification } from "../../domain/signer/Verification.ts"
import type { SignerIdTaken, SignerKeyTaken, SignerType } from "../../domain/signer/Signer.ts"
import type { SignerAddresses } from "../../domain/signer/SignerAddresses.ts"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import type { Ids } from "../../sql/SelectPage.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Audit } from "../audit/Audit.ts"
import { Changes } from "../changes/Changes.ts"
import { OutboundWork } from "../limits/OutboundWork.ts"
import { RowMacs } from "../secrets/RowMacs.ts"
import * as ChangedRow from "../secrets/ChangedRow.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as Addresses from "./Addresses.ts"
import { SignerKinds } from "./backends/SignerBackend.ts"
import type { Prepared, SignerBackend, SignerKind } from "./backends/SignerBackend.ts"
import * as Disabling from "./Disabling.ts"
import * as Probe from "./Probe.ts"
import { measured } from "./SignerMetrics.ts"
import * as SignersRepo from "./SignersRepo.ts"
import type { SealedSigner, StoredSigner } from "./SignersRepo.ts"

const checkCreate = checked(CreateSigner)
const checkReplace = checked(ReplaceSignerCredentials)

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
    /**
     * Reads the key of a new signer, which waits for the key service or the derivation of a keystore: it runs outside of
     * transactions. What it returns stores the signer.
     *
     * @internal
     */
    stage(
      request: CreateSigner
    ): Effect.Effect<Effect.Effect<Signer, SignerIdTaken | SignerKeyTaken>, BadRequest | ServiceUnavailable>
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
     * Replaces the login at a key service. `BadRequest` if the new login does not lead to the key of the signer, or the key does
     * not sign with it; `TransactionLimitExceeded` if the caller has limits.
     */
    replaceCredentials(
      id: SignerId,
      request: ReplaceSignerCredentials
    ): Effect.Effect<
      Signer,
      SignerNotFound | BadRequest | ServiceUnavailable | Caller.TooManyRequests | TransactionLimitExceeded
    >
    /**
     * Tries a new login, outside of transactions. What it returns stores the login. Fails as `replaceCredentials` does.
     *
     * @internal
     */
    stageCredentials(
      id: SignerId,
      request: ReplaceSignerCredentials
    ): Effect.Effect<
      Effect.Effect<Signer, SignerNotFound | ServiceUnavailable>,
      SignerNotFound | BadRequest | ServiceUnavailable | TransactionLimitExceeded
    >
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
    configured(ids: Ids, lock: boolean): Effect.Effect<ReadonlyArray<ConfiguredSigner>>
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

      const stage = Effect.fn("Signers.stage")(function* (request: CreateSigner) {
        const { type } = request
        const id = SignerId.make(request.id ?? (yield* random.uuidV7()))
        const kind = kindOf(type)
        const { config, secret, addresses, pinned } = yield* prepare(request)
        const key = pinned === undefined ? {} : { curve: pinned.curve, public_key: Hex.encode(pinned.publicKey) }
        const signer = yield* Effect.orDie(toSigner({ id, type, config, addresses, ...key }))
        const sealed = yield* secrets.seal(secret, place(signer))
        const mac = yield* macs.make(rowOf(signer))
        return repo
          .insert({ signer, mac, sealed, column: kind.column })
          .pipe(
            Effect.andThen(changes.record({ action: "signer.created", id, schema: Signer, after: signer })),
            transaction,
            Effect.andThen(Effect.annotateLogs(Effect.logInfo("signer created"), { signer_id: id, type })),
            Effect.as(signer)
          )
      })

      const create = Effect.fn("Signers.create")(function* (given: CreateSigner) {
        const request = yield* checkCreate(given)
        return yield* yield* withKey(kindOf(request.type), stage(request))
      })

      const list = Effect.fn("Signers.list")(function* (query: PageQuery) {
        const page = yield* repo.page(pageRequest(query))
        const { items, unreadable } = yield* ChangedRow.split(page.items, verified)
        return {
          ...page,
          items: items.map(({ signer }) => signer),
          unreadable: [...page.unreadable, ...unreadable]
        }
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

      const configured = Effect.fn("Signers.configured")(function* (ids: Ids, lock: boolean) {
        return yield* Effect.forEach(yield* repo.findAllSealed(ids, lock), ({ signer, sealed }) =>
          Effect.map(Effect.option(secrets.open(sealed, place(signer))), (secret) => ({ signer, secret }))
        )
      })

      const use = Effect.fn("Signers.use")(function* (id: SignerId) {
        const stored = yield* required(repo.findSealed(id))
        return disabling.guard(stored.signer, yield* open(stored))
      })

      /** With the new login, before it is stored. */
      const probe = Effect.fnUntraced(function* (signer: Signer, prepared: Prepared<Signer["config"]>) {
        const { steps } = yield* Probe.run(signer, kindOf(signer.type).open(prepared))
        const failed = steps.find(({ status }) => status === "failed")
        if (failed === undefined) return
        return yield* BadRequest.of([{ field: "config", message: failed.message ?? `the step ${failed.step} failed` }])
      })

      /** The signer with the new login. Fails if that does not lead to its key. */
      const relogged = Effect.fnUntraced(function* (before: Signer, request: ReplaceSignerCredentials) {
        const prepared = yield* prepare(request)
        const { addresses, config, pinned } = prepared
        const key = pinned === undefined ? {} : { curve: pinned.curve, public_key: Hex.encode(pinned.publicKey) }
        const after = yield* Effect.orDie(toSigner({ ...before, config, addresses, ...key }))
        if (!Equal.equals({ ...content(after), config: {} }, { ...content(before), config: {} })) {
          return yield* BadRequest.of([{ field: "config", message: "leads to another key than that of the signer" }])
        }
        yield* probe(after, prepared)
        return { after, secret: prepared.secret }
      })

      const stageCredentials = Effect.fn("Signers.stageCredentials")(function* (
        id: SignerId,
        request: ReplaceSignerCredentials
      ) {
        // Whoever signs decides what is paid.
        if ((yield* Caller.current).transactionLimits !== undefined) {
          return yield* TransactionLimitExceeded.ofChange("config")
        }
        const stored = yield* required(repo.find(id))
        const before = yield* verified(stored)
        if (before.type !== request.type) {
          return yield* BadRequest.of([{ field: "type", message: `must be ${before.type}, the type of the signer` }])
        }
        const kind = kindOf(before.type)
        const { after, secret } = yield* relogged(before, request)
        const sealed = yield* secrets.seal(secret, place(after))
        const mac = yield* macs.make(rowOf(after))
        return Effect.gen(function* () {
          const isReplaced = yield* repo
            .replaceCredentials({ signer: after, mac, sealed, column: kind.column }, stored)
            .pipe(
              Effect.tap((isReplaced) =>
                isReplaced
                  ? audit.record({ action: "signer.credentials_replaced", id, schema: Signer, before, after })
                  : Effect.void
              ),
              transaction
            )
          if (!isReplaced) return yield* new ServiceUnavailable({})
          yield* Effect.annotateLogs(Effect.logInfo("signer credentials replaced"), { signer_id: id, type: after.type })
          if (isRemote(after)) yield* disabling.enable(after)
          return yield* get(id)
        })
      })

      const replaceCredentials = Effect.fn("Signers.replaceCredentials")(function* (
        id: SignerId,
        given: ReplaceSignerCredentials
      ) {
        const request = yield* checkReplace(given)
        return yield* yield* withKey(kindOf(request.type), stageCredentials(id, request))
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

      return Signers.of({
        create,
        stage,
        list,
        get,
        hold,
        delete: remove,
        replaceCredentials,
        stageCredentials,
        verify,
        configured,
        use
      })
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
