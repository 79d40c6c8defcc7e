// Transactions whose bytes a caller got signed before: they take the signature over, because the bytes are outside already.
import { Effect } from "effect"
import type { Account } from "../NewTransaction.ts"
import { LedgerRules } from "../LedgerRules.ts"
import * as GivenRepo from "./GivenRepo.ts"
import type { Acceptance } from "./NewTransactionsRepo.ts"

export const make = Effect.gen(function* () {
  const repo = yield* GivenRepo.make
  const networks = yield* LedgerRules

  /** The caller has locked the identities. */
  return Effect.fnUntraced(function* (account: Account, acceptances: ReadonlyArray<Acceptance>) {
    const { rules, offer } = networks.of(account.chain)
    const { withGiven } = rules
    const identities = acceptances.flatMap(({ transaction: { identity } }) => identity ?? [])
    if (withGiven === undefined || identities.length === 0) return acceptances
    const offers = yield* repo.offers(account, identities)
    return acceptances.map((acceptance) => {
      const { identity = "", facts } = acceptance.transaction
      const given = offers.get(identity)
      if (given === undefined) return acceptance
      const known = withGiven(facts, { hash: given.hash, offer: offer.decode(given.offer) })
      return { ...acceptance, transaction: { ...acceptance.transaction, facts: known } }
    })
  })
})
