// How an evm transaction is shown: its codes in sentences, its fields, and the signature in its bytes.
import { DateTime } from "effect"
import { entryOf } from "../../../domain/request/Shown.ts"
import {
  because,
  explainWith,
  final,
  hashed,
  neverByTime,
  noAnswers,
  noOpinion,
  number,
  operator,
  times,
  transactions
} from "../../core/Cause.ts"
import type { Figures, KnownCode, PriceLimit, Sentences } from "../../core/Cause.ts"
import {
  heightOf,
  present,
  shownAttempt,
  shownAttemptFields,
  shownFields,
  shownVersions
} from "../../core/Presentation.ts"
import type { Identity } from "../../core/Presentation.ts"
import { isNoop, newestRequest, requestOf } from "../../core/Transaction.ts"
import type { Attempt, Mined, Transaction } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { warningsOf } from "./AuthorizationRules.ts"
import type { BatchCall } from "./Batch.ts"
import { givenFees, paidOf, speedOf } from "./Costs.ts"
import { attemptNonceOf, nonceOf } from "./Evm.ts"
import type { Evm, Request } from "./Evm.ts"
import type { EvmSignature } from "./EvmMessages.ts"
import { stillAfter } from "./EvmNumbers.ts"
import type { EvmTransaction } from "./EvmSchemas.ts"
import type { Fees } from "./Market.ts"

const wei = (amount: bigint | undefined): string =>
  amount === undefined ? "an unknown amount of wei" : `${amount} wei`

const withoutFunds = (until: Moment | undefined): string =>
  until === undefined
    ? "Without a nonce and without `wait_for_funds`, it fails after ten minutes in which nothing of its lane is in flight."
    : `Otherwise it fails at ${DateTime.formatIso(DateTime.makeUnsafe(until))}.`

const confirmations = ({ blocks, required_blocks }: Figures): string =>
  `${number(blocks)} of ${number(required_blocks)} blocks are on top of its block`

/** What limits a price, and what would change it. */
const limits: Readonly<Record<PriceLimit, { readonly what: string; readonly help: string }>> = {
  given: { what: "the fees that the request gives", help: "A replacement with higher fees helps." },
  cap: { what: "the relayer's `gas_price_cap`", help: "A higher `gas_price_cap` takes effect at once." },
  api_key: { what: "the limit of the API key", help: "A higher limit of the API key helps." },
  first_price: {
    what: "the price of its first attempt, because the relayer has no `gas_price_cap`",
    help: "A cancel lets a no-op follow the market."
  },
  operator: {
    what: "the price that an operator gave",
    help: "`POST /api/v1/relayers/{id}/nonce/clear` with a higher `max_fee_per_gas` helps."
  }
}

const limited = (limit: PriceLimit | undefined): string => (limit === undefined ? "" : `, by ${limits[limit].what}`)

const help = (limit: PriceLimit | undefined): string => limits[limit ?? "cap"].help

const nextBlock = "It is checked again with each block."

/** The transaction in front, as far as the caller may know it. */
const inFront = ({ front_nonce, front_id, front_code = "unknown" }: Figures): string => {
  const place = front_nonce === undefined ? "" : `nonce ${front_nonce}, `
  return `${front_id === undefined ? "another transaction" : `transaction ${front_id}`} (${place}code ${front_code})`
}

const firstIs = (front: Figures): string =>
  front.front_code === undefined ? "" : `. The first of those in front is ${inFront(front)}`

