// What the answers of nodes to a broadcast are, taken together. An answer proves nothing; it says what is worth trying next.
import { present } from "../Presentation.ts"
import type { Heard } from "../Rules.ts"
import { afterSend } from "../Transaction.ts"
import type { Attempt } from "../Transaction.ts"
import type { Point } from "../TransactionValues.ts"
import { classOf } from "./QueueAnswer.ts"
import type { AnswerClass, NodeAnswer } from "./QueueAnswer.ts"
import type { Stellar, StellarRefusal } from "./Stellar.ts"

type Refused = Exclude<AnswerClass, { readonly kind: "accepted" | "provider" }>

/** If nodes differ, the answer counts after which the same bytes may still be taken. */
const byHope: ReadonlyArray<Refused["kind"]> = [
  "not_now",
  "look",
  "funds",
  "fee",
  "resources",
  "too_late",
  "other",
  "permanent"
]

const refusalOf = (refused: Refused, { refusal: former }: Attempt<Stellar>): StellarRefusal => {
  const { kind } = refused
  const named = present("result", refused.result)
  if (kind === "fee") return { class: kind, needed: refused.needed, ...named }
  if (kind !== "not_now" && kind !== "other") return { class: kind, ...named }
  return { class: "not_now", times: (former?.class === "not_now" ? (former.times ?? 0) : 0) + 1, ...named }
}

/** All nodes that answered want more. The highest fee satisfies each. */
const highestFee = (refused: ReadonlyArray<Refused>, found: Refused): Refused =>
  refused.reduce(
    (most, one) => (most.kind === "fee" && one.kind === "fee" && one.needed > most.needed ? one : most),
    found
  )

const mostHopeful = (refused: ReadonlyArray<Refused>): Refused | undefined => {
  const [found] = refused.toSorted((one, other) => byHope.indexOf(one.kind) - byHope.indexOf(other.kind))
  return found && highestFee(refused, found)
}

/** No answers: no provider could be asked. */
export const hear = (attempt: Attempt<Stellar>, answers: ReadonlyArray<NodeAnswer>, at: Point): Heard<Stellar> => {
  const classes = answers.map(classOf)
  const isAccepted = classes.some(({ kind }) => kind === "accepted")
  const refused = classes.flatMap((one) => (one.kind === "accepted" || one.kind === "provider" ? [] : [one]))
  const found = isAccepted ? undefined : mostHopeful(refused)
  // An unknown answer of one node is no refusal of all.
  const isRefused = found !== undefined && (refused.length === classes.length || found.kind !== "permanent")
  return {
    attempt: afterSend(attempt, at, {
      outcome: isAccepted ? "accepted" : found?.kind === "permanent" && isRefused ? "refused" : "unknown",
      refusal: isRefused ? refusalOf(found, attempt) : undefined
    }),
    isAccepted,
    triesOlder: false,
    isWindowFull: false
  }
}
