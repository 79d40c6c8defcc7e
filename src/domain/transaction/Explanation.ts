// Why a transaction is in its state, and what happens next: a sentence for people, a code and figures for programs. Each
// network adds sentences of its own codes.
import { DateTime } from "effect"
import { entryOf } from "../request/Shown.ts"
import type { Cause, Figures } from "./Cause.ts"
import type { KnownCode } from "./Code.ts"
import type { Moment } from "./Moment.ts"

export interface Words {
  /** What is the case, with numbers if they are known. */
  readonly reason: string
  /** What the service does about it, and what would help. */
  readonly next: string
}

/** By code. */
export type Sentences = Readonly<Partial<Record<KnownCode, (figures: Figures) => Words>>>

export const number = (value: number | undefined): string => (value === undefined ? "an unknown number" : String(value))

export const transactions = (value: number | undefined): string =>
  value === undefined ? "an unknown number of transactions" : value === 1 ? "1 transaction" : `${value} transactions`

/** Solana and stellar sign in the order of acceptance. What holds a whole relayer, such as missing funds, holds those behind it too. */
export const waitsToBeSigned = ({ position = 0 }: Figures): Words =>
  position === 0
    ? { reason: "It waits to be signed.", next: "It is signed in the next step of its relayer." }
    : {
        reason: `It waits to be signed behind ${transactions(position)} of its relayer.`,
        next: "It is signed after them. What holds the first of them for the whole relayer, such as missing funds, holds it too: the explanation of the first one names it."
      }

export const times = (value: number | undefined): string =>
  value === undefined ? "an unknown number of times" : value === 1 ? "1 time" : `${value} times`

export const hashed = (hash: string | undefined): string => (hash === undefined ? "" : ` (${hash})`)

export const because = (text: string | undefined): string => (text === undefined ? "" : `: ${text}`)

/** A moment in a sentence. */
const moment = (at: Moment): string => DateTime.formatIso(DateTime.makeUnsafe(at))

const askedAgain = (until: Moment | undefined): string =>
  until === undefined ? "after a pause" : `at ${moment(until)}`

const nothing = "Nothing: this is final."

export const operator = "An operator must decide with `POST /api/v1/relayers/{id}/nonce/resync`."

/** Says that a code waits for a person. */
export const neverByTime = "It is never decided by time."

export const final = (reason: string): Words => ({ reason, next: nothing })

/** What a provider did instead of an answer, after a sentence about all of them. */
const instead = ({ error, host }: Pick<Figures, "host" | "error">): string =>
  host === undefined ? "" : `; ${host}: ${error ?? "no answer"}`

/** What `rate_limited` means unless the network has another reason. */
export const tooManyRequests = (figures: Pick<Figures, "host" | "error">): Words => ({
  reason: `The RPC providers refuse requests because there are too many${instead(figures)}.`,
  next: "The service asks them again after a pause, and for less at once. A plan with more requests, or more RPC URLs, helps."
})

/** What `providers_unavailable` means unless the network knows more. */
export const noAnswers = (figures: Pick<Figures, "host" | "error">): Words => ({
  reason:
    figures.host === undefined
      ? "No RPC provider gives the answers that a decision needs, or two of them disagree."
      : `No RPC provider gives the answers that a decision needs${instead(figures)}.`,
  next: "The service asks them again after a pause. More RPC URLs help."
})

/** Codes that mean the same on all networks. */
const neutral = {
  relayer_paused: () => ({
    reason: "An operator has paused its relayer.",
    next: "It continues when the relayer is resumed."
  }),
  relayer_disabled: () => ({
    reason: "The service has disabled its relayer.",
    next: "It continues when the relayer's next health check succeeds; `GET /api/v1/relayers/{id}/explain` says what is wrong."
  }),
  not_before: () => ({
    reason: "Its `not_before` is in the future.",
    next: "It is queued at that moment."
  }),
  signer_unavailable: ({ until }) => ({
    reason: "Its signer cannot sign: it does not answer, refuses the service, or has another key than the relayer.",
    next: `The service asks the signer again ${askedAgain(until)}; nothing is lost. \`POST /api/v1/signers/{id}/verify\` says what is wrong.`
  }),
  throttled: ({ until }) => ({
    reason: "The key service of its signer accepts no more requests now.",
    next: `The service asks the signer again ${askedAgain(until)}; nothing is lost. A higher quota at the key service helps.`
  }),
  row_changed: () => ({
    reason:
      "The row of its relayer, network or signer cannot be verified, or is gone: another program or a person changed the database, or a defect of an earlier version lost the secret of MACs.",
    next: "Nothing is signed or sent with it. It continues when the row is restored from a backup, or accepted by `effect-relayer repair`, which shows the evidence for each cause. Delete no signer whose key exists nowhere else."
  }),
  providers_unavailable: noAnswers,
  rate_limited: tooManyRequests,
  second_provider_missing: ({ host = "another provider", error, decides_at }) => ({
    reason: `One provider shows how it ends, and no other one has an opinion: ${host} does not have one${because(error)}.`,
    next: `${
      decides_at === undefined
        ? "It waits until another provider has an opinion, because `finality_by_one` of the network is `never`."
        : `It is decided when another provider has an opinion, or at ${moment(decides_at)} by the one that is left.`
    } Correct that RPC URL, set its weight to 0, or add a third one.`
  }),
  policy_changed: () => final("The relayer's policy, or a limit of the API key, no longer allowed it."),
  deadline_passed: () => final("Its deadline passed before it was executed; it has no effect."),
  canceled: () => final("It was canceled and has no effect.")
} as const satisfies Sentences

/** A newer version of the service may have written it. */
const unknown = (code: string): Words => ({
  reason: `Its code is ${code}, which this version of the service does not know.`,
  next: "Ask an instance of the version that wrote it."
})

/**
 * `own`: sentences of the network. `clearing`: why nothing is to happen at the place of an open transaction, by the code that
 * it ends with. `isFinal`: a code can be a reason to wait, and later the reason of the end.
 */
export const explainWith =
  (own: Sentences, clearing: (cause: Cause) => Words | undefined) =>
  (cause: Cause, isFinal: boolean): Words => {
    const cleared = isFinal ? undefined : clearing(cause)
    if (cleared !== undefined) return cleared
    const sentences: Sentences = { ...neutral, ...own }
    const found = entryOf(sentences, cause.code)?.(cause.figures) ?? unknown(cause.code)
    return isFinal ? { ...found, next: nothing } : found
  }
