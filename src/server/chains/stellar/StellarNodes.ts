// Providers of stellar networks, and how nodes answer to signed envelopes.
import { Context, Effect, Layer } from "effect"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import type { LedgerSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { NodeAnswer } from "../../../domain/transaction/stellar/QueueAnswer.ts"
import { makeProviders } from "../Providers.ts"
import type { Providers } from "../Providers.ts"
import { answeredFailure, rpcCheckCodes } from "../RpcFailure.ts"
import type { RpcDialect, RpcNode } from "../RpcNode.ts"
import { RpcNodes } from "../RpcNodes.ts"
import * as Calls from "./StellarCalls.ts"
import type { Library } from "./StellarLibrary.ts"
import { answerOf } from "./StellarResults.ts"
import * as StellarSettings from "./StellarSettings.ts"

export const dialect: RpcDialect = { networkType: "stellar", codes: rpcCheckCodes, isAnswer: () => false }

export interface StellarProviders extends Providers {
  /** URLs that are asked. */
  readonly configured: number
  /** What the network has voted, as these providers say it. It was read not long ago. */
  readonly settings: Effect.Effect<LedgerSettings>
  /** The same as it was read last, without a question to a provider. Undefined: it was not read yet. */
  readonly known: Effect.Effect<LedgerSettings | undefined>
}

/** Fails if the node is on another network. `note`: gets the protocol that the node names. */
export const prove =
  (passphrase: string, note: (url: string, protocol: number) => void = () => {}) =>
  (node: RpcNode) =>
    Effect.flatMap(node.call(Calls.network), ({ passphrase: found, protocolVersion }) => {
      if (found !== passphrase) return Effect.fail(answeredFailure("mismatch").of(Calls.network.method))
      if (protocolVersion !== undefined) note(node.url, protocolVersion)
      return Effect.void
    })

/** A network and the providers of it that are asked. */
interface Place {
  readonly urls: ReadonlyArray<RpcConfig>
  readonly passphrase: string
}

/** Makes providers. Those of one network with the same URLs share what they know of its settings. */
export const make = Effect.fnUntraced(function* (nodeOf: (url: string) => RpcNode) {
  const chosen = ({ passphrase, urls }: Place) =>
    Effect.map(makeProviders({ nodeOf, prove: prove(passphrase) }, urls), (made) => ({
      ...made,
      configured: new Set(urls.filter(({ weight }) => weight > 0).map(({ url }) => url)).size
    }))
  const settings = yield* StellarSettings.make((key) => chosen(JSON.parse(key) as Place))
  return {
    providers: Effect.fnUntraced(function* (urls: ReadonlyArray<RpcConfig>, passphrase: string) {
      const place = JSON.stringify({ urls, passphrase } satisfies Place)
      const made: StellarProviders = {
        ...(yield* chosen({ urls, passphrase })),
        settings: settings.read(place),
        known: Effect.sync(() => settings.known(place))
      }
      return made
    })
  }
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
    Effect.flatMap(RpcNodes, (nodes) =>
      Effect.map(
        make((url) => nodes.of(dialect, url)),
        StellarNodes.of
      )
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
