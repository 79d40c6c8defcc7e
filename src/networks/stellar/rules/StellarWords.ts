// How a stellar transaction is shown, with the sentences of its codes. They say sequence where evm says nonce.
import { DateTime } from "effect"
import {
  because,
  explainWith,
  final,
  hashed,
  neverByTime,
  number,
  operator,
  times,
  waitsToBeSigned
} from "../../core/Cause.ts"
import type { Sentences } from "../../core/Cause.ts"
import {
  heightOf,
  instant,
  present,
  shownAttempt,
  shownAttemptFields,
  shownFields,
  shownVersions
} from "../../core/Presentation.ts"
import type { Identity } from "../../core/Presentation.ts"
import { newestRequest } from "../../core/Transaction.ts"
import type { Attempt, Mined, Transaction } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { momentOf } from "./Stellar.ts"
import type { Stellar, StellarRequest } from "./Stellar.ts"
import type { StellarTransactionResponse } from "./StellarResponses.ts"

const stroops = (amount: bigint | undefined): string =>
  amount === undefined ? "an unknown amount of stroops" : `${amount} stroops`

const at = (moment: Moment | undefined): string =>
  moment === undefined ? "after a while" : `at ${DateTime.formatIso(DateTime.makeUnsafe(moment))}`

const time = (moment: Moment | undefined): string =>
  moment === undefined ? "an unknown time" : DateTime.formatIso(DateTime.makeUnsafe(moment))

const numbered = (sequence: bigint | undefined): string => (sequence === undefined ? "" : ` ${sequence}`)

const until = (moment: Moment | undefined): string =>
  moment === undefined ? "until its envelope expires" : `until ${time(moment)}`

/** `error`: what nodes said when they refused the newest envelope. */
const refusedWith = (error: string | undefined): string =>
  error === undefined ? "" : error === "filtered" ? `${filtered} ` : `Nodes refused it: ${error}. `

const filtered =
  "Nodes refused it (FILTERED): validators of the network take no transactions of one of its accounts now."

const again = "The service looks again after the next ledger."
const unsigned = "Nothing is signed until then."

