// The body of a send, and of a replacement, field by field. `Consistency.ts` checks fields against each other, and
// `Admission.ts` against relayer, network and time.
import { DateTime, Effect, Predicate, Schema, SchemaIssue, SchemaTransformation, Struct } from "effect"
import { field } from "../../request/Field.ts"
import { Instant, maybe, text } from "../../request/Text.ts"
import { Sequence, Stroops } from "./Int64.ts"
import { batchOf } from "../TransactionRequests.ts"
import { maxExternalIdLength } from "../TransactionValues.ts"
import { Memo, NetworkName, StellarOperation } from "./StellarOperation.ts"
import { AccountAddress } from "./StrKey.ts"

const unixSeconds = /^(0|[1-9]\d{0,10})$/

const isUnix = (input: string | number): boolean =>
  Predicate.isNumber(input) ? Number.isSafeInteger(input) && input >= 0 : unixSeconds.test(input)

const expected = "an RFC 3339 date-time with a time zone, or unix seconds"

const decodeInstant = Schema.decodeEffect(Instant)

/** The last moment that RFC 3339 can write, in unix seconds. */
const lastSecond = 253_402_300_799

/** RFC 3339, or unix seconds as a string or a number. It goes out as RFC 3339. */
const Deadline = Schema.Union([Schema.String, Schema.Finite])
  .annotate({ description: expected })
  .pipe(
    Schema.decodeTo(
      Schema.toType(Instant),
      SchemaTransformation.transformEffect({
        decode: (input: string | number, options) => {
          const invalid = () => new SchemaIssue.InvalidValue({ expected }, input, options)
          if (!isUnix(input)) {
            return Predicate.isString(input) ? Effect.mapError(decodeInstant(input), invalid) : Effect.fail(invalid())
          }
          const seconds = Number(input)
          return seconds > lastSecond ? Effect.fail(invalid()) : Effect.succeed(DateTime.makeUnsafe(seconds * 1000))
        },
        encode: (moment: DateTime.Utc) => Effect.succeed(DateTime.formatIso(moment))
      })
    )
  )

const doc = <const T>(description: string, example: T) => ({ description, examples: [example] })

const fields = {
  network: field(NetworkName, "Network of the relayer.", "testnet"),
  source_account: maybe(
    AccountAddress,
    doc(
      "The relayer's address, or the source of the envelope.",
      "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
    )
  ),
  operations: maybe(Schema.Array(StellarOperation), {
    description: "1 to 100 operations, instead of `transaction_xdr`."
  }),
  transaction_xdr: maybe(
    Schema.String,
    doc(
      "An envelope in base64, instead of `operations`: unsigned, or signed by its source with `fee_bump`.",
      "AAAAAgAA"
    )
  ),
  memo: maybe(Memo, { description: "Memo, with `operations` only." }),
  valid_until: maybe(Deadline, doc("Deadline. If absent, two minutes; at most 7 days.", "2026-11-22T18:00:00.000Z")),
  fee_bump: maybe(Schema.Boolean, doc("Whether the relayer pays for an envelope that its source has signed.", true)),
  max_fee: maybe(Stroops, doc("Stroops that an envelope may cost in all.", "1000000")),
  signed_auth_entry: maybe(
    Schema.String,
    doc(
      "The `user_auth_entry` that the service has built for a user, signed by the user, in base64. It is sent with the `transaction_xdr` of the same build.",
      "AAAAAA=="
    )
  ),
  external_id: maybe(text(1, maxExternalIdLength), doc("The caller's identifier, unique per relayer.", "order-1234")),
  not_before: maybe(Instant, doc("Moment before which nothing is signed.", "2026-11-22T12:00:00.000Z")),
  priority: maybe(Schema.Literals([-1, 0, 1]), doc("Order among the relayer's transactions. The default is 0.", 1)),
  wait_for_funds: maybe(
    Schema.Boolean,
    doc(
      "Whether it waits for funds until its deadline. The default is false: it fails after ten minutes without them.",
      true
    )
  ),
  restore_footprint: maybe(
    Schema.Boolean,
    doc("Whether the relayer pays to restore archived entries that the call needs. The default is false.", true)
  ),
  sequence: maybe(
    Sequence,
    doc("Sequence that the transaction must have: with another one it is never executed.", "257698037760000001")
  )
}

export const SendStellarTransaction = Schema.Struct(fields).annotate({
  identifier: "SendStellarTransactionRequest",
  description: "A transaction to send."
})
export type SendStellarTransaction = typeof SendStellarTransaction.Type

/** A replacement keeps its place and its name. */
export const ReplaceStellarTransaction = Schema.Struct(
  Struct.omit(fields, ["not_before", "sequence", "external_id", "priority"])
).annotate({
  identifier: "ReplaceStellarTransactionRequest",
  description: "What a transaction does instead."
})
export type ReplaceStellarTransaction = typeof ReplaceStellarTransaction.Type

export const SendStellarBatch = batchOf(SendStellarTransaction, {
  network: "testnet",
  transaction_xdr: "AAAAAgAA"
}).annotate({
  identifier: "SendStellarTransactionBatchRequest",
  description: "Transactions that are accepted together."
})
