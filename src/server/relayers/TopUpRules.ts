// Who may let which relayer pay for which: the rules of the policy `top_up` that concern more than one relayer.
import { Effect, Option, Schema } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { networkId } from "../../domain/network/Network.ts"
import { RelayerId, RelayerInUse } from "../../domain/relayer/Relayer.ts"
import type { CreateRelayer, Relayer, UpdateRelayer } from "../../domain/relayer/Relayer.ts"
import type { TopUp } from "../../domain/relayer/TopUp.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import { TopUps } from "../ledger/TopUps.ts"
import type { TopUpLoop, TopUpParty } from "../ledger/TopUps.ts"
import { Networks } from "../networks/Networks.ts"
import * as RelayersRepo from "./RelayersRepo.ts"
import type { StoredRelayer } from "./StoredRelayer.ts"

const policyField = "policies.top_up"
const payerField = `${policyField}.from`

export const topUpOf = ({ policies }: Pick<CreateRelayer | Relayer, "policies">): TopUp | undefined => policies?.top_up

/** The fields in their order, and equal texts for equal settings. */
const textOf = (topUp: TopUp | undefined): string =>
  topUp === undefined
    ? ""
    : [topUp.from, topUp.below, topUp.to, topUp.max_per_day, topUp.runway_hours ?? ""].map(String).join(" ")

const isId = Schema.is(RelayerId)

/** Whether the patch can set a top-up. */
const mentions = ({ policies }: UpdateRelayer): boolean =>
  typeof policies === "object" && policies !== null && Object.hasOwn(policies, "top_up")

/** The payer that a patch names. Undefined: it names none. */
const namedIn = ({ policies }: UpdateRelayer): string | undefined => {
  const topUp: unknown = policies?.["top_up"]
  const from = typeof topUp === "object" && topUp !== null && "from" in topUp ? topUp.from : undefined
  return typeof from === "string" ? from : undefined
}

const refused = (field: string, message: string) => Effect.fail(BadRequest.of([{ field, message }]))

const loopProblems: Readonly<Record<TopUpLoop, { readonly field: string; readonly message: string }>> = {
  payer_gets: { field: payerField, message: "gets top-ups itself, or another relayer of its account does" },
  target_pays: {
    field: policyField,
    message: "pays the top-ups of other relayers, or another relayer of its account does"
  }
}

export const makeTopUpRules = Effect.gen(function* () {
  const repo = yield* RelayersRepo.make
  const networks = yield* Networks
  const topUps = yield* TopUps

  /**
   * Fails if the caller may not let the payer pay: for a caller that is limited to some relayers, no others exist, and a key with limits could
   * send itself more than they allow.
   */
  const checkCaller = Effect.fnUntraced(function* ({ from }: TopUp) {
    const { relayerIds, transactionLimits } = yield* Caller.current
    if (transactionLimits !== undefined) return yield* TransactionLimitExceeded.ofChange(policyField)
    if (relayerIds !== undefined && !relayerIds.includes(from)) {
      return yield* refused(payerField, "no relayer with this id")
    }
  })

  /** The same of a request that changes or makes a relayer. */
  const checkRequest = (after: CreateRelayer, before?: Relayer) => {
    const wanted = topUpOf(after)
    return wanted === undefined || (before !== undefined && textOf(topUpOf(before)) === textOf(wanted))
      ? Effect.void
      : checkCaller(wanted)
  }

  /** A network exists as long as its relayers do. */
  const partyOf = Effect.fnUntraced(function* ({ number, value: relayer }: StoredRelayer) {
    const network = yield* Effect.orDie(networks.get(networkId(relayer.network_type, relayer.network)))
    const account = topUps.accountOf({ relayer, network: network.value })
    const party: TopUpParty | undefined = account && { number, account }
    return party
  })

  /** The caller has locked the settings, and the rows of both relayers. */
  const store = Effect.fnUntraced(function* (stored: StoredRelayer, { from }: TopUp) {
    const payer = Option.getOrUndefined(yield* repo.find(RelayerId.make(from)))
    if (payer === undefined) return yield* refused(payerField, "no relayer with this id")
    const [target, paying] = [yield* partyOf(stored), yield* partyOf(payer)]
    if (target === undefined || paying === undefined || target.account.chain !== paying.account.chain) {
      return yield* refused(payerField, `is not on the chain of the relayer, ${stored.value.network}`)
    }
    if (target.account.address === paying.account.address) {
      return yield* refused(payerField, "has the account of the relayer: name one with another account")
    }
    const [loop] = yield* topUps.loops(target, paying)
    if (loop !== undefined) return yield* BadRequest.of([loopProblems[loop]])
    yield* Effect.catchTag(topUps.set(target, paying), "AccountHasTopUp", () =>
      refused(policyField, "another relayer with this account gets top-ups already")
    )
  })

  /**
   * Locks what a new top-up needs, in the order in which everything locks it: the settings, then the rows of both relayers by their numbers.
   * `given`: the payer as the request names it. Undefined: as the relayer has it.
   */
  const lock = Effect.fnUntraced(function* (target: RelayerId | undefined, given: string | undefined) {
    yield* topUps.lockSettings
    const before = target === undefined ? undefined : Option.getOrUndefined(yield* repo.find(target))
    const payer = given ?? (before && topUpOf(before.value)?.from)
    const ids = [target, payer].filter(isId)
    const numbers = yield* repo.findNumbers(ids)
    const rows = ids.flatMap((id, index) => {
      const number = numbers[index]
      return number === undefined || Option.isNone(number) ? [] : [{ id, number: number.value }]
    })
    for (const { id } of rows.toSorted((one, other) => one.number - other.number)) yield* repo.findForUpdate(id)
  })

  /** Before a change locks anything. */
  const lockForPatch = (id: RelayerId, patch: UpdateRelayer) =>
    mentions(patch) ? lock(id, namedIn(patch)) : Effect.void

  /** Before a create locks anything. */
  const lockForCreate = ({ from }: TopUp) => lock(undefined, from)

  /** After the row has changed. */
  const follow = Effect.fnUntraced(function* (before: Relayer, after: StoredRelayer) {
    const wanted = topUpOf(after.value)
    if (textOf(topUpOf(before)) === textOf(wanted)) return
    yield* wanted === undefined ? topUps.unset(after.number) : store(after, wanted)
  })

  /** A payer stays while it is named: the relayers that name it would be without one. */
  const checkDelete = Effect.fnUntraced(function* (number: number) {
    const named = yield* topUps.namedBy(number)
    if (named.length === 0) return
    return yield* new RelayerInUse({
      error: `pays the top-ups of ${named.join(", ")}: remove \`top_up\` from their policies first`
    })
  })

  return { checkRequest, store, lockForPatch, lockForCreate, follow, checkDelete }
})