/** Codes of transactions without a nonce. */
const waiting = {
  queued: ({ position }) =>
    position === undefined || position === 0
      ? { reason: "It waits for its nonce.", next: "It gets its nonce in the next step of its lane." }
      : {
          reason: `It waits for its nonce behind ${transactions(position)} of its lane.`,
          next: "It gets a nonce as soon as those ahead have theirs."
        },
  lane_window_full: ({ in_flight, window }) => ({
    reason: `Its account has ${transactions(in_flight)} in flight; the limit is ${number(window)}.`,
    next: "It gets a nonce when one of them is mined."
  }),
  waits_for_predecessors: ({ nonce, required_nonce, next_nonce, ...front }) => {
    if (nonce !== undefined && front.front_code === undefined) {
      return {
        reason: `It is private, and public transactions of its account have nonces between the chain's count and its nonce ${nonce}: private providers would refuse it.`,
        next: "It is sent for the first time when they are mined."
      }
    }
    if (nonce !== undefined) {
      return {
        reason: `No block can take its nonce ${nonce} before that of ${inFront(front)}, which no node has now.`,
        next: "It can be mined when the transactions before it are. What ends the other code ends this one."
      }
    }
    return required_nonce === undefined
      ? {
          reason: `Its call reverts at the moment, but earlier transactions of the account are not mined yet${firstIs(front)}.`,
          next: "It is estimated again with each block, and fails if it still reverts after they are mined."
        }
      : {
          reason: `It requires nonce ${required_nonce}, and the next nonce of its lane is ${number(next_nonce)}${firstIs(front)}.`,
          next: "It waits for transactions that use the nonces in between; without any, it fails."
        }
  },
  waits_for_delegation: ({ nonce, in_flight }) => {
    if (in_flight !== undefined) {
      return {
        reason: `It changes what its account delegates to, and ${transactions(in_flight)} of the account are not final.`,
        next: "It is signed when they are final. Nothing else of the account is signed before it."
      }
    }
    return nonce === undefined
      ? {
          reason: "The delegation of its account is not final.",
          next: "It is signed when the delegation is final, and fails without a nonce if the account delegates to nothing."
        }
      : {
          reason: `The authorization of a delegation is to use nonce ${nonce}.`,
          next: "If it does not, a no-op uses the nonce at once, because the authorization would be valid for anybody."
        }
  },
  nonce_taken: ({ nonce, hash }) => ({
    reason: `Another transaction of the account${hashed(hash)} used its nonce ${number(nonce)}, so none of its attempts can be mined.`,
    next: "It gets a new nonce. Somebody else signs with this key: give the service a key of its own."
  })
} as const satisfies Sentences

