// JSON-RPC calls to stellar relayers: providers of the relayer answer them.
import { Effect } from "effect"
import { stellarRules } from "../../../domain/transaction/stellar/StellarRules.ts"
import { passedMethods } from "../../../domain/transaction/stellar/RpcMethods.ts"
import { passing } from "../NodePassing.ts"
import * as RelayerChain from "./RelayerChain.ts"

export const make = Effect.map(RelayerChain.make, ({ first, providersOf }) =>
  passing({
    type: stellarRules.type,
    methods: passedMethods,
    ask: (sender, call) =>
      Effect.flatMap(providersOf(sender), (providers) => first(providers, (node) => node.ask(call))),
    listed: ({ network }) => (network.network_type === "stellar" ? network.rpc_methods : undefined)
  })
)
