// The delegation of an evm relayer's account: checks of the contract, the transaction that delegates, and what the lane remembers.
import { DateTime, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { BadRequest } from "../../../domain/request/Request.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import type { DelegationNetwork } from "../../../server/transactions/Delegations.ts"
import { makeSignerUse } from "../../../server/transactions/Intake.ts"
import type { Sender } from "../../../server/transactions/Intake.ts"
import { present } from "../../core/Presentation.ts"
import { TransactionConflict } from "../../core/Rules.ts"
import { defaultValidity, TransactionId } from "../../core/TransactionValues.ts"
import { agreedReport } from "../chain/EvmDelegates.ts"
import type { DelegateReport } from "../chain/EvmDelegates.ts"
import { checksumFault } from "../rules/Admission.ts"
import { noDelegate } from "../rules/Authorizations.ts"
import type { DelegationFacts } from "../rules/Delegates.ts"
import { delegatedIn, exclusiveDelegation, recordOf } from "../rules/Delegation.ts"
import type { Delegate, Delegation, DelegationChange } from "../rules/DelegationSchemas.ts"
import type { Request } from "../rules/Evm.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { makeRecords } from "./EvmRecords.ts"
import { makeRelayerNodes, senderOf } from "./EvmSenders.ts"
import { messageDigest } from "./MessageSigning.ts"

const always = (delegate: string): string =>
  `From then on the code of ${delegate} decides what calls to the account do, incoming transfers and no-ops of the service included, and the account has one transaction in flight. The service checks what it can by calls; whether the code is safe is the operator's decision.`

const noSignatures =
  "Contracts that check signatures by ERC-1271 will refuse those of the relayer's key, such as permits, while the delegation is there."

const proxied = "The contract is a proxy: the owner of the proxy can replace its code, and then controls the account."

const afterEnd =
  "Transactions with calls that are queued fail without a nonce. Signatures that the delegate has accepted are checked by the key again."

const warningsOf = (facts: DelegationFacts): ReadonlyArray<string> => {
  if (facts.delegate === noDelegate) return [afterEnd]
  const isProxy = facts.implementation !== undefined || facts.beacon !== undefined
  return [always(facts.delegate), ...(facts.takesSignatures ? [] : [noSignatures]), ...(isProxy ? [proxied] : [])]
}

/** A text that is of no use to anybody else: contracts are asked whether they accept its signature. */
const question = (account: string, delegate: string): string =>
  `effect-relayer asks whether ${delegate} accepts signatures of ${account}`

const refusedFor = ({ faults }: DelegateReport) =>
  BadRequest.of(faults.map((message) => ({ field: "address", message })))

const isOpen = new TransactionConflict({
  error: "another change of the delegation is open: wait until it is final, or cancel it while it has no nonce"
})

export const make = Effect.gen(function* () {
  const { first } = yield* makeRelayerNodes
  const { laneOf, openOf } = yield* makeRecords
  const ledger = yield* Ledger
  const outboundWork = yield* OutboundWork
  const random = yield* SecureRandom.SecureRandom
  const signWith = yield* makeSignerUse

  /** Checks the contract as if the account had delegated to it. */
  const inspected = Effect.fnUntraced(function* (sender: Sender, { address, accept_proxy = false }: Delegate) {
    const { account, numbers, relayer } = senderOf(sender)
    const fault = checksumFault(address)
    if (fault !== undefined) return yield* BadRequest.of([{ ...fault, field: "address" }])
    const delegate = address.toLowerCase()
    if (delegate === noDelegate) {
      return yield* BadRequest.of([{ field: "address", message: "is zero: DELETE ends the delegation" }])
    }
    const digest = yield* messageDigest(question(account.address, delegate))
    const { signature: made } = yield* signWith(relayer, { curve: "secp256k1", message: digest })
    // Contracts expect 27 or 28, not the recovery bit.
    const signature = Uint8Array.from([...made.subarray(0, 64), 27 + (made[64] ?? 0)])
    const asked = { account: account.address, delegate, acceptsProxy: accept_proxy, signed: { digest, signature } }
    const report = yield* outboundWork.run(
      first(relayer.id, numbers.chainId, (node, all) => agreedReport(all, node, asked))
    )
    if (report.faults.length > 0) return yield* refusedFor(report)
    const facts: DelegationFacts = { delegate, ...report.state, takesSignatures: report.takesSignatures }
    return facts
  })

  const accept = Effect.fnUntraced(function* ({ account, relayer }: Sender, facts: DelegationFacts) {
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const id = TransactionId.make(yield* random.uuidV7())
    const request: Request = { to: relayer.address, value: 0n, delegate: facts.delegate }
    const [{ stored }] = yield* ledger
      .accept(account, [
        {
          id,
          request,
          facts: { delegation: facts },
          exclusive: exclusiveDelegation,
          validUntil: now + defaultValidity,
          priority: 0,
          body: JSON.stringify({ delegate: facts.delegate })
        }
      ])
      .pipe(Effect.catchTags({ FeeLimitExceeded: Effect.die, TermsForgotten: Effect.die }))
    const change: DelegationChange = {
      transaction_id: stored.id,
      ...(facts.delegate === noDelegate ? {} : { address: facts.delegate }),
      warnings: warningsOf(facts)
    }
    return change
  })

  /** The account may run code that the service has not recorded, which a delegation of the service ends as well. */
  const facts = (sender: Sender, wanted: Delegate | undefined) =>
    wanted === undefined
      ? Effect.succeed({ delegate: noDelegate, takesSignatures: true } satisfies DelegationFacts)
      : inspected(sender, wanted)

  const network: DelegationNetwork = {
    type: evmRules.type,
    get: Effect.fnUntraced(function* ({ account }) {
      const lane = yield* laneOf(account)
      const open = yield* openOf(account)
      const record = lane && recordOf(lane)
      const { nonce, delegate, codeHash, implementation, beacon, takesSignatures } = record ?? {}
      const watched = lane?.accounts[0].watched
      const isChecked = watched !== undefined && record !== undefined && watched.sequence === BigInt(record.nonce)
      const isThere = lane !== undefined && delegatedIn(lane) !== undefined
      const found: Delegation = {
        is_final: open === undefined,
        ...(isThere
          ? {
              ...present("address", delegate),
              ...present("code_hash", codeHash),
              ...present("implementation", implementation),
              ...present("beacon", beacon),
              ...present("takes_signatures", takesSignatures)
            }
          : {}),
        ...present("nonce", nonce),
        ...(isChecked ? { checked_at: watched.at, ...present("changed", watched.changed) } : {}),
        ...(isChecked ? present("changed_since", watched.since) : {}),
        ...present("open_transaction_id", open?.id)
      }
      return found
    }),
    change: Effect.fnUntraced(function* (sender, wanted) {
      const { network: target } = senderOf(sender)
      if (target.features?.includes("eip1559") !== true) {
        return yield* new TransactionConflict({
          error: "the network has no EIP-1559 fees, without which no transaction carries an authorization (EIP-7702)"
        })
      }
      if ((yield* openOf(sender.account)) !== undefined) return yield* isOpen
      return yield* accept(sender, yield* facts(sender, wanted)).pipe(
        Effect.catchTag("TransactionConflict", (conflict) =>
          Effect.flatMap(openOf(sender.account), (open) => Effect.fail(open === undefined ? conflict : isOpen))
        )
      )
    })
  }
  return network
})