/** Codes before and after the nonce. */
const held = {
  providers_unavailable: ({ price, ...figures }) =>
    price === undefined
      ? noAnswers(figures)
      : {
          reason: `The only RPC provider has shown a gas price of ${wei(price)} in one block so far, and the service knows no other price of this chain.`,
          next: `It offers the lower price of two blocks, or this one if there is no other block within ${stillAfter / 1000} seconds. A second RPC URL helps.`
        },
  gas_price_above_cap: ({ base_fee, cap, limit }) => ({
    reason: `The base fee of the next block is ${wei(base_fee)} per gas, and the transaction may pay at most ${wei(cap)}${limited(limit)}.`,
    next: `${nextBlock} ${help(limit)}`
  }),
  gas_price_below_base_fee: ({ base_fee, price, limit }) => ({
    reason: `The base fee of the next block is ${wei(base_fee)} per gas, and the transaction offers ${wei(price)}${limited(limit)}. It has no nonce, so nothing waits behind it.`,
    next: `${nextBlock} ${help(limit)} A cancel or its deadline ends it at once.`
  }),
  call_not_estimated: ({ error, until }) => ({
    reason: `No RPC provider estimates the gas of its call${because(error)}. This concerns the call alone: others pass it.`,
    next: `It is estimated again with each block${
      until === undefined ? "" : `, and fails at ${DateTime.formatIso(DateTime.makeUnsafe(until))}`
    }. A request with \`gas_limit\` needs no estimate.`
  }),
  insufficient_funds: ({ required, available, reserved, minimum, until }) => ({
    reason: `It needs ${wei(required)}. The account has ${wei(available)} available: other transactions reserve ${wei(reserved)}, and ${wei(minimum)} must stay.`,
    next: `${nextBlock} Send funds to the account. ${withoutFunds(until)}`
  }),
  no_private_rpc: () => ({
    reason: "It is private, and there is no private RPC URL any more.",
    next: "Nobody gets its bytes. Set `custom_private_rpc_urls` of the relayer or `private_rpc_urls` of its network, or send it publicly with `POST /api/v1/relayers/{id}/transactions/{transaction_id}/route`. A cancel or its deadline ends it."
  }),
  authorization_ahead: ({ authority, count, required_nonce, until }) => ({
    reason: `The authorization of ${authority ?? "an account"} has nonce ${number(required_nonce)}, and the chain counts ${transactions(count)} of it: nodes would skip the authorization.`,
    next: `It waits without a nonce until the account has got that far${until === undefined ? "" : `, and fails at ${DateTime.formatIso(DateTime.makeUnsafe(until))}`}. Others pass it.`
  }),
  authority_busy: ({ authority, sends }) =>
    sends === undefined
      ? {
          reason: `${authority === undefined ? "An account of its authorizations" : `The account ${authority}`} has several transactions in the pools of nodes, which take no authorization of it beside them.`,
          next: "It waits without a nonce until the account is free, or its deadline passes. Others pass it."
        }
      : {
          reason: `It was sent ${times(sends)}, and nodes do not keep it: an account of its authorizations has other transactions in their pools.`,
          next: "The same bytes are sent again. If others wait behind it, a no-op uses its nonce, and it fails after the third time."
        },
  chain_changed: () => ({
    reason: "The RPC URL serves another chain than the one that the transaction belongs to.",
    next: "Nothing is sent there. Correct the URL; if a test network was restarted, use `POST /api/v1/relayers/{id}/nonce/generation`."
  }),
  nonce_out_of_range: () => ({
    reason: "The nonce of the account is larger than the service can handle.",
    next: "Use another account: no transaction of this one can be sent."
  }),
  nonce_ahead: ({ count, next_nonce }) => ({
    reason: `The chain counts ${transactions(count)} of the account, far more than the service has sent; its next nonce is ${number(next_nonce)}.`,
    next: operator
  }),
  nonce_unexplained: ({ nonce, count, until }) =>
    nonce === undefined
      ? {
          reason: `The database was started after it was accepted${until === undefined ? "" : `, at ${DateTime.formatIso(DateTime.makeUnsafe(until))}`}. If the database was put back from a copy, the transaction may have been executed since.`,
          next: "It continues when a block is seen that is younger than the start of the database, or a few seconds later if the chain makes no blocks."
        }
      : {
          reason: `The chain counts ${transactions(count)} of the account, and no provider has shown yet which transaction used nonce ${nonce}. It could be one that the database has forgotten.`,
          next: "The next provider is asked with the next block. If none can show it, open transactions wait for the decision of an operator after ten polls. An RPC URL with history helps."
        },
  delegate_changed: ({ error }) => ({
    reason: `What its account delegates to has changed since the delegation${because(error)}.`,
    next: "It is not signed. Check the contract, then delegate again with `POST /api/v1/relayers/{id}/delegation`, or end the delegation."
  }),
  deep_reorg: ({ nonce, count }) => ({
    reason: `The chain has dropped transactions that were final: it counts ${number(count)}, and this one has nonce ${number(nonce)}.`,
    next: "The dropped transactions are sent again, then this one is mined."
  }),
  nonce_taken_unproven: ({ nonce, count, answer }) =>
    answer === "give_up"
      ? {
          reason: "An operator has given it up, and another transaction seems to have used its nonce.",
          next: "It becomes `failed` if another transaction is found at its nonce, or if no provider has a receipt of it, and `confirmed` if its own bytes are mined."
        }
      : {
          reason: `The chain counts ${transactions(count)} of the account, so its nonce ${number(nonce)} is used, but no provider shows which transaction used it.`,
          next: `It is checked again with each block. ${operator}`
        },
  restored_unproven: ({ hash, nonce }) => ({
    reason:
      hash === undefined
        ? "The database was restored, or another transaction of the account does the same, so it may have been executed already."
        : `Transaction ${hash} of the account used its nonce ${number(nonce)}. It may be this one, which the database has forgotten, or one of another program.`,
    next: `It is not sent by itself. ${operator}`
  })
} as const satisfies Sentences

