// Claims of names. Workers agree on a name for a thing that must be done once, such as serving what a payment has bought; the holder of the name does it.
import { DateTime, Schema } from "effect"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Shown.ts"

/** No name is a step of a path, such as `..`. */
export const ClaimName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/u, {
    expected:
      "1 to 128 letters, digits, dashes, underscores, periods and colons, of which the first is a letter or a digit"
  })
)
  .annotate({ description: "What is claimed, such as the hash of a payment.", examples: ["x402-9f86d081884c7d65"] })
  .pipe(Schema.brand("ClaimName"))
export type ClaimName = typeof ClaimName.Type

const Holder = Shown.text(1, 128).annotate({
  description:
    "The holder: a random text that the worker makes for each thing that it does. A request with the same text and the same API key is a request of the holder.",
  examples: ["5b8aa5a2d2c872e8321cf37308d69df2"]
})

/** Seconds. A holder that dies keeps others waiting as long. */
const longestLease = 3600

/** Days for which a final claim is kept. Afterwards the name can be claimed anew. */
export const keptDays = 30

export const ClaimRequest = Schema.Struct({
  name: ClaimName,
  by: Holder,
  seconds: Shown.maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: longestLease })), {
    description:
      "How long the claim holds, from now. The holder extends it by another request. Either this or `final` is required.",
    examples: [15]
  }),
  final: Shown.maybe(Schema.Boolean, {
    description: `True makes the claim final: the name stays claimed for ${keptDays} days, and nobody releases it. Only its holder can do it, and only before its lease has ended. False is as absent.`,
    examples: [true]
  })
}).annotate({ identifier: "ClaimRequest", description: "Claims a name for some seconds, or makes a claim final." })
export type ClaimRequest = typeof ClaimRequest.Type

export const ReleaseQuery = { by: field(Holder, "`by` of the claim.", "5b8aa5a2d2c872e8321cf37308d69df2") }

export const Claim = Schema.Struct({
  name: ClaimName,
  by: Schema.optionalKey(
    field(
      Shown.Id,
      "The holder, as `by` of its request. Absent if another API key has claimed the name.",
      "5b8aa5a2d2c872e8321cf37308d69df2"
    )
  ),
  final: field(Schema.Boolean, "Whether the claim is final. Otherwise it is a lease.", false),
  claimed_at: field(Instant, "Since when this holder has the name without a break.", "2026-01-02T03:04:05.678Z"),
  ends_at: field(Instant, "When the lease ends; of a final claim, until when it is kept.", "2026-01-02T03:04:20.678Z")
}).annotate({ identifier: "Claim", description: "A name with its holder." })
export type Claim = typeof Claim.Type

/** What the audit log and the event of a final claim contain: without its holder, whom others must not know. */
export const FinalClaim = Schema.Struct({
  name: ClaimName,
  claimed_at: Claim.fields.claimed_at,
  ends_at: Claim.fields.ends_at
})

/** Nobody holds the name. */
export class ClaimNotFound extends Schema.TaggedError<ClaimNotFound>()("ClaimNotFound", {}) {
  override readonly message = "nobody holds this name"
}

/** Another holder has the name for some time. */
export class ClaimHeld extends Schema.TaggedError<ClaimHeld>()("ClaimHeld", { error: Shown.Words }) {
  override readonly message = this.error

  static until = (moment: DateTime.Utc): ClaimHeld =>
    new ClaimHeld({
      error: `another holder has the name until ${DateTime.formatIso(moment)}, unless it extends its lease`
    })
}

/** The claim is final: what the name stands for was done. */
export class ClaimFinal extends Schema.TaggedError<ClaimFinal>()("ClaimFinal", { error: Shown.Words }) {
  override readonly message = this.error

  static since = (moment: DateTime.Utc): ClaimFinal =>
    new ClaimFinal({ error: `the claim is final; its holder has the name since ${DateTime.formatIso(moment)}` })
}

/** The caller does not hold the name any more, and so cannot make its claim final. */
export class ClaimLapsed extends Schema.TaggedError<ClaimLapsed>()("ClaimLapsed", {}) {
  override readonly message =
    "by does not hold the name: its lease has ended, or there was none; claim the name with seconds first"
}
