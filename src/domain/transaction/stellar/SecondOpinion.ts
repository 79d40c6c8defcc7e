// What several providers prove together about the envelopes at a place. Each proves it by itself; as many as must agree decide.
import type { Moment } from "../Moment.ts"
import { accountsContradict, contradict, evidenceOf, together } from "./Evidence.ts"
import type { Evidence, Watched } from "./Evidence.ts"
import type { ProviderLook, StellarSeen } from "./StellarSeen.ts"
import { agreeing } from "./StellarNumbers.ts"

/** Evidence that ends the wait for the envelopes at a place. */
export type Proof = Extract<Evidence, { readonly kind: "applied" | "dead" | "taken" | "unproven" }>

export type Opinion =
  /** `sequences`: of the account, as the providers that decided show them. */
  | {
      readonly _tag: "Decided"
      readonly proof: Proof
      readonly sequences: ReadonlyArray<bigint>
      /** One provider decided, because no other had an opinion for as long as the network says. */
      readonly isByOne: boolean
    }
  | { readonly _tag: "Disagree" }
  /** Another provider still has to see the ledger of the proof. */
  | { readonly _tag: "Behind"; readonly ledger: number; readonly other: number }
  /** `decidesAt` is absent if one provider never decides alone. */
  | { readonly _tag: "Missing"; readonly decidesAt?: Moment }
  | { readonly _tag: "Open" }

interface Voice {
  readonly look: ProviderLook
  readonly evidence: Evidence
}

const isProof = (evidence: Evidence): evidence is Proof => evidence.kind !== "alive" && evidence.kind !== "unknown"

const sequencesOf = (voices: ReadonlyArray<Voice>): ReadonlyArray<bigint> =>
  voices.flatMap(({ look }) => look.testimony.account?.sequence ?? [])

const decided = (proof: Proof, voices: ReadonlyArray<Voice>, isByOne: boolean): Opinion => ({
  _tag: "Decided",
  proof,
  sequences: sequencesOf(voices),
  isByOne
})

/** Two providers that prove the same. */
const agreedOf = (voices: ReadonlyArray<Voice>): Opinion | undefined => {
  for (const [index, one] of voices.entries()) {
    for (const other of voices.slice(index + 1)) {
      const both = together(one.evidence, other.evidence)
      if (isProof(both)) return decided(both, [one, other], false)
    }
  }
  return undefined
}

const ledgerOf = (proof: Proof): number => (proof.kind === "applied" ? proof.applied.ledger : proof.ledger)

export interface Judging {
  readonly sequence: bigint
  readonly watched: ReadonlyArray<Watched>
  readonly finalityByOne: number | "never"
  /** Since when the providers have not answered of which one would have to agree. */
  readonly since: Moment
  readonly now: Moment
}

const alone = (proof: Proof, voice: Voice, { finalityByOne, now, since }: Judging): Opinion => {
  if (finalityByOne === "never") return { _tag: "Missing" }
  const decidesAt = since + finalityByOne
  return now >= decidesAt ? decided(proof, [voice], true) : { _tag: "Missing", decidesAt }
}

const isBehind = ({ look }: Voice, proof: Proof): boolean =>
  look.newest !== undefined && look.newest.number < ledgerOf(proof)

/** An error is no opinion, and neither is a store that is too short to have what another provider found. */
const hasOpinion = (voice: Voice, proof: Proof): boolean => {
  const { kind } = voice.evidence
  return isBehind(voice, proof) || (kind !== "unknown" && !(kind === "unproven" && proof.kind === "applied"))
}

const cannotBothBeRight = (sequence: bigint, one: Voice, other: Voice): boolean => {
  if (one === other) return false
  const accounts = [one.look.testimony.account, other.look.testimony.account] as const
  const [first, second] = accounts
  return (
    contradict(one.evidence, other.evidence) ||
    (first !== undefined && second !== undefined && accountsContradict(sequence, first, second))
  )
}

export const opinionOf = ({ configured, looks }: StellarSeen, judging: Judging): Opinion => {
  const { sequence, watched } = judging
  const voices = looks.map((look): Voice => ({ look, evidence: evidenceOf(sequence, watched, look.testimony) }))
  const first = voices.find((voice) => isProof(voice.evidence))
  if (first === undefined || !isProof(first.evidence)) return { _tag: "Open" }
  const proof = first.evidence
  if (configured < agreeing) return decided(proof, [first], false)
  const agreed = agreedOf(voices)
  if (agreed !== undefined) return agreed
  const live = voices.filter(({ look }) => !look.isStalled)
  if (live.some((one) => live.some((other) => cannotBothBeRight(sequence, one, other)))) return { _tag: "Disagree" }
  const others = live.filter((voice) => voice !== first && hasOpinion(voice, proof))
  if (others.length === 0) return alone(proof, first, judging)
  const late = others.find((voice) => isBehind(voice, proof))
  return late?.look.newest === undefined
    ? { _tag: "Open" }
    : { _tag: "Behind", ledger: ledgerOf(proof), other: late.look.newest.number }
}