/** Codes of transactions with a nonce. */
const flying = {
  sending: ({ sends }) =>
    sends === 0
      ? {
          reason: "It is signed and stored. No send of it is recorded yet.",
          next: "It is sent now, until a node accepts it."
        }
      : {
          reason: `It is signed, and it was sent ${times(sends)}. No node has confirmed that it received it.`,
          next: "It is sent again until a node accepts it."
        },
  in_pool: ({ sends }) => ({
    reason: `A node has accepted it; it was sent ${times(sends)}.`,
    next: "It is sent again after 30 seconds, and its price is raised if blocks do not include it."
  }),
  not_in_pool_rebroadcast: ({ sends }) => ({
    reason: `The node that is asked does not have it; it was sent ${times(sends)}.`,
    next: "The same bytes are sent again."
  }),
  underpriced_bumping: ({ price }) => ({
    reason: `Its price of ${wei(price)} per gas is too low for nodes or blocks.`,
    next: "It is signed again at the same nonce with a higher price."
  }),
  at_cap: ({ price, cap, limit }) => ({
    reason: `It would have to offer ${wei(price)} per gas, and may offer at most ${wei(cap)}${limited(limit)}.`,
    next: "The same bytes are sent again until it is mined or its deadline passes. A higher `gas_price_cap`, or a higher limit of the API key, helps."
  }),
  below_base_fee: ({ base_fee, price, cap, limit }) => ({
    reason: `The base fee of the next block is ${wei(base_fee)} per gas, its newest attempt offers ${wei(price)}, and the next one may offer at most ${wei(cap)}${limited(limit)}.`,
    next: `The same bytes are sent again until the base fee falls or its deadline passes. ${help(limit)}`
  }),
  yielding: ({ base_fee, price, hash, block }) => ({
    reason:
      block === undefined
        ? `${base_fee === undefined ? "Blocks do not take it: its fees do not pay the base fee, or an account of its authorizations is busy" : `Its fees do not pay the base fee of ${wei(base_fee)} per gas; its newest attempt offers ${wei(price)}`}. Transactions wait behind it, so a no-op${hashed(hash)} is to use its nonce.`
        : `Its fees did not pay the base fee, or an account of its authorizations was busy, and transactions waited behind it, so a no-op used its nonce in block ${block}.`,
    next: "When the no-op is final, it waits without a nonce until the base fee falls to its fees, or the account is free. It becomes `confirmed` if its own bytes are mined. A cancel ends it."
  }),
  canceling: ({ hash }) => ({
    reason: `It is being canceled by a no-op${hashed(hash)} at its nonce.`,
    next: "It becomes `canceled` if the no-op is mined, and `confirmed` if its own bytes are mined."
  }),
  expiring: ({ hash }) => ({
    reason: `Its deadline has passed, and a no-op${hashed(hash)} is to use its nonce.`,
    next: "It becomes `expired` if the no-op is mined, and `confirmed` if its own bytes are mined."
  }),
  mined_waiting: (figures) => ({
    reason: `It is mined in block ${number(figures.block)}; ${confirmations(figures)}.`,
    next: "It is confirmed when the block is final at every provider."
  }),
  reverted_unconfirmed: (figures) => ({
    reason: `It was mined in block ${number(figures.block)} and reverted; ${confirmations(figures)}.`,
    next: "It fails when the block is final. If the chain drops the block, it is sent again."
  }),
  effect_unproven: ({ block }) => ({
    reason: `It is in block ${number(block)}. What it did depends on the code that the account had there: no provider shows the state of that block, and the code that the account has by now does not prove it.`,
    next: `It is asked for again with each block: an RPC URL of an archive node shows it. ${operator} \`give_up\` ends it as \`failed\`. Look at the block first: its calls may have been made.`
  }),
  // About a receipt, it names the provider that should have an opinion.
  second_provider_missing: (figures) =>
    figures.host === undefined
      ? {
          reason: `It is in block ${number(figures.block)}. According to one provider, the account had other code there than it needed, and no other provider shows the state of that block.`,
          next: `${neverByTime} It is decided when another provider shows the state: an RPC URL of an archive node does. A weight of 0 for the others lets that provider decide alone.`
        }
      : noOpinion(figures),
  providers_disagree: ({ block, host = "another provider" }) => ({
    reason: `It is mined in block ${number(block)} according to one provider, but ${host} has another block there, another receipt, or other code of the account. No other provider agrees with either.`,
    next: `${neverByTime} An operator must find out which provider is wrong, and set its weight to 0 or add a third RPC URL.`
  }),
  chain_stalled: ({ newest_block, stalled_since }) => ({
    reason: `No RPC provider has shown a block after ${number(newest_block)}${stalled_since === undefined ? "" : ` since ${DateTime.formatIso(DateTime.makeUnsafe(stalled_since))}`}.`,
    next: "It continues when a provider shows a newer block; all of them are asked with each poll. If the chain makes blocks, an operator must add an RPC URL that follows it. A chain for tests that makes blocks for transactions alone must make them by itself: `anvil --block-time 1`. On Avalanche and its L1s a block is final at once and the next one may never come, so their networks need `required_confirmations` 0."
  }),
  accepted_not_included: ({ sends, host }) => ({
    reason: `Providers have accepted it${host === undefined ? "" : ` (${host})`}, it was sent ${times(sends)}, and its price suffices, but no block includes it.`,
    next: "It is sent to the next providers in turn, and its price is raised after three times its patience. If no provider passes it on, an operator must add an RPC URL that does."
  }),
  private_not_included: ({ blocks, revert_reason, sends, until, would_revert_now }) => ({
    reason: `Private providers have it, it was sent ${times(sends)}, and none of ${number(blocks)} blocks that could have paid for it includes it. ${
      would_revert_now === true
        ? `Its call would revert now${because(revert_reason)}, and many of them include nothing that reverts.`
        : "They include nothing that reverts, and reach a part of those who make blocks."
    }`,
    next: `It is sent to them again${until === undefined ? "" : ` until ${DateTime.formatIso(DateTime.makeUnsafe(until))}, when its fallback or its deadline comes`}. \`POST /api/v1/relayers/{id}/transactions/{transaction_id}/route\` sends it publicly at once, and a cancel ends it.`
  }),
  refused_in_unknown_words: ({ times: count, error }) => ({
    reason: `Every node refused it, ${times(count)} in a row, in words that the service cannot classify${because(error)}.`,
    next: "The same bytes are sent again; the price is raised only if it is below the base fee. An operator must do what the words ask for. A cancel, or `POST /api/v1/relayers/{id}/nonce/clear`, lets a no-op use its nonce."
  }),
  dropped_by_node: ({ sends, host }) => ({
    reason: `Providers say that they accept it${host === undefined ? "" : ` (${host})`}, it was sent ${times(sends)}, and the one that is asked does not have it afterwards.`,
    next: "The same bytes are sent again; the price is not raised, because blocks ask for no more. The account may lack what the chain charges besides gas, or its node takes one transaction of it at a time. An operator must fund the account, or add an RPC URL that keeps it."
  }),
  reorged: ({ block }) => ({
    reason: `The chain has dropped block ${number(block)}, in which it was mined.`,
    next: "It is sent again."
  })
} as const satisfies Sentences

