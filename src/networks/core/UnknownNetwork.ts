// Rules for rows of a network type that this version of the service does not know: a newer version stored them. They are shown
// as far as all networks are the same, and nothing is decided about them.
import { Result, Schema, SchemaTransformation } from "effect"
import { field, shown } from "../../domain/request/Field.ts"
import * as Shown from "../../domain/request/Shown.ts"
import { explainWith } from "./Cause.ts"
import type { Family } from "./Family.ts"
import { neutralFields, present, shownAttempt, shownFields } from "./Presentation.ts"
import { Command, TransactionConflict } from "./Rules.ts"
import type { Rules } from "./Rules.ts"
import { poll } from "./TransactionValues.ts"

/** What all networks show. */
export const OtherTransaction = Schema.Struct({
  network_type: field(
    Schema.String.check(
      Schema.isPattern(/^(?!(?:evm|solana|stellar)$)[a-z][a-z0-9_]{0,31}$/u, {
        arbitraryConstraint: { patterns: [{ source: "^other[a-z0-9_]{0,9}$", flags: "" }] }
      })
    ),
    "Network type of the relayer.",
    "other"
  ),
  ...neutralFields,
  from: field(Shown.Words, "Address of the relayer.", "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"),
  hash: shown(Shown.Words, "Hash of the attempt that was mined, else of the newest.", "5c5c5c")
}).annotate({
  identifier: "OtherTransactionResponse",
  description: "A transaction of a network type that a newer version of the service has stored."
})
export type OtherTransaction = typeof OtherTransaction.Type

interface Unknown extends Family {
  readonly body: never
  readonly replacement: never
  readonly simulation: never
  readonly signing: never
  readonly sequences: never
  readonly quote: never
  readonly build: never
  readonly shown: OtherTransaction
}

declare module "./Family.ts" {
  interface Families {
    readonly other: Unknown
  }
}

const Receipt = Schema.Struct({
  height: Schema.Int,
  isSuccess: Schema.Boolean,
  paid: Schema.BigInt,
  details: Schema.Unknown
})

/** The text stays as it is: only its own network can read it. */
const UnknownReceipt = Schema.Unknown.pipe(
  Schema.decodeTo(
    Receipt,
    SchemaTransformation.transform({
      decode: (details: unknown): typeof Receipt.Type => ({ height: 0, isSuccess: true, paid: 0n, details }),
      encode: ({ details }: typeof Receipt.Type): unknown => details
    })
  )
)

/** A client has these rules and explains nothing: its bundle leaves out sentences that no module makes when it is loaded. */
const explain: Rules["explain"] = (cause, isFinal) => explainWith({}, () => undefined)(cause, isFinal)

const notHere = (type: string) =>
  new TransactionConflict({ error: `belongs to ${type}, which this version of the service does not know` })

const isOther = Schema.is(OtherTransaction.fields.network_type)

/** A network type that this version knows, but its program does not serve, has a shape of its own, which such rows are not shown in. */
const shownTypeOf = (type: string): string => (isOther(type) ? type : `unserved_${type}`)

export const rulesOfUnknown = (type: string): Rules<Unknown> => ({
  type,
  request: Schema.Unknown,
  facts: Schema.Unknown,
  offer: Schema.Unknown,
  refusal: Schema.Unknown,
  counters: Schema.Unknown,
  receipt: UnknownReceipt,
  shown: OtherTransaction,
  targetOf: () => undefined,
  laneOf: () => ({ chain: type, address: "", window: 1 }),
  pollInterval: () => poll.maximum,
  auditedOf: () => ({}),
  identityOf: () => undefined,
  exclusiveOf: () => undefined,
  termsOf: () => ({ isAllowed: false, minBalance: 0n }),
  survey: () => undefined,
  placeOf: () => undefined,
  decide: () => [Command.Rest()],
  costOf: () => 0n,
  maxFeeOf: () => 0n,
  hear: (_, attempt) => ({ attempt, isAccepted: false, triesOlder: false, isWindowFull: false }),
  couldBe: () => false,
  replacementViolations: () => [],
  replaced: (transaction) => transaction,
  cancel: () => Result.fail(notHere(type)),
  explain,
  show: (transaction, identity) => ({
    network_type: shownTypeOf(type),
    ...shownFields(explain, transaction, identity),
    from: identity.from,
    ...present("hash", shownAttempt(transaction)?.hash)
  })
})
