// Providers of stellar networks, and how nodes answer to signed envelopes.
import { Context, Effect, Layer } from "effect"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import type { NodeAnswer } from "../../../domain/transaction/stellar/QueueAnswer.ts"
import * as Providers from "../Providers.ts"
import * as RpcFailure from "../RpcFailure.ts"
import type { RpcDialect, RpcNode } from "../RpcNode.ts"
import { RpcNodes } from "../RpcNodes.ts"
import * as Calls from "./StellarCalls.ts"
import type { Library } from "./StellarLibrary.ts"
import { answerOf } from "./StellarResults.ts"

export const dialect: RpcDialect = { networkType: "stellar", codes: RpcFailure.codes, isAnswer: () => false }

export interface StellarProviders extends Providers.Providers {
  /** URLs that are asked. */
  readonly configured: number
}

/** Fails if the node is on another network. `note`: gets the protocol that the node names. */
export const prove =
  (passphrase: string, note: (url: string, protocol: number) => void = () => {}) =>
  (node: RpcNode) =>
    Effect.flatMap(node.call(Calls.network), ({ passphrase: found, protocolVersion }) => {
      if (found !== passphrase) return Effect.fail(RpcFailure.answered("mismatch").of(Calls.network.method))
      if (protocolVersion !== undefined) note(node.url, protocolVersion)
      return Effect.void
    })

export const providers = Effect.fnUntraced(function* (
  nodeOf: (url: string) => RpcNode,
  urls: ReadonlyArray<RpcConfig>,
  passphrase: string
) {
  const made: StellarProviders = {
    ...(yield* Providers.make({ nodeOf, prove: prove(passphrase) }, urls)),
    configured: new Set(urls.filter(({ weight }) => weight > 0).map(({ url }) => url)).size
  }
  return made
})

export class StellarNodes extends Context.Service<
  StellarNodes,
  {
    /** The order of the providers is chosen by weight, once. */
    providers(urls: ReadonlyArray<RpcConfig>, passphrase: string): Effect.Effect<StellarProviders>
  }
>()("effect-relayer/server/chains/stellar/StellarNodes") {
  static readonly layerNoDeps = Layer.effect(
    StellarNodes,
    Effect.map(RpcNodes, (nodes) =>
      StellarNodes.of({
        providers: (urls, passphrase) => providers((url) => nodes.of(dialect, url), urls, passphrase)
      })
    )
  )
}

/** `envelope`: base64. `hash`: of it, in hex. */
export const send =
  (lib: Library, envelope: string, hash: string) =>
  (node: RpcNode): Effect.Effect<NodeAnswer> =>
    node.send({ method: "sendTransaction", params: { transaction: envelope } }).pipe(
      Effect.map((answer) => answerOf(lib, answer, hash)),
      Effect.catchTag("Unanswered", () => Effect.succeed<NodeAnswer>({ status: "UNKNOWN" }))
    )
