// solana, as the kit asks for it.
import { Result } from "effect"
import type { Violation } from "../../domain/request/Request.ts"
import { present } from "../../networks/core/Presentation.ts"
import { batchOf } from "../../networks/core/TransactionRequests.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { brokenRule, brokenSignature } from "../../networks/solana/rules/Guard.ts"
import { listsFeePayer } from "../../networks/solana/rules/Message.ts"
import { systemProgram } from "../../networks/solana/rules/Programs.ts"
import { addedTo, brokenPrice, draftOf, factsOfBody, requestOfBody } from "../../networks/solana/rules/RequestBytes.ts"
import type { Solana, SolanaRequest, SolanaTarget } from "../../networks/solana/rules/Solana.ts"
import {
  base64Of,
  ReplaceSolanaTransaction,
  SendSolanaTransaction
} from "../../networks/solana/rules/SolanaExchanges.ts"
import { boundMargin, pollAfter } from "../../networks/solana/rules/SolanaNumbers.ts"
import { solanaRules } from "../../networks/solana/rules/SolanaRules.ts"
import {
  deadlineOf,
  formOf,
  guardTermsOf,
  paysFees,
  unsimulated,
  violationsOf
} from "../../networks/solana/rules/SolanaTerms.ts"
import type { Payment } from "../chain/Chain.ts"
import { momentOf } from "../KitNetwork.ts"
import type { Make, Sending, SolanaTestNetwork } from "../KitNetwork.ts"
import { derivations, isSignedBy, transferData } from "./Bytes.ts"
import * as SolanaChain from "./Chain.ts"
import * as SolanaLane from "./Lane.ts"
import * as Node from "./Node.ts"
import type { Account } from "./Views.ts"

const sponsored = "the user pays the fee of this transaction, which the test kit does not check: it has no tokens"

const restored = "is signed by the relayer already: the test kit takes no bytes over"

/** What is wrong with the bytes of a request, by the rules that need no chain. */
const refusalOf = (request: SolanaRequest, target: SolanaTarget) => {
  const drafted = draftOf(request, { payer: target.relayer.address, tables: new Map() })
  if (Result.isFailure(drafted)) return Result.fail(drafted.failure)
  const transaction = drafted.success
  const terms = guardTermsOf(target, request)
  const guarded = { transaction, form: formOf(target, request), added: addedTo(request, transaction.message), terms }
  const broken =
    brokenRule({ ...guarded, derivations }) ??
    brokenPrice(request, transaction, terms) ??
    (request.transaction === undefined ? undefined : brokenSignature(transaction, isSignedBy))
  return broken === undefined ? Result.succeed(transaction) : Result.fail(broken)
}

const admit = (
  body: ReplaceSolanaTransaction,
  target: SolanaTarget,
  now: Moment
): Result.Result<{ readonly request: SolanaRequest; readonly facts: Solana["facts"] }, ReadonlyArray<Violation>> => {
  const { address: relayerAddress } = target.relayer
  const violations = violationsOf(body, { now, relayerAddress, paysFees: paysFees(target) })
  if (violations.length > 0) return Result.fail(violations)
  const request = requestOfBody(body)
  const field = request.transaction === undefined ? "instructions" : "transaction"
  const checked = refusalOf(request, target)
  if (Result.isFailure(checked)) {
    const { code, message } = checked.failure
    return Result.fail([{ field, message: `${code}: ${message}` }])
  }
  if (request.simulate === false && listsFeePayer(checked.success.message)) return Result.fail([unsimulated])
  const facts = factsOfBody(body, checked.success)
  return facts.given === undefined ? Result.succeed({ request, facts }) : Result.fail([{ field, message: restored }])
}

const sendingOn = (account: Omit<Account, "address">): Sending<Solana> => ({
  rules: solanaRules,
  body: SendSolanaTransaction,
  replacement: ReplaceSolanaTransaction,
  batch: batchOf(SendSolanaTransaction),
  hasSequences: false,
  nameOf: ({ external_id }) => external_id,
  lacking: (target, request) => (formOf(target, request) === "sponsored" ? sponsored : undefined),
  admit: (body, target, now) =>
    Result.map(admit(body, target, now), (admitted) => ({
      ...admitted,
      validUntil: deadlineOf(body, now),
      priority: body.priority ?? 0,
      ...present("notBefore", momentOf(body.not_before))
    })),
  replacementOf: (body) => ({ request: requestOfBody(body), deadline: momentOf(body.valid_until) }),
  replacementViolations: (body, target, now) => {
    const admitted = admit(body, target, now)
    return Result.isFailure(admitted) ? admitted.failure : []
  },
  openLane: (options) => SolanaLane.make({ ...options, account: { ...account, address: options.address } })
})

/** Lives of a blockhash, with the proof that it is dead, within which everything ends on a cluster without faults. */
const livesOfPatience = 4

/** The instruction Transfer of the System program. */
const transfer = (from: string, { to, value }: Payment) => ({
  program_id: systemProgram,
  accounts: [
    { pubkey: from, is_signer: true, is_writable: true },
    { pubkey: to, is_signer: false, is_writable: true }
  ],
  data: base64Of(transferData(value))
})

export const make: Make<SolanaTestNetwork> = (network, timeOf) => {
  const { blockTime, confirmations, name } = network
  const chain = SolanaChain.make(network)
  const account = { chain, finality: confirmations, timeOf }
  // The last bytes die, their death is final, and polls see it.
  const blocksToEnd = SolanaChain.life + boundMargin + confirmations + Math.ceil((3 * pollAfter) / blockTime)
  return {
    chain,
    client: Node.client(account),
    sending: sendingOn(account),
    pollInterval: pollAfter,
    createNetwork: {
      network_type: "solana",
      name,
      average_blocktime_ms: blockTime,
      rpc_urls: chain.providers.map(({ url }) => ({ url, weight: 100 })),
      is_testnet: true
    },
    violationOf: () => undefined,
    policies: { fee_payment_strategy: "relayer" },
    bodyOf: (from, payment) => ({ instructions: [transfer(from, payment)] }),
    patience: livesOfPatience * blocksToEnd,
    blocksToEnd
  }
}
