// Simulates a send: asks a provider what it would do and cost now, without storing or sending anything.
import { Context, Effect, Layer, Result } from "effect"
import * as Caller from "../../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import type { BadGateway, NotImplemented } from "../../../domain/request/Request.ts"
import type { SendEvmTransaction } from "../../../domain/transaction/evm/SendEvmTransaction.ts"
import type { Simulation } from "../../../domain/transaction/evm/Simulation.ts"
import { limitsFor } from "../../../domain/transaction/TransactionLimits.ts"
import type { Estimate } from "../../../domain/transaction/evm/View.ts"
import { balanceOf, blockAt } from "../../chains/evm/EvmCalls.ts"
import * as EvmDataFees from "../../chains/evm/EvmDataFees.ts"
import * as EvmEstimates from "../../chains/evm/EvmEstimates.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { EvmNodes } from "../../chains/evm/EvmNodes.ts"
import * as RpcFailure from "../../chains/RpcFailure.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import { OutboundWork } from "../../limits/OutboundWork.ts"
import * as Checks from "../Checks.ts"
import * as RelayerNodes from "./RelayerNodes.ts"
import * as Senders from "../Senders.ts"
import type { Sender } from "../Senders.ts"
import { simulationOf } from "./Simulated.ts"

/** A simulation asks one provider: nothing depends on its answer. */
const toEstimate = (found: EvmEstimates.NodeEstimate): Estimate =>
  found._tag === "Reverts"
    ? { _tag: "Reverts", second: "not_configured", ...(found.reason === undefined ? {} : { reason: found.reason }) }
    : found

export class Simulations extends Context.Service<
  Simulations,
  {
    simulate(
      id: RelayerId,
      body: SendEvmTransaction
    ): Effect.Effect<Simulation, RelayerNotFound | NotImplemented | BadGateway | TooManyRequests>
  }
>()("effect-relayer/server/transactions/evm/Simulations") {
  /** @internal */
  static readonly layer = Layer.effect(
    Simulations,
    Effect.gen(function* () {
      const senders = yield* Senders.make
      const nodes = yield* RelayerNodes.make
      const { markets } = yield* EvmNodes
      const ledger = yield* Ledger
      const outboundWork = yield* OutboundWork

      const askNode = Effect.fnUntraced(function* (
        node: RpcNode,
        body: SendEvmTransaction,
        { relayer, numbers }: Sender
      ) {
        const { to, value, data } = body
        const call = {
          from: relayer.address,
          value,
          ...(to === undefined ? {} : { to }),
          ...(data === undefined ? {} : { data })
        }
        const [head, balance, estimate, dataFee, noopDataFee] = yield* Effect.all(
          [
            node.call(blockAt("latest")),
            node.call(balanceOf(relayer.address)),
            EvmEstimates.at(node, call),
            EvmDataFees.dataFee(node, numbers, call),
            EvmDataFees.dataFee(node, numbers, { to: relayer.address, value: 0n })
          ],
          { concurrency: "unbounded" }
        )
        if (head === null) return yield* RpcFailure.failure("invalid_answer").of("eth_getBlockByNumber")
        const market = yield* markets.at(node, numbers, head.hash)
        return {
          head,
          balance,
          estimate: toEstimate(estimate),
          market,
          ...(dataFee === undefined ? {} : { dataFee }),
          ...(noopDataFee === undefined ? {} : { noopDataFee })
        }
      })

      const simulate = Effect.fn("Simulations.simulate")(function* (id: RelayerId, body: SendEvmTransaction) {
        const sender = yield* senders.get(id)
        const { transactionLimits } = yield* Caller.current
        const limit = Result.match(limitsFor(transactionLimits, sender.relayer.network_type), {
          onFailure: (violation) => violation,
          onSuccess: (limits) => Checks.limitViolation(body, limits)
        })
        const violations = [...(yield* Checks.violations(body, sender)), ...(limit === undefined ? [] : [limit])]
        const reserved = yield* ledger.reserved(sender.account)
        const known = yield* outboundWork.run(nodes(id, sender.numbers.chainId, (node) => askNode(node, body, sender)))
        return simulationOf(Checks.requestOf(body), sender, { ...known, reserved }, violations)
      })

      return Simulations.of({ simulate })
    })
  )
}
