// How nodes of evm chains speak JSON-RPC, and what they answer to signed transactions.
import { Effect } from "effect"
import { classify } from "../../../domain/transaction/evm/Refusal.ts"
import type { NodeAnswer } from "../../../domain/transaction/evm/Refusal.ts"
import type { RpcAnswer, Unanswered } from "../RpcBatch.ts"
import { codes } from "../RpcFailure.ts"
import type { RpcDialect, RpcNode } from "../RpcNode.ts"

/** What a text says about a transaction is an answer, whatever the status is. */
export const dialect: RpcDialect = {
  networkType: "evm",
  codes,
  isAnswer: (message) => classify({ _tag: "RpcError", message }) !== "unknown"
}

const toNodeAnswer = (answer: RpcAnswer): NodeAnswer => {
  if (answer._tag === "Result") return { _tag: "Hash" }
  return answer._tag === "Missing" ? { _tag: "NoAnswer" } : answer
}

const ofUnanswered = ({ http }: Unanswered): NodeAnswer =>
  http === undefined ? { _tag: "NoAnswer" } : { _tag: "HttpError", ...http }

/** `raw`: a signed transaction, as hex digits after `0x`. */
export const send =
  (raw: string) =>
  (node: RpcNode): Effect.Effect<NodeAnswer> =>
    node.send({ method: "eth_sendRawTransaction", params: [raw] }).pipe(
      Effect.map(toNodeAnswer),
      Effect.catchTag("Unanswered", (error) => Effect.succeed(ofUnanswered(error)))
    )