/** Codes that only final transactions have. */
const ended = {
  confirmed: ({ block }) => final(`It was executed in block ${number(block)}, which is final.`),
  executed_late: ({ block }) =>
    final(`It was executed in block ${number(block)}, after its deadline: it was mined before the no-op.`),
  authorization_without_effect: ({ block }) =>
    final(
      `It was executed in block ${number(block)}, which is final, and a delegation of its authorizations is not there: nodes have skipped an entry, or another transaction has changed it since. The call may have met an account without code, which takes value and does nothing.`
    ),
  would_revert: ({ revert_reason }) =>
    final(`Its call reverts${because(revert_reason)}, so it was not sent. No nonce was used.`),
  private_estimate_unavailable: ({ error }) =>
    final(
      `No private RPC provider estimated the gas of its call${because(error)}, and no other one may see it. No nonce was used. A request with \`gas_limit\` needs no estimate.`
    ),
  gas_limit_above_block: ({ gas_limit, block_gas_limit }) =>
    final(
      `Its gas limit of ${gas_limit ?? "an unknown amount"} is above that of a block, ${block_gas_limit ?? "an unknown amount"}. No nonce was used.`
    ),
  gas_limit_below_estimate: ({ gas_limit, estimate }) =>
    final(
      `Its call uses ${estimate ?? "an unknown amount of"} gas now, which is above its gas limit of ${gas_limit ?? "an unknown amount"}, so it was not sent. No nonce was used.`
    ),
  authorization_used: ({ authority, count, required_nonce }) =>
    final(
      `The authorization of ${authority ?? "an account"} has nonce ${number(required_nonce)}, the chain counts ${transactions(count)} of it, and the delegation is not there. It was not sent.`
    ),
  authority_is_relayer: ({ authority }) =>
    final(
      `The account ${authority ?? "of one of its authorizations"} is that of a relayer, whose nonces the service gives away. It was not sent.`
    ),
  estimate_unavailable: () =>
    final(
      "No RPC provider takes its authorizations into account when it estimates gas, and none estimates with code in their place. No nonce was used. A request with `gas_limit` needs no estimate."
    ),
  own_account_has_code: () =>
    final(
      "Its data would call the code of its own account, which can call anybody with any value. It was not executed."
    ),
  not_delegated: ({ block }) =>
    final(
      block === undefined
        ? "Its account does not run the executor that it delegated to, so its calls were not made. No nonce was used, or a no-op has used it."
        : `Its account did not run the executor in block ${block}: the calls were not made, although the transaction is in the block.`
    ),
  delegation_without_effect: ({ block }) =>
    final(`It is in block ${number(block)}, and the account does not have the code of the delegation there.`),
  used_by_authorization: ({ nonce }) =>
    final(
      `The authorization of a delegation has used ${nonce === undefined ? "its nonce" : `nonce ${number(nonce)}`}.`
    ),
  reverted: ({ revert_reason }) => final(`It was mined and reverted${because(revert_reason)}.`),
  out_of_gas: () => final("It was mined and used all of its gas. A higher `gas_limit` helps."),
  refused_by_all: () => final("Every node refused it for good, and a no-op has used its nonce."),
  nonce_taken_too_often: ({ hash }) =>
    final(
      `Other transactions of the account used each nonce that it got, most recently${hashed(hash)}. It has no effect.`
    ),
  nonce_unavailable: ({ required_nonce, next_nonce }) =>
    final(
      `It required nonce ${number(required_nonce)}, and the next nonce was ${number(next_nonce)}. It was not executed.`
    ),
  gap_filled: () => final("A no-op of the service used a nonce that nothing else used.")
} as const satisfies Sentences

