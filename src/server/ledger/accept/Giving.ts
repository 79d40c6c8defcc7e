// Stores signatures that a caller gets before the caller gets them: their fees count as if the service sent them.
import { Clock, Data, Effect, Option } from "effect"
import { RelayerPaused } from "../../../domain/transaction/AcceptanceErrors.ts"
import { TransactionConflict } from "../../../domain/transaction/Cancellation.ts"
import { Audit } from "../../audit/Audit.ts"
import { LedgerRules } from "../LedgerRules.ts"
import { RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { retryDeadlock } from "../../../sql/Transaction.ts"
import { currentOrigin } from "../../responses/CurrentRequest.ts"
import type { GivenSignature, IssuedSignature } from "../GivenSignature.ts"
import * as LanesRepo from "../hold/LanesRepo.ts"
import type { Account, FeeLimit } from "../NewTransaction.ts"
import * as FeeLimits from "./FeeLimits.ts"
import * as GivenRepo from "./GivenRepo.ts"
import * as Identities from "./Identities.ts"
import * as NewTransactionsRepo from "./NewTransactionsRepo.ts"

/** Another request committed the same identity between the lookup and the insertion: the next lookup finds it. */
class Raced extends Data.TaggedError("Raced") {}

export const isOfAnother = new TransactionConflict({
  error: "already_signed: the same bytes were signed for another relayer"
})

export const make = Effect.gen(function* () {
  const repo = yield* GivenRepo.make
  const lanes = yield* LanesRepo.make
  const relayers = yield* NewTransactionsRepo.make
  const identities = yield* Identities.make
  const { spend } = yield* FeeLimits.make
  const networks = yield* LedgerRules
  const audit = yield* Audit
  const transaction = yield* Transaction.make

  const given = Effect.fn("Ledger.given")(function* (account: Account, identity: string) {
    yield* identities.check(account, [{ identity }])
    const former = Option.getOrUndefined(yield* repo.find(account, identity))
    if (former === undefined) return undefined
    if (former.relayer_number !== account.relayerNumber) return yield* isOfAnother
    const issued: IssuedSignature = { hash: former.hash, raw: former.raw, isNew: false }
    return issued
  })

  /** As the attempts of the chain store theirs. */
  const offerText = (chain: string, { offer }: GivenSignature): string | undefined =>
    offer === undefined ? undefined : networks.of(chain).offer.text(offer)

  const giveOnce = Effect.fnUntraced(function* (
    account: Account,
    fresh: GivenSignature,
    limits: ReadonlyArray<FeeLimit>
  ) {
    const relayer = yield* relayers.holdRelayer(account.relayerNumber)
    if (Option.isNone(relayer)) return yield* new RelayerNotFound({})
    if (relayer.value.paused) return yield* new RelayerPaused({})
    yield* lanes.ensure([account])
    const { hash, raw, fee, identity } = fresh
    if (identity !== undefined) yield* identities.lock([identity])
    const former = identity === undefined ? undefined : yield* given(account, identity)
    if (former !== undefined) return former
    // The service can have built the same bytes for a transaction: commits of the lane wait until this one ends.
    yield* lanes.lock(account)
    yield* identities.checkSignature(account, hash)
    const now = yield* Clock.currentTimeMillis
    const origin = yield* currentOrigin
    yield* spend(
      limits.map((limit) => ({ ...limit, more: fee })),
      now
    )
    const { relayerId, chain } = account
    if (!(yield* repo.insert(account, origin.keyId, fresh, offerText(chain, fresh), now))) return yield* new Raced()
    const after = JSON.stringify({ relayer_id: relayerId, chain, hash, identity, fee: String(fee) })
    yield* audit.recordMany([{ action: "transaction.signed", id: hash, after, origin }])
    const issued: IssuedSignature = { hash, raw, isNew: true }
    return issued
  }, transaction)

  const give = Effect.fn("Ledger.give")(
    (account: Account, fresh: GivenSignature, limits: ReadonlyArray<FeeLimit> = []) =>
      giveOnce(account, fresh, limits).pipe(
        retryDeadlock,
        Effect.retry({ while: ({ _tag }) => _tag === "Raced" }),
        Effect.catchTag("Raced", Effect.die)
      )
  )

  return { give, given, givenPlaces: repo.places }
})
