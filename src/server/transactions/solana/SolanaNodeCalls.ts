// JSON-RPC calls to solana relayers: the service answers those of the common client of relayers, and providers of the relayer the
// others.
import { Effect } from "effect"
import { entryOf } from "../../../domain/request/Shown.ts"
import { passedMethods } from "../../../domain/transaction/solana/RpcMethods.ts"
import { solanaRules } from "../../../domain/transaction/solana/SolanaRules.ts"
import type { Solana } from "../../../domain/transaction/solana/Solana.ts"
import type { Sender } from "../Intake.ts"
import { errorReply, passing, resultReply } from "../NodePassing.ts"
import type { NodeNetwork } from "../NodePassing.ts"
import * as RelayerProviders from "./RelayerProviders.ts"
import * as SolanaMethods from "./SolanaMethods.ts"

/** Only relayers of solana come here. */
const ofSolana = (sender: Sender): Sender<Solana> => {
  const target = solanaRules.targetOf(sender)
  if (target === undefined) throw new Error(`${sender.relayer.id} is no solana relayer`)
  return { ...sender, target }
}

/** Amounts are texts, as the client of relayers has them. */
const asText = (value: unknown): unknown => (typeof value === "bigint" ? String(value) : value)

export const make = Effect.gen(function* () {
  const methods = yield* SolanaMethods.make
  const { of, first } = yield* RelayerProviders.make

  const passed = passing({
    type: solanaRules.type,
    methods: passedMethods,
    ask: (sender, call) => Effect.flatMap(of(sender), (providers) => first(providers, (node) => node.ask(call))),
    listed: ({ network }) => (network.network_type === "solana" ? network.rpc_methods : undefined)
  })

  const calls: NodeNetwork = {
    ...passed,
    scopeOf: (name) => entryOf(methods, name)?.scope,
    begin: Effect.fnUntraced(
      function* (sender, call) {
        const method = entryOf(methods, call.method)
        if (method === undefined) return undefined
        const ending = yield* method.begin(ofSolana(sender), call.params)
        const tagged = Effect.map(ending, (result) => ({
          method: call.method,
          ...Object.fromEntries(Object.entries(result).map(([name, value]) => [name, asText(value)]))
        }))
        return resultReply(call, tagged)
      },
      (effect, _, call) =>
        Effect.catchTag(effect, "RpcError", (error) => Effect.succeed(Effect.succeed(errorReply(call, error))))
    )
  }
  return calls
})