/** Why a no-op is to use the nonce of an open transaction. The transaction ends with the same code. */
const clearing: Partial<Record<KnownCode, string>> = {
  authorization_used: "An authorization of its new version was used by another transaction",
  authority_is_relayer: "An account of the authorizations of its new version is that of a relayer",
  canceled: "An operator has cleared its nonce",
  refused_by_all: "Every node refused it for good",
  own_account_has_code: "Its new version would call the code of its own account",
  not_delegated: "Its account does not run the executor that makes its calls",
  policy_changed: "The relayer's policy, or a limit of the API key, no longer allows it",
  gap_filled: "Nothing else uses its nonce"
}

export const explain = explainWith({ ...waiting, ...held, ...flying, ...ended }, ({ code, figures }) => {
  const why = entryOf(clearing, code)
  return why === undefined
    ? undefined
    : {
        reason: `${why}; a no-op${hashed(figures.hash)} is to use its nonce.`,
        next: "It becomes `failed` if the no-op is mined, and `confirmed` if its own bytes are mined."
      }
})

// Reads the signature of a signed transaction from its bytes: the last three items of its RLP list.

interface Item {
  readonly start: number
  readonly end: number
}

const numberIn = (bytes: Uint8Array, start: number, end: number): number =>
  bytes.subarray(start, end).reduce((value, byte) => value * 256 + byte, 0)

