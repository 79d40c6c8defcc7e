// What the answers of nodes to `sendTransaction` mean. An answer proves nothing about the chain, in either direction: only
// whether the bytes are worth sending again depends on it.
import { Predicate } from "effect"
import type { Heard } from "../Rules.ts"
import { afterSend } from "../Transaction.ts"
import type { Attempt } from "../Transaction.ts"
import type { Point } from "../TransactionValues.ts"
import type { NodeAnswer } from "./NodeAnswer.ts"
import type { Solana } from "./Solana.ts"

/**
 * - `accepted`: the node has forwarded the bytes, or has them on its chain already.
 * - `provider`: the node lags, is busy, or did not answer. It says nothing about the bytes.
 * - `refused`: this node never takes the bytes.
 */
type AnswerClass = "accepted" | "provider" | "refused"

/**
 * Error codes of solana's nodes: `rpc_custom_error.rs` of agave. Since Agave 3.1, a wrong signature is a failed preflight with the error
 * `SignatureFailure`.
 */
const codes = { preflight: -32_002, signature: -32_003, invalidParams: -32_602, invalidRequest: -32_600 } as const

/**
 * What a node says about a message that it does not even execute, to a send and to a simulation alike: Agave 4.1 begins with `invalid
 * transaction:`, and names what cannot be decoded. The same code has other texts about other parameters, which are no verdict.
 */
const verdicts = /^invalid transaction|too large|failed to deserialize|invalid base64/iu

/** Another release reads other versions, and more bytes of them: 4,096 of version 1 since Agave 4.2, 1,232 before. */
const unread = /too large|failed to deserialize/iu

/** The bank of the node is older than the block in which the table got its entry. */
const unknownEntry = /address table/iu

/**
 * Undefined: the error says nothing about the message. `table`: the node does not know an entry of a lookup table yet. `unread`: the node
 * does not read such bytes, and a later release may.
 */
export const aboutMessage = ({
  code,
  message
}: Pick<Extract<NodeAnswer, { readonly _tag: "RpcError" }>, "code" | "message">):
  | "refused"
  | "table"
  | "unread"
  | undefined => {
  if (code !== codes.invalidParams || !verdicts.test(message)) return undefined
  if (unknownEntry.test(message)) return "table"
  return unread.test(message) ? "unread" : "refused"
}

/** A failed preflight names the error of the transaction in `data.err`, and in the text. */
const names = ({ message, data }: Extract<NodeAnswer, { readonly _tag: "RpcError" }>, error: string, text: string) =>
  (Predicate.hasProperty(data, "err") && data.err === error) || message.includes(error) || message.includes(text)

const classify = (answer: NodeAnswer): AnswerClass => {
  if (answer._tag === "Signature") return "accepted"
  if (answer._tag === "NoAnswer") return "provider"
  if (answer.code === codes.preflight) {
    if (names(answer, "AlreadyProcessed", "already been processed")) return "accepted"
    return names(answer, "BlockhashNotFound", "Blockhash not found") ? "provider" : "refused"
  }
  if (aboutMessage(answer) === "table") return "provider"
  const isFinal =
    answer.code === codes.signature || answer.code === codes.invalidParams || answer.code === codes.invalidRequest
  return isFinal ? "refused" : "provider"
}

/** No answers: no provider could be asked. The bytes are only given up if every provider that was asked refuses them. */
export const hear = (attempt: Attempt<Solana>, answers: ReadonlyArray<NodeAnswer>, at: Point): Heard<Solana> => {
  const classes = answers.map(classify)
  const isAccepted = classes.includes("accepted")
  const isRefused = classes.length > 0 && classes.every((one) => one === "refused")
  return {
    attempt: afterSend(attempt, at, {
      outcome: isAccepted ? "accepted" : isRefused ? "refused" : "unknown",
      refusal: isRefused ? { class: "permanent" } : undefined
    }),
    isAccepted,
    triesOlder: false,
    isWindowFull: false
  }
}
