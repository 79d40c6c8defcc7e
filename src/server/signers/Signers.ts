// Signers: their keys are given, generated here, or kept in Vault or a key service. Secrets are sealed and never leave the service.
import { Context, DateTime, Effect, Equal, Layer, Option } from "effect"
import type { Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Caller from "../../domain/access/Caller.ts"
import { maxNamed, usedBy } from "../../domain/request/InUse.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import { BadRequest, checked, ServiceUnavailable } from "../../domain/request/Request.ts"
import { CreateSigner, ReplaceSignerCredentials } from "../../domain/signer/CreateSigner.ts"
import { isRemote, Signer, SignerId, SignerInUse, SignerNotFound, Verification } from "../../domain/signer/Signer.ts"
import type {
  RemoteSigner,
  SignerAddresses,
  SignerDisabledReason,
  SignerIdTaken,
  SignerKeyTaken,
  SignerType
} from "../../domain/signer/Signer.ts"
import { TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import type { Ids } from "../../sql/Rows.ts"
import { Audit } from "../audit/Audit.ts"
import { Changes } from "../changes/Changes.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { splitVerified } from "../secrets/Secrets.ts"
import * as SignerKeys from "./SignerKeys.ts"
import * as SignersRepo from "./SignersRepo.ts"
import { SignerUnavailable } from "./backends/SignerBackend.ts"
import type { Prepared, SignerBackend, SignerKind } from "./backends/SignerBackend.ts"

// Disables a signer if its key is no longer the pinned one, and enables it when a verification succeeds.

const asEnabled = (signer: Signer): Signer => {
  if (!isRemote(signer)) return signer
  const { disabled_reason: _, ...rest } = signer
  return rest
}

const refusing = (backend: SignerBackend, { message }: SignerDisabledReason): SignerBackend => ({
  ...backend,
  sign: () =>
    Effect.fail(
      new SignerUnavailable({ reason: "mismatch", message: `the signer is disabled until it is verified: ${message}` })
    )
})

const makeDisabling = Effect.gen(function* () {
  const repo = yield* SignersRepo.make
  const changes = yield* Changes
  const transaction = yield* Transaction.make

  /** Does nothing if the signer has been deleted, even if another one has its id now. */
  const disable = Effect.fn("Signers.disable")(function* (signer: RemoteSigner, message: string) {
    const { id } = signer
    const reason = { code: "key_mismatch" as const, message, at: yield* DateTime.now }
    const disabled = yield* repo.disable(signer, reason)
    if (Option.isNone(disabled)) return
    yield* changes.record({
      action: "signer.disabled",
      id,
      schema: Signer,
      before: asEnabled(disabled.value),
      after: disabled.value
    })
    yield* Effect.annotateLogs(Effect.logError("signer disabled because its key has changed"), {
      signer_id: id,
      message
    })
  }, transaction)

  /** `before` is the signer as it was before its verification. Does nothing if it was disabled again meanwhile. */
  const enable = Effect.fn("Signers.enable")(function* (before: RemoteSigner) {
    const { id } = before
    const after = yield* repo.enable(before)
    if (Option.isNone(after)) return
    yield* changes.record({ action: "signer.enabled", id, schema: Signer, before, after: after.value })
    yield* Effect.annotateLogs(Effect.logInfo("signer enabled"), { signer_id: id })
  }, transaction)

  /** The key to sign with. It refuses to sign if the signer is disabled, and disables the signer if another key has signed. */
  const guard = (signer: Signer, backend: SignerBackend): SignerBackend => {
    if (!isRemote(signer)) return backend
    if (signer.disabled_reason !== undefined) return refusing(backend, signer.disabled_reason)
    return {
      ...backend,
      sign: (curve, message) =>
        Effect.tapError(backend.sign(curve, message), (failure) =>
          failure.reason === "mismatch" ? disable(signer, failure.message) : Effect.void
        )
    }
  }

  return { disable, enable, guard }
})

// Replaces the logins of signers at key services. A new login is tried before it is stored.

const isSameKey = (one: Signer, other: Signer): boolean =>
  Equal.equals({ ...SignerKeys.content(one), config: {} }, { ...SignerKeys.content(other), config: {} })

const makeSignerLogins = Effect.gen(function* () {
  const repo = yield* SignersRepo.make
  const keys = yield* SignerKeys.make
  const audit = yield* Audit
  const disabling = yield* makeDisabling
  const transaction = yield* Transaction.make

  /** With the new login, before it is stored. */
  const probe = Effect.fnUntraced(function* (signer: Signer, prepared: Prepared<Signer["config"]>) {
    const { steps } = yield* SignerKeys.probeKey(signer, keys.kindOf(signer.type).open(prepared))
    const failed = steps.find(({ status }) => status === "failed")
    if (failed === undefined) return
    return yield* BadRequest.of([{ field: "config", message: failed.message ?? `the step ${failed.step} failed` }])
  })

  /** The signer with the new login. Fails if that does not lead to its key. */
  const relogged = Effect.fnUntraced(function* (before: Signer, request: ReplaceSignerCredentials) {
    const config = keys.kindOf(request.type).ofKey?.(request.config, before.config) ?? request.config
    const prepared = yield* keys.prepare({ type: request.type, config })
    const after = yield* keys.signerWith(before, prepared)
    if (!isSameKey(after, before)) {
      return yield* BadRequest.of([{ field: "config", message: "leads to another key than that of the signer" }])
    }
    yield* probe(after, prepared)
    return { after, secret: prepared.secret }
  })

  const stage = Effect.fn("Signers.stageCredentials")(function* (id: SignerId, request: ReplaceSignerCredentials) {
    // A login decides what signs, and so what is paid.
    if ((yield* Caller.current).transactionLimits !== undefined) {
      return yield* TransactionLimitExceeded.ofChange("config")
    }
    const stored = yield* SignerKeys.required(repo.find(id))
    const before = yield* keys.verified(stored)
    if (before.type !== request.type) {
      return yield* BadRequest.of([{ field: "type", message: `must be ${before.type}, the type of the signer` }])
    }
    const { after, secret } = yield* relogged(before, request)
    const row = yield* keys.seal(after, secret)
    return Effect.gen(function* () {
      const isReplaced = yield* repo.replaceCredentials(row, stored).pipe(
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
      return yield* Effect.flatMap(SignerKeys.required(repo.find(id)), keys.verified)
    })
  })

  return { stage }
})

const checkCreate = checked(CreateSigner)
const checkReplace = checked(ReplaceSignerCredentials)

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
      const keys = yield* SignerKeys.make
      const logins = yield* makeSignerLogins
      const changes = yield* Changes
      const audit = yield* Audit
      const outboundWork = yield* OutboundWork
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.make

      const disabling = yield* makeDisabling

      /** A request holds no connection while it waits for a key. */
      const withKey = <A, E, R>({ worksOutside }: SignerKind<SignerType>, work: Effect.Effect<A, E, R>) =>
        worksOutside ? outboundWork.run(work) : work

      const stage = Effect.fn("Signers.stage")(function* (request: CreateSigner) {
        const { type } = request
        const id = SignerId.make(request.id ?? (yield* random.uuidV7()))
        const prepared = yield* keys.prepare(request)
        const signer = yield* keys.signerWith({ id, type }, prepared)
        const row = yield* keys.seal(signer, prepared.secret)
        return repo
          .insert(row)
          .pipe(
            Effect.andThen(changes.record({ action: "signer.created", id, schema: Signer, after: signer })),
            transaction,
            Effect.andThen(Effect.annotateLogs(Effect.logInfo("signer created"), { signer_id: id, type })),
            Effect.as(signer)
          )
      })

      const create = Effect.fn("Signers.create")(function* (given: CreateSigner) {
        const request = yield* checkCreate(given)
        return yield* yield* withKey(keys.kindOf(request.type), stage(request))
      })

      const list = Effect.fn("Signers.list")(function* (query: PageQuery) {
        const page = yield* repo.page(pageRequest(query))
        const { items, unreadable } = yield* splitVerified(page.items, keys.verified)
        return {
          ...page,
          items: items.map(({ signer }) => signer),
          unreadable: [...page.unreadable, ...unreadable]
        }
      })

      const get = Effect.fn("Signers.get")((id: SignerId) =>
        Effect.flatMap(SignerKeys.required(repo.find(id)), keys.verified)
      )

      const hold = Effect.fn("Signers.hold")(function* (
        ids: ReadonlyArray<SignerId>,
        { wait }: { readonly wait: boolean }
      ) {
        const signers = yield* Effect.forEach(yield* repo.hold(ids, wait), keys.verified)
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

      const configured = Effect.fn("Signers.configured")(function* (ids: Ids, lock: boolean) {
        return yield* Effect.forEach(yield* repo.findAllSealed(ids, lock), (sealed) =>
          Effect.map(keys.secretOf(sealed), (secret) => ({ signer: sealed.signer, secret }))
        )
      })

      const use = Effect.fn("Signers.use")(function* (id: SignerId) {
        const stored = yield* SignerKeys.required(repo.findSealed(id))
        return disabling.guard(stored.signer, yield* keys.open(stored))
      })

      const replaceCredentials = Effect.fn("Signers.replaceCredentials")(function* (
        id: SignerId,
        given: ReplaceSignerCredentials
      ) {
        const request = yield* checkReplace(given)
        return yield* yield* withKey(keys.kindOf(request.type), logins.stage(id, request))
      })

      const verify = Effect.fn("Signers.verify")(function* (id: SignerId) {
        const stored = yield* SignerKeys.required(repo.findSealed(id))
        const { signer } = stored
        const { steps, mismatch } = yield* withKey(
          keys.kindOf(signer.type),
          SignerKeys.probeKey(signer, yield* keys.open(stored))
        )
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
        stageCredentials: logins.stage,
        verify,
        configured,
        use
      })
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
