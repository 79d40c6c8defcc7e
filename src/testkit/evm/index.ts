// evm, as the kit asks for it.
import { Result, Struct } from "effect"
import { present } from "../../networks/core/Presentation.ts"
import { batchOf } from "../../networks/core/TransactionRequests.ts"
import { deadlineOf, evmTermsOf, violationsOf } from "../../networks/evm/rules/Admission.ts"
import { requestOfBody } from "../../networks/evm/rules/Evm.ts"
import type { Evm, EvmTarget } from "../../networks/evm/rules/Evm.ts"
import { networkNumbers, pollInterval } from "../../networks/evm/rules/EvmNumbers.ts"
import { evmRules } from "../../networks/evm/rules/EvmRules.ts"
import { ReplaceEvmTransaction, SendEvmTransaction } from "../../networks/evm/rules/EvmSchemas.ts"
import { momentOf } from "../KitNetwork.ts"
import type { EvmTestNetwork, Make, Sending } from "../KitNetwork.ts"
import * as EvmChain from "./Chain.ts"
import * as EvmLane from "./Lane.ts"
import * as Node from "./Node.ts"

const unlisted = {
  field: "authorization_list",
  message: "is not supported by the test kit, whose chain has no accounts with code"
}

/** The kit sends no authorizations. */
const violationsWithoutList = (
  { authorization_list: list, ...body }: SendEvmTransaction | ReplaceEvmTransaction,
  target: EvmTarget,
  now: number
) => (list === undefined ? violationsOf(body, admissionOf(target, now)) : [unlisted])

const bodyWithoutList = <B extends SendEvmTransaction | ReplaceEvmTransaction>(body: B) =>
  Struct.omit(body, ["authorization_list"])

const admissionOf = (target: EvmTarget, now: number) => ({ now, terms: evmTermsOf(target) })

const privateSends =
  "private transactions are not sent by the test kit: leave private out, and private_transactions of the policy"

/** Blocks within which everything ends on a chain without faults. */
const patience = 200

/** Blocks in which polls see that a deadline has passed, and a no-op takes the place of the transaction. */
const blocksToEnd = 2

const sendingOn = (chain: EvmChain.Chain, finality: number): Sending<Evm> => ({
  rules: evmRules,
  body: SendEvmTransaction,
  replacement: ReplaceEvmTransaction,
  batch: batchOf(SendEvmTransaction),
  hasSequences: true,
  nameOf: ({ external_id }) => external_id,
  lacking: (target, _, body) =>
    body !== undefined && (body.private ?? evmTermsOf(target).isPrivate) ? privateSends : undefined,
  admit: (body, target, now) => {
    const violations = violationsWithoutList(body, target, now)
    if (violations.length > 0) return Result.fail(violations)
    return Result.succeed({
      request: requestOfBody(bodyWithoutList(body)),
      facts: {},
      validUntil: deadlineOf(body, evmTermsOf(target), now),
      priority: body.priority ?? 0,
      ...present("notBefore", momentOf(body.not_before)),
      ...present("requiredSequence", body.nonce === undefined ? undefined : BigInt(body.nonce))
    })
  },
  replacementOf: (body) => ({ request: requestOfBody(bodyWithoutList(body)), deadline: momentOf(body.valid_until) }),
  replacementViolations: (body, target, now) => violationsWithoutList(body, target, now),
  openLane: ({ address, key, target, relayerNumber, rows }) => {
    const numbers = networkNumbers(target.network)
    const account = { chain, address, finality, minimumTip: numbers.minimumTip }
    return EvmLane.make({ account, key: key.secret, numbers, relayerNumber, rows })
  }
})

export const make: Make<EvmTestNetwork> = (network, timeOf) => {
  const { chainId, confirmations, name } = network
  const chain = EvmChain.make(network)
  return {
    chain,
    client: Node.client({
      chain,
      chainId,
      finality: confirmations,
      timeOf: (height) => Math.floor(timeOf(height) / 1000)
    }),
    sending: sendingOn(chain, confirmations),
    pollInterval: pollInterval(network),
    createNetwork: {
      network_type: "evm",
      name,
      chain_id: chainId,
      average_blocktime_ms: network.blockTime,
      required_confirmations: confirmations,
      rpc_urls: chain.providers.map(({ url }) => ({ url, weight: 100 })),
      features: ["eip1559"],
      symbol: "ETH",
      is_testnet: true
    },
    violationOf: (one) =>
      one.network_type === "evm" && one.chain_id !== chainId
        ? { field: "chain_id", message: `must be ${chainId}, the chain of the test kit` }
        : undefined,
    policies: undefined,
    bodyOf: (_, { to, value }) => ({ to, value }),
    patience,
    blocksToEnd
  }
}
