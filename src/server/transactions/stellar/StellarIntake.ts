// The intake of stellar: decodes and checks what callers want to send from relayers of stellar networks. Rules that need the chain are
// checked before the signature.
import { DateTime, Effect } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import {
  ReplaceStellarTransaction,
  SendStellarTransaction
} from "../../../domain/transaction/stellar/SendStellarTransaction.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import { stellarRules } from "../../../domain/transaction/stellar/StellarRules.ts"
import * as OwnAccounts from "../../lanes/stellar/OwnAccounts.ts"
import { isNewestOf } from "../Intake.ts"
import type { Admitted, Intake } from "../Intake.ts"
import { badRequest, fieldOf } from "./StellarChecks.ts"
import * as StellarChecks from "./StellarChecks.ts"
import * as StellarSigning from "./StellarSigning.ts"
import * as StellarSimulating from "./StellarSimulating.ts"
import * as StellarSponsoring from "./StellarSponsoring.ts"

const isNewest = isNewestOf(stellarRules.request)

export const make = Effect.gen(function* () {
  const ownAccounts = yield* OwnAccounts.make

  const { check, examine } = yield* StellarChecks.make(ownAccounts)
  const simulate = yield* StellarSimulating.make(ownAccounts)
  const signing = yield* StellarSigning.make(ownAccounts)
  const { build, quote } = yield* StellarSponsoring.make(ownAccounts)

  const intake: Intake<Stellar> = {
    rules: stellarRules,
    body: SendStellarTransaction,
    replacement: ReplaceStellarTransaction,
    namesOf: (body, target) =>
      Effect.map(StellarChecks.identityOf(body, target), (identity) => ({
        ...present("externalId", body.external_id),
        ...present("identity", identity)
      })),
    admit: Effect.fnUntraced(function* (body, sender, options) {
      const checked = yield* check(body, sender, options)
      const { not_before, external_id, priority = 0, sequence } = body
      const admitted: Admitted<Stellar> = {
        ...checked,
        priority,
        ...(not_before === undefined ? {} : { notBefore: DateTime.toEpochMillis(not_before) }),
        ...present("externalId", external_id),
        ...present("requiredSequence", sequence)
      }
      return admitted
    }),
    admitReplacement: Effect.fnUntraced(function* (replacement, sender, options) {
      const { fee_bump, signed_auth_entry } = replacement
      if (fee_bump === true || signed_auth_entry !== undefined) {
        const field = fee_bump === true ? "fee_bump" : "signed_auth_entry"
        const message = "a replacement cannot be an envelope that somebody else has signed"
        return yield* badRequest([{ field, message }], options.prefix)
      }
      const { request, validUntil } = yield* check(replacement, sender, options)
      return { request, ...(replacement.valid_until === undefined ? {} : { validUntil }) }
    }),
    isNewest: (replacement, transaction) =>
      isNewest(transaction, StellarChecks.requestOf(replacement), replacement.valid_until),
    signing,
    quote,
    build,
    simulate: Effect.fnUntraced(function* (body, sender, { now, limits, forbidden }) {
      const examined = yield* examine(body, sender, { now, prefix: "" })
      return yield* simulate(examined, sender, { field: fieldOf(body), now, limits, forbidden })
    })
  }
  return intake
})
