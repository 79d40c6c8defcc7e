// Simulates a send: asks a provider what it would do and cost now, without storing or sending anything.
import { Effect } from "effect"
import { isOwnCall } from "../../../domain/transaction/evm/Admission.ts"
import type { Evm } from "../../../domain/transaction/evm/Evm.ts"
import { evmTermsOf } from "../../../domain/transaction/evm/EvmTerms.ts"
import { marketFor } from "../../../domain/transaction/evm/Market.ts"
import type { SendEvmTransaction } from "../../../domain/transaction/evm/SendEvmTransaction.ts"
import type { Estimate } from "../../../domain/transaction/evm/View.ts"
import { balanceOf, blockAt, codeOf } from "../../chains/evm/EvmCalls.ts"
import * as EvmDataFees from "../../chains/evm/EvmDataFees.ts"
import * as EvmEstimates from "../../chains/evm/EvmEstimates.ts"
import { EvmNodes } from "../../chains/evm/EvmNodes.ts"
import type { NetworkLimits } from "../../../domain/transaction/TransactionLimits.ts"
import { rpcFailure } from "../../chains/RpcFailure.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { OutboundWork } from "../../limits/CallerLimits.ts"
import type { Sender } from "../Intake.ts"
import * as Checks from "./Checks.ts"
import { evmSenderOf } from "./EvmSenders.ts"
import type { EvmSender } from "./EvmSenders.ts"
import * as RelayerNodes from "./RelayerNodes.ts"
import { simulationOf } from "./Simulated.ts"

/** A simulation asks one provider: nothing depends on its answer. */
const toEstimate = (found: EvmEstimates.NodeEstimate): Estimate =>
  found._tag === "Reverts"
    ? { _tag: "Reverts", second: "not_configured", ...(found.reason === undefined ? {} : { reason: found.reason }) }
    : found

interface Limits {
  readonly limits: NetworkLimits | undefined
  readonly forbidden: Violation | undefined
}

export const make = Effect.gen(function* () {
  const { first: nodes } = yield* RelayerNodes.make
  const { markets } = yield* EvmNodes
  const ledger = yield* Ledger
  const outboundWork = yield* OutboundWork

  const askNode = Effect.fnUntraced(function* (node: RpcNode, body: SendEvmTransaction, sender: EvmSender) {
    const { relayer, numbers } = sender
    const { to, value, data } = body
    const call = {
      from: relayer.address,
      value,
      ...(to === undefined ? {} : { to }),
      ...(data === undefined ? {} : { data })
    }
    const [head, balance, estimate, dataFee, noopDataFee, code] = yield* Effect.all(
      [
        node.call(blockAt("latest")),
        node.call(balanceOf(relayer.address)),
        EvmEstimates.at(node, call),
        EvmDataFees.dataFee(node, numbers, call),
        EvmDataFees.dataFee(node, numbers, { to: relayer.address, value: 0n }),
        isOwnCall(body, relayer.address) ? node.call(codeOf(relayer.address)) : Effect.succeed("0x")
      ],
      { concurrency: "unbounded" }
    )
    if (head === null) return yield* rpcFailure("invalid_answer").of("eth_getBlockByNumber")
    const found = yield* markets.at({ node, head }, numbers)
    const market = marketFor(found, evmTermsOf(sender))
    return {
      head,
      balance,
      code,
      estimate: toEstimate(estimate),
      market,
      ...(dataFee === undefined ? {} : { dataFee }),
      ...(noopDataFee === undefined ? {} : { noopDataFee })
    }
  })

  return Effect.fn("EvmSimulation.simulate")(function* (
    body: SendEvmTransaction,
    { target, account }: Sender<Evm>,
    { limits, forbidden }: Limits
  ) {
    const sender = evmSenderOf(target, account)
    const reserved = yield* ledger.reserved(account)
    const ask = nodes(account.relayerId, sender.numbers.chainId, (node) => askNode(node, body, sender))
    const { code, ...known } = yield* outboundWork.run(ask)
    const limit = forbidden ?? Checks.limitViolation(body, limits)
    const own = Checks.ownCallViolation(body, target, limits, code)
    const found = [limit, own].filter((one) => one !== undefined)
    const violations = [...(yield* Checks.violations(body, target)), ...found]
    return simulationOf(Checks.requestOf(body), sender, { ...known, reserved }, violations)
  })
})