const waiting = {
  queued: waitsToBeSigned,
  lane_window_full: ({ hash, in_flight, until: last, window }) => ({
    reason:
      hash === undefined
        ? `Every account that it can use has a transaction in flight: ${number(in_flight)} of ${number(window)}.`
        : `A signature that a caller got${hashed(hash)} lives at the next sequence of the account.`,
    next: `It is signed when a place is free, ${at(last)} at the latest if no ledger is late. Channel accounts give more places.`
  }),
  waits_for_predecessors: ({ required_sequence, sequence }) => ({
    reason: `It needs the sequence${numbered(required_sequence)} or the effect of earlier transactions${
      sequence === undefined ? "" : `; the next sequence of the account is ${sequence}`
    }.`,
    next: "It is signed when the transactions before it were applied."
  }),
  needs_restore: ({ fee }) => ({
    reason: "The call needs entries of the ledger that were archived.",
    next:
      fee !== undefined
        ? `The service restores them first, for at most ${stroops(fee)}. If that fails, it is not tried again: \`GET …/transactions?origin=restore\` shows it.`
        : "Replace it with `restore_footprint: true`, so that the relayer pays to restore them, or restore them yourself. For an API key with `max_fee_per_day`, the relayer does not pay."
  }),
  no_account: ({ minimum }) => ({
    reason: "The account of the relayer does not exist on the network.",
    next: `Create the account by sending it at least ${minimum === undefined ? "1 XLM" : stroops(minimum)}, which it cannot spend, and what it is to pay. The service sees it after the next ledger.`
  }),
  expiring: ({ until: end }) => ({
    reason: `Too little time is left to sign it: its deadline is ${time(end)}.`,
    next: "Nothing of it is alive, so that it ends at its deadline without effect. Send it again with a later `valid_until`."
  }),
  fee_above_cap: ({ cap, error, fee }) => ({
    reason: `${refusedWith(error)}Its fee would be ${stroops(fee)}, and it may cost ${stroops(cap)} at most.`,
    next: `${again} A higher \`max_fee\` of the request or of the policy, or a higher limit of the API key, helps.`
  }),
  insufficient_funds: ({ available, error, minimum, required, reserved, until: end }) => ({
    reason:
      required === undefined && error !== undefined
        ? `${refusedWith(error)}The account that pays has too little beside its reserves, and beside the fees of its other transactions in the queue of the node.`
        : `${refusedWith(error)}It needs ${stroops(required)}. The account has ${stroops(available)} available: other transactions reserve ${stroops(reserved)}, and ${stroops(minimum)} must stay.`,
    next: `${again} Send funds to the account.${end === undefined ? "" : ` Otherwise it ends ${at(end)}.`}`
  }),
  price_unavailable: () => ({ reason: "There is no price for its payment.", next: `${again} ${unsigned}` }),
  nonce_taken: ({ hash, sequence }) => ({
    reason: `Another transaction${hashed(hash)} used its sequence${numbered(sequence)}.`,
    next: "It gets another sequence in the next step. If another program uses the key, give it a key of its own."
  }),
  clock_skew: ({ clock, close_time }) => ({
    reason: `The clock of the service says ${time(clock)}, and the newest ledger closed at ${time(close_time)}.`,
    next: `${unsigned} Set the clock right, or replace the RPC URL if its ledgers are wrong.`
  }),
  chain_changed: () => ({
    reason: "The RPC URL serves another network than the one that the transaction belongs to.",
    next: "Nothing is sent there. Correct the URL; if a test network was restarted, use `POST /api/v1/relayers/{id}/nonce/generation`."
  }),
  signer_unauthorized: () => ({
    reason: "The signer of the relayer has less weight on its account than a payment needs.",
    next: `${unsigned} It continues when the weight of the signer or the thresholds of the account are changed.`
  }),
  sequence_exhausted: () => ({
    reason: "The sequence of the account has reached its end: it can never send again.",
    next: "Use another account. Holders of the key can have raised it with bumpSequence."
  }),
  restored_unproven: ({ hash, close_time, until: end }) => ({
    reason: `The database was restored, so it may have been executed already${hashed(hash)}.`,
    next: `It is not signed by itself. ${operator}${close_time === undefined ? ` The answer send is possible when a ledger closes after ${time(end)}: until then, envelopes that the database has forgotten can be applied.` : ""}`
  })
} as const satisfies Sentences

const flying = {
  sending: ({ until: end }) => ({
    reason: "It is signed, and no node has confirmed that it received it.",
    next: `The same bytes are sent again ${until(end)}.`
  }),
  in_queue: ({ error, until: end }) => ({
    reason: `A node has it in its queue. No ledger contains it yet${because(error)}.`,
    next: `The same bytes are sent again ${until(end)}; if no ledger takes it, a new envelope follows.`
  }),
  in_pool: () => ({
    reason: "A node has it in its queue. No ledger contains it yet.",
    next: "The same bytes are sent again until its envelope expires; if no ledger takes it, a new envelope follows."
  }),
  try_again_later: ({ error, fee, times: count, until: end }) => ({
    reason:
      error === undefined
        ? `Nodes said ${times(count)} that they do not take it now: the account has another transaction in the queue, or the envelope was there before.`
        : `${refusedWith(error)}${fee === undefined ? "" : `They ask for ${stroops(fee)}. `}That proves nothing: the account of the ledger decides.`,
    next: `The same bytes are sent again after each ledger ${until(end)}.`
  }),
  refreshing: ({ fee }) => ({
    reason: `A new envelope was signed at the same sequence, for ${stroops(fee)}.`,
    next: "One of its envelopes can be applied at most."
  }),
  awaiting_expiry: ({ error, until: end }) => ({
    reason:
      error === undefined
        ? `Too little time is left to send it: what was signed can be applied ${until(end)}.`
        : `${refusedWith(error)}It is not sent again, and what was signed can be applied ${until(end)}.`,
    next: "A ledger that closes after that decides what follows."
  }),
  canceling: ({ until: end }) => ({
    reason: "A cancel was requested after it was signed: no further envelope is signed.",
    next: `It becomes \`canceled\` when its envelope is proven dead, and \`confirmed\` if it is applied ${until(end)}.`
  }),
  ledger_stalled: ({ close_time }) => ({
    reason: `The network has closed no ledger since ${time(close_time)}.`,
    next: "Nothing is signed or decided before the next ledger."
  }),
  providers_disagree: () => ({
    reason: "Two RPC providers contradict each other about it.",
    next: `${again} ${neverByTime} A third RPC URL helps.`
  }),
  second_provider_behind: ({ ledger, other_ledger }) => ({
    reason: `One RPC provider has ledger ${number(ledger)}, and another one only ${number(other_ledger)}.`,
    next: "It is decided when the other one has caught up."
  }),
  landing_unproven: ({ host, sequence, until: end }) => ({
    reason: `Its sequence${numbered(sequence)} is used, and ${host ?? "no RPC provider"} ${
      host === undefined ? "shows" : "does not show"
    } yet by which transaction. Its own envelope can be that transaction.`,
    next: `${again} Nothing is signed and nothing ends before that transaction is shown. ${
      host === undefined
        ? `${neverByTime} An operator may decide ${at(end)}.`
        : `That provider counts as one without an opinion ${at(end)}.`
    } An RPC URL whose transactions are not behind its ledgers helps.`
  }),
  nonce_taken_unproven: ({ sequence }) => ({
    reason: `Its sequence${numbered(sequence)} is used, and no RPC provider shows by which transaction: they do not keep its ledger any more, or have not shown it for ten minutes.`,
    next: `${again} An archive of the network shows the transaction. ${operator}`
  })
} as const satisfies Sentences