/** The start and the end of the content of the item at `offset` (Ethereum Yellow Paper, appendix B). */
const itemAt = (bytes: Uint8Array, offset: number): Item => {
  const prefix = bytes[offset] ?? 0
  if (prefix < 0x80) return { start: offset, end: offset + 1 }
  const short = prefix < 0xc0 ? 0x80 : 0xc0
  const length = prefix - short
  if (length <= 55) return { start: offset + 1, end: offset + 1 + length }
  const start = offset + 1 + (length - 55)
  return { start, end: start + numberIn(bytes, offset + 1, start) }
}

const itemsOf = (bytes: Uint8Array, { start, end }: Item): ReadonlyArray<Item> => {
  const items: Array<Item> = []
  for (let offset = start; offset < end;) {
    const item = itemAt(bytes, offset)
    items.push(item)
    offset = item.end
  }
  return items
}

/** EIP-155 puts the chain id into `v`; clients of this wire format expect 27 or 28 there. */
const legacyV = (v: number): number => (v >= 35 ? 27 + ((v - 35) % 2) : v)

/** `raw`: an evm transaction with its signature, legacy or typed (EIP-2718). */
export const signatureOf = (raw: Uint8Array): EvmSignature => {
  const isTyped = (raw[0] ?? 0) < 0xc0
  const [v, r, s] = itemsOf(raw, itemAt(raw, isTyped ? 1 : 0)).slice(-3)
  const hex = ({ start, end }: Item) => Buffer.from(raw.subarray(start, end)).toString("hex").padStart(64, "0")
  const none = { start: 0, end: 0 }
  // RLP writes 0 as an empty item.
  const number = v === undefined ? 0 : numberIn(raw, v.start, v.end)
  const parts = { r: hex(r ?? none), s: hex(s ?? none), v: isTyped ? number : legacyV(number) }
  return { ...parts, sig: `${parts.r}${parts.s}${parts.v.toString(16).padStart(2, "0")}` }
}

// How an evm transaction of the ledger is shown: the request that was mined, never the no-op that may have replaced it.

/** The version that was mined, else the newest. */
const shownRequest = (transaction: Transaction<Evm>, attempt: Attempt<Evm> | undefined): Request =>
  attempt === undefined || transaction.mined === undefined || isNoop(attempt)
    ? newestRequest(transaction)
    : requestOf(transaction, attempt)

const feesOf = (fees: Fees | undefined) => {
  if (fees === undefined) return {}
  return fees.type === "legacy"
    ? { gas_price: fees.gasPrice }
    : { max_fee_per_gas: fees.maxFee, max_priority_fee_per_gas: fees.tip }
}

const kindOf = ({ kind }: Attempt<Evm>) => (kind === "refresh" ? "replace" : kind)

const refusalOf = ({ refusal }: Attempt<Evm>) =>
  refusal && {
    class: refusal.class,
    ...present("needed", refusal.minimumNeeded),
    ...present("words", refusal.words)
  }

const attemptOf = (transaction: Transaction<Evm>, attempt: Attempt<Evm>) => ({
  hash: attempt.hash,
  kind: kindOf(attempt),
  ...feesOf(attempt.offer.fees),
  ...shownAttemptFields(attempt, refusalOf(attempt)),
  nonce: attemptNonceOf(attempt),
  gas_limit: Number(attempt.offer.gasLimit),
  ...present("first_sent_block", attempt.firstSent?.height),
  ...present("block_number", heightOf(transaction, attempt))
})

