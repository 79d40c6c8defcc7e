// JSON-RPC calls to evm relayers: a node that holds the relayer's key answers some, and providers of the relayer the others.
import { Effect } from "effect"
import type { Sender } from "../Intake.ts"
import type { NodeCall } from "../../../domain/transaction/NodeCall.ts"
import { errorReply, paramsList, resultReply } from "../NodePassing.ts"
import type { NodeNetwork } from "../NodePassing.ts"
import * as EvmSenders from "./EvmSenders.ts"
import type { EvmSender } from "./EvmSenders.ts"
import * as AccountMethods from "./wallet/AccountMethods.ts"
import * as PassedCalls from "./wallet/PassedCalls.ts"

export const make = Effect.gen(function* () {
  const { ofEvm } = yield* EvmSenders.make
  const methods = yield* AccountMethods.make
  const pass = yield* PassedCalls.make

  const begin = (sender: EvmSender, call: NodeCall, method: AccountMethods.AccountMethod) =>
    Effect.flatMap(paramsList(call), (params) => method.begin(sender, params)).pipe(
      Effect.map((end) => resultReply(call, end)),
      Effect.catchTag("RpcError", (error) => Effect.succeed(Effect.succeed(errorReply(call, error))))
    )

  const calls: NodeNetwork = {
    type: "evm",
    scopeOf: (name) => methods.get(name)?.scope,
    begin: Effect.fnUntraced(function* (sender: Sender, call: NodeCall) {
      const method = methods.get(call.method)
      return method === undefined ? undefined : yield* begin(yield* Effect.orDie(ofEvm(sender)), call, method)
    }),
    pass: (sender, call) => Effect.flatMap(Effect.orDie(ofEvm(sender)), (evm) => pass(evm, call))
  }
  return calls
})