const unsent = "It was not sent."

const ended = {
  confirmed: ({ ledger }) => final(`It was applied in ledger ${number(ledger)}.`),
  executed_late: ({ ledger }) =>
    final(`It was applied in ledger ${number(ledger)}, after its deadline or its cancel: it was signed before.`),
  executed_by_other: ({ ledger }) =>
    final(`Its inner envelope was applied in ledger ${number(ledger)} without this service, which paid nothing.`),
  operation_failed: ({ error, ledger }) =>
    final(`It failed in ledger ${number(ledger)}${because(error)}. Its fee was charged, and it has no other effect.`),
  would_fail: ({ error }) => final(`Its simulation fails${because(error)}. ${unsent}`),
  auth_not_granted: ({ error }) =>
    final(`The call needs an authorization that the request does not give${because(error)}. ${unsent}`),
  auth_expired: ({ error }) => final(`An authorization has expired${because(error)}. It has no effect.`),
  balance_change: ({ error }) =>
    final(
      `The call changes accounts of the service in a way that the policy or the API key does not allow${because(error)}. ${unsent}`
    ),
  resource_fee_too_high: ({ error }) =>
    final(`The envelope declares more for resources than the call needs${because(error)}. ${unsent}`),
  too_many_subentries: ({ error }) =>
    final(`The account would have more entries than the policy allows${because(error)}. ${unsent}`),
  fee_token_clawback: ({ error }) => final(`The issuer can take its payment back${because(error)}. ${unsent}`),
  payment_insufficient: ({ error }) => final(`Its payment to the relayer is not enough${because(error)}. ${unsent}`),
  sequence_used: ({ hash, sequence }) =>
    final(
      `The source of its envelope has used the sequence${numbered(sequence)} with another transaction${hashed(hash)}.`
    ),
  deadline_passed: ({ error, sequence }) =>
    final(
      sequence === undefined
        ? `${refusedWith(error)}Its deadline passed before it was executed; it has no effect.`
        : `Its deadline passed, and this service sent nothing for it. If its user sent it, the transaction at the sequence${numbered(sequence)} of its source shows that.`
    ),
  refused_by_all: ({ error }) =>
    final(`Every node refused it${because(error)}, and its envelope has expired. It has no effect.`),
  nonce_taken_too_often: () =>
    final("Other transactions of the account used its sequences four times: another program uses the key."),
  nonce_unavailable: ({ required_sequence, sequence }) =>
    final(
      `It requires the sequence${numbered(required_sequence)}, which it cannot get; the account is at${numbered(sequence) || " another one"}.`
    ),
  policy_changed: ({ error }) =>
    final(`The relayer's policy, or a limit of the API key, no longer allowed it${because(error)}. ${unsent}`)
} as const satisfies Sentences

