// stellar, as the kit asks for it.
import { Result } from "effect"
import type { Violation } from "../../domain/request/Request.ts"
import { present } from "../../networks/core/Presentation.ts"
import { batchOf } from "../../networks/core/TransactionRequests.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { violationOf } from "../../networks/stellar/rules/Envelope.ts"
import { guard } from "../../networks/stellar/rules/Guard.ts"
import type { Stellar, StellarRequest, StellarTarget } from "../../networks/stellar/rules/Stellar.ts"
import { envelopeValidity, leastPollInterval, pollsPerLedger } from "../../networks/stellar/rules/StellarNumbers.ts"
import { ReplaceStellarTransaction, SendStellarTransaction } from "../../networks/stellar/rules/StellarRequests.ts"
import { deadlineOf, earlyViolations, requestOfBody, stellarRules } from "../../networks/stellar/rules/StellarRules.ts"
import type { StellarBody } from "../../networks/stellar/rules/StellarRules.ts"
import { momentOf } from "../KitNetwork.ts"
import type { Make, Sending, StellarTestNetwork } from "../KitNetwork.ts"
import * as StellarChain from "./Chain.ts"
import * as StellarLane from "./Lane.ts"
import * as Node from "./Node.ts"
import { envelopeOf, guardTerms, paymentsOf } from "./Views.ts"
import type { Account } from "./Views.ts"
import { networkIdOf } from "./Wire.ts"

const onlyPayments = "the test kit has payments of XLM alone: it reads no other operation, and no envelope of others"

type Checked = Result.Result<StellarRequest, ReadonlyArray<Violation>>

const check = (body: StellarBody, target: StellarTarget, baseFee: bigint, now: Moment): Checked => {
  const violations = earlyViolations(body, target, now)
  if (violations.length > 0) return Result.fail(violations)
  const request = requestOfBody(body)
  const isPayment = request.operations !== undefined && paymentsOf(request) !== undefined
  if (!isPayment) {
    return Result.fail([
      { field: body.operations === undefined ? "transaction_xdr" : "operations", message: onlyPayments }
    ])
  }
  const envelope = envelopeOf(target.relayer.address, request, baseFee)
  const guarded = guard("operations", envelope, guardTerms(target, request, { baseFee, now }))
  return Result.isFailure(guarded) ? Result.fail([violationOf(guarded.failure, "operations")]) : Result.succeed(request)
}

const sendingOn = (account: Omit<Account, "address">): Sending<Stellar> => ({
  rules: stellarRules,
  body: SendStellarTransaction,
  replacement: ReplaceStellarTransaction,
  batch: batchOf(SendStellarTransaction),
  hasSequences: true,
  nameOf: ({ external_id }) => external_id,
  lacking: () => undefined,
  admit: (body, target, now) =>
    Result.map(check(body, target, account.baseFee, now), (request) => ({
      request,
      facts: {},
      validUntil: deadlineOf(body, now),
      priority: body.priority ?? 0,
      ...present("notBefore", momentOf(body.not_before)),
      ...present("requiredSequence", body.sequence)
    })),
  replacementOf: (body) => ({ request: requestOfBody(body), deadline: momentOf(body.valid_until) }),
  replacementViolations: (body, target, now) => {
    const checked = check(body, target, account.baseFee, now)
    return Result.isFailure(checked) ? checked.failure : []
  },
  openLane: (options) => StellarLane.make({ ...options, account: { ...account, address: options.address } })
})

/** Lives of an envelope within which everything ends on a network without faults. */
const livesOfPatience = 6

/** Ledgers in which polls see that an envelope has died. */
const ledgersToSee = 3

export const make: Make<StellarTestNetwork> = (network, timeOf) => {
  const { baseFee, blockTime, name, passphrase } = network
  const chain = StellarChain.make({ ...network, networkId: networkIdOf(passphrase), timeOf })
  const blocksToEnd = Math.ceil((envelopeValidity.standard * 1000) / blockTime) + ledgersToSee
  return {
    chain,
    client: Node.client({ chain, passphrase }),
    sending: sendingOn({ chain, baseFee }),
    pollInterval: Math.max(leastPollInterval, blockTime / pollsPerLedger),
    createNetwork: {
      network_type: "stellar",
      name,
      average_blocktime_ms: blockTime,
      passphrase,
      rpc_urls: chain.providers.map(({ url }) => ({ url, weight: 100 })),
      is_testnet: true
    },
    violationOf: (one) =>
      one.network_type === "stellar" && one.passphrase !== passphrase
        ? { field: "passphrase", message: `must be ${passphrase}, the network of the test kit` }
        : undefined,
    policies: undefined,
    bodyOf: (_, { to, value }) => ({
      network: name,
      operations: [{ type: "payment", destination: to, amount: value, asset: { type: "native" } }]
    }),
    patience: livesOfPatience * blocksToEnd,
    blocksToEnd
  }
}