const receiptOf = ({ receipt: { height, blockHash, details } }: Mined<Evm>) => ({
  block_number: height,
  ...present("block_hash", blockHash),
  gas_used: details.gasUsed,
  effective_gas_price: details.effectiveGasPrice,
  fee_paid: paidOf(details),
  ...present("contract_address", details.contractAddress),
  ...present("revert_reason", details.revertReason)
})

/** Undefined: no block has an attempt of it. */
const minedAs = ({ attempts, mined }: Transaction<Evm>): EvmTransaction["mined_as"] => {
  const found = mined && attempts.find(({ ordinal }) => ordinal === mined.ordinal)
  return found && (isNoop(found) ? "noop" : "call")
}

const shownCall = ({ to, value, data }: BatchCall) => ({ to, value, ...present("data", data) })

const requestFields = (request: Request, attempt: Attempt<Evm> | undefined) => {
  const gas = attempt === undefined || isNoop(attempt) ? request.gas_limit : attempt.offer.gasLimit
  return {
    value: request.value,
    ...feesOf(attempt?.offer.fees ?? givenFees(request)),
    ...present("to", request.to),
    ...present("data", request.data),
    ...present("calls", request.calls?.map(shownCall)),
    ...present("gas_limit", gas === undefined ? undefined : Number(gas)),
    ...(givenFees(request) === undefined ? { speed: speedOf(request) } : {})
  }
}

const versionOf = (request: Request) => ({
  ...requestFields(request, undefined),
  ...present(
    "authorizations",
    request.authorization_list?.map(({ address, authority }) => ({ authority, address }))
  )
})

/** `receipt`: only of an attempt that carries this version of the list. */
const listFields = (request: Request, receipt: Mined<Evm>["receipt"] | undefined) => {
  const { authorization_list: list } = request
  if (list === undefined) return {}
  const warnings = warningsOf(request)
  const authorizations = list.map(({ address, authority }, index) => ({
    authority,
    address,
    delegated: receipt?.details.delegated?.[index] ?? null
  }))
  return { authorizations, ...(warnings.length === 0 ? {} : { warnings }) }
}

const routeFields = ({ route }: Transaction<Evm>) => {
  if (route === undefined) return {}
  const { kind, fallbackAfter, seenPublicly, since } = route
  const isRunning = kind === "private" && fallbackAfter !== undefined && since !== undefined
  return {
    route: kind,
    ...present("fallback_after_seconds", fallbackAfter === undefined ? undefined : fallbackAfter / 1000),
    ...present("seen_publicly_at", seenPublicly),
    ...(isRunning ? { fallback_at: since + fallbackAfter } : {})
  }
}

/** `raw`: the bytes of the attempt that is shown. Absent: its signature is not shown. */
export const show = (transaction: Transaction<Evm>, identity: Identity, raw?: Uint8Array): EvmTransaction => {
  const { attempts, mined } = transaction
  const attempt = shownAttempt(transaction)
  const request = shownRequest(transaction, attempt)
  return {
    ...shownFields(explain, transaction, identity),
    network_type: "evm",
    ...present("hash", attempt?.hash),
    from: identity.from,
    ...requestFields(request, attempt),
    ...present("nonce", nonceOf(transaction)),
    ...routeFields(transaction),
    ...present("delegate", newestRequest(transaction).delegate),
    ...present("signature", raw && signatureOf(raw)),
    ...present("mined_as", minedAs(transaction)),
    ...(attempts.length === 0 ? {} : { attempts: attempts.map((one) => attemptOf(transaction, one)) }),
    ...shownVersions(transaction, identity, versionOf),
    ...listFields(request, minedAs(transaction) === "call" ? mined?.receipt : undefined),
    ...(mined === undefined ? {} : receiptOf(mined))
  }
}
