// The rules of the networks whose transactions the ledger stores. A row finds its rules by the chain of its lane.
import { Context, Layer, Schema } from "effect"
import type { Rules } from "../../domain/transaction/Rules.ts"
import { rulesOfUnknown } from "../../domain/transaction/UnknownNetwork.ts"

/** Schemas are compiled once per network, not for each row. */
const codecOf = <A>(codec: Schema.Codec<A, unknown>) => {
  const encode = Schema.encodeUnknownSync(codec)
  return {
    decode: Schema.decodeUnknownSync(codec),
    /** JSON text of a value. */
    text: (value: A): string => JSON.stringify(encode(value))
  }
}

const networkOf = (rules: Rules) => ({
  rules,
  request: codecOf(rules.request),
  facts: codecOf(rules.facts),
  offer: codecOf(rules.offer),
  refusal: codecOf(rules.refusal),
  counters: codecOf(rules.counters),
  receipt: codecOf(rules.receipt),
  shown: codecOf(rules.shown)
})

/** The rules of a network, and how its shapes are stored. */
export type LedgerNetwork = ReturnType<typeof networkOf>

export class LedgerRules extends Context.Service<
  LedgerRules,
  {
    /**
     * By the chain of a lane, such as `evm:8453`. A newer version of the service may have stored rows of a network that this
     * one does not know: they are shown, and nothing is decided about them.
     */
    of(chain: string): LedgerNetwork
  }
>()("effect-relayer/server/ledger/LedgerRules") {
  static readonly layer = (...known: ReadonlyArray<Rules>) =>
    Layer.sync(LedgerRules, () => {
      const networks = new Map(known.map((rules) => [rules.type, networkOf(rules)]))
      return LedgerRules.of({
        of: (chain) => {
          const type = chain.split(":", 1)[0] ?? chain
          const found = networks.get(type) ?? networkOf(rulesOfUnknown(type))
          networks.set(type, found)
          return found
        }
      })
    })
}