export const explain = explainWith({ ...waiting, ...flying, ...ended }, () => undefined)

// How a stellar transaction of the ledger is shown.

const kindOf = ({ kind }: Attempt<Stellar>): "original" | "refresh" | "replace" =>
  kind === "refresh" || kind === "replace" ? kind : "original"

const attemptOf = (transaction: Transaction<Stellar>, attempt: Attempt<Stellar>) => ({
  hash: attempt.hash,
  ...present("inner_hash", attempt.offer.innerHash),
  kind: kindOf(attempt),
  max_fee: attempt.maxFee,
  valid_until: instant(momentOf(attempt.offer.maxTime)),
  ...shownAttemptFields(attempt, attempt.refusal),
  account: attempt.place.account,
  ...present("sequence_number", attempt.place.sequence),
  ...present("ledger", heightOf(transaction, attempt))
})

const requestFields = ({ operations, memo }: StellarRequest) => ({
  ...present("operations", operations),
  ...present("memo", memo)
})

const versionOf = (request: StellarRequest) => ({
  ...requestFields(request),
  ...present("transaction_xdr", request.transaction_xdr),
  ...present("max_fee", request.max_fee)
})

const receiptOf = ({ receipt: { details, height, paid } }: Mined<Stellar>) => ({
  ledger: height,
  fee_paid: paid,
  hash: details.hash,
  transaction_result_xdr: details.result,
  ...present("result_code", details.resultCode),
  ...present("operation_results", details.operationResults),
  ...present("contract_error", details.contractError)
})

/** Wire clients read a failed execution in this form. */
const failureOf = ({ receipt: { details } }: Mined<Stellar>): string => {
  const index = details.operationResults?.findIndex((name) => !name.endsWith("Success")) ?? -1
  const operation = index === -1 ? "none" : `${index}:${details.operationResults?.[index]}`
  return `Transaction failed on-chain. reason=${details.resultCode ?? "unknown"} inner=${operation} op=${index === -1 ? "none" : index} contract_error=${details.contractError ?? "none"}`
}

const reasonOf = ({ mined, state }: Transaction<Stellar>) =>
  state === "failed" && mined !== undefined ? { status_reason: failureOf(mined) } : {}

/** The sequence that it has, else the one of its newest envelope. */
const shownSequence = ({ attempts, facts, place }: Transaction<Stellar>): bigint =>
  facts.guest?.sequence ?? place?.sequence ?? attempts.at(-1)?.place.sequence ?? 0n

const channelOf = ({ facts, place }: Transaction<Stellar>, { from }: Identity): string | undefined =>
  facts.guest === undefined && place !== undefined && place.account !== from ? place.account : undefined

export const showTransaction = (transaction: Transaction<Stellar>, identity: Identity): StellarTransactionResponse => {
  const { attempts, facts, mined } = transaction
  const attempt = shownAttempt(transaction) ?? attempts.at(-1)
  const charged = mined?.receipt.paid ?? attempt?.maxFee ?? 0n
  return {
    ...shownFields(explain, transaction, identity),
    ...reasonOf(transaction),
    network_type: "stellar",
    source_account: facts.guest?.account ?? identity.from,
    fee: Number(charged),
    sequence_number: shownSequence(transaction),
    ...present("hash", attempt?.hash),
    ...present("inner_hash", facts.guest?.innerHash ?? attempt?.offer.innerHash),
    ...present("channel_account", channelOf(transaction, identity)),
    ...(identity.isWhole === true ? requestFields(newestRequest(transaction)) : {}),
    ...(attempts.length === 0 ? {} : { attempts: attempts.map((one) => attemptOf(transaction, one)) }),
    ...shownVersions(transaction, identity, versionOf),
    ...(mined === undefined ? {} : receiptOf(mined))
  }
}
