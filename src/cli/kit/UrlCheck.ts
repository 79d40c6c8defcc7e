// Asks an RPC URL from this machine which chain it serves, and what it can do. No service is needed, and nothing is stored.
import { Context, Duration, Effect, Layer, Result } from "effect"
import type { NetworkProvider } from "../../domain/network/NetworkProvider.ts"
import { maskUrl } from "../../domain/chain/Rpc.ts"
import { makeAllowList, Outbound } from "../../outbound/Outbound.ts"
import { Breakers } from "../../server/chains/Breakers.ts"
import { askFacts } from "../../server/chains/Chains.ts"
import { ChainAccess, RpcNodes } from "../../server/chains/RpcNodes.ts"
import { networks } from "../../process/Networks.ts"
import { largestBatch } from "../../server/networks/builtin.ts"

/** Each network type, with a call that only its nodes answer. */
const types = networks.flatMap(({ provider }) => provider ?? [])

/** Milliseconds for what a provider can do: a person waits for it. */
const patience = 10_000

/** The user of this machine may reach what it reaches. */
const anywhere = makeAllowList(["0.0.0.0/0", "::/0", "localhost"])

const nodes = RpcNodes.layerNoDeps({ largestBatch }).pipe(
  Layer.provide(Breakers.layer()),
  Layer.provide(ChainAccess.layer),
  Layer.provide(Outbound.layer({ allow: anywhere }))
)

export const checkUrl = Effect.fnUntraced(function* (url: string) {
  const { of } = Context.get(yield* Layer.build(nodes), RpcNodes)
  let error = "it answers no question of evm, solana or stellar"
  for (const { dialect, questions } of types) {
    const node = of(dialect, url)
    const [taken, answer] = yield* Effect.timed(Effect.result(node.ask(questions.cheap)))
    if (Result.isFailure(answer)) error = answer.failure.text
    if (Result.isFailure(answer) && !answer.failure.answered && answer.failure.code === "unreachable") break
    if (Result.isFailure(answer) || answer.success._tag !== "Result") continue
    const found: NetworkProvider = {
      url: maskUrl(url),
      weight: 100,
      state: "working",
      relayers: 0,
      failing: 0,
      latency_ms: Math.round(Duration.toMillis(taken)),
      ...(yield* askFacts(node, questions, patience))
    }
    return found
  }
  const failed: NetworkProvider = { url: maskUrl(url), weight: 100, state: "failing", relayers: 0, failing: 0, error }
  return failed
}, Effect.scoped)
