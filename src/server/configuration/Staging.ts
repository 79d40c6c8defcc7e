// Prepares the signers of an apply, outside of its transaction: asks key services for the keys of new signers, and tries new logins.
import { Duration, Effect, Option, Result } from "effect"
import { PlanRefused } from "../../domain/configuration/ConfigurationErrors.ts"
import type { Plan, Step } from "../../domain/configuration/Plan.ts"
import { nameOf } from "../../domain/configuration/States.ts"
import type { WantedObject } from "../../domain/configuration/Wanted.ts"
import { BadGateway } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { SignerId } from "../../domain/signer/SignerId.ts"
import { Signers } from "../signers/Signers.ts"
import type { Prepared } from "./Plans.ts"
import * as Requests from "./Requests.ts"
import { secretsOf } from "./SignerStates.ts"

/** What stores each prepared signer, by its id. */
export type Staged = ReadonlyMap<string, Effect.Effect<void, { readonly message: string }>>

/** Key services that are asked at the same time for one apply. */
const maxAsked = 32

/** Shorter than the lease of an idempotency key. */
const limit = Duration.seconds(80)

/** Types whose keys are given: what is wrong with them is wrong with the document. */
const isGiven = (object: WantedObject): boolean =>
  object.request["type"] === "plain" || object.request["type"] === "local"

export const make = Effect.gen(function* () {
  const signers = yield* Signers

  const stageLogin = Effect.fnUntraced(function* (
    step: Step,
    object: WantedObject,
    stored: ReadonlyMap<string, string>
  ) {
    const request = Requests.credentials(Requests.complete(object, stored))
    if (Option.isNone(request)) return yield* Effect.die(new Error("a signer without a login has another login"))
    return Effect.asVoid(yield* signers.stageCredentials(SignerId.make(step.id), request.value))
  })

  const stageOne = Effect.fnUntraced(function* (step: Step, object: WantedObject) {
    const [found] = object.marks.size === 0 ? [] : yield* signers.configured([step.id], false)
    const stored = found === undefined ? new Map<string, string>() : secretsOf(found)
    if (step.action === "update" || step.action === "adopt") return yield* stageLogin(step, object, stored)
    return Effect.asVoid(yield* signers.stage(Requests.signer(Requests.complete(object, stored))))
  })

  const isStaged = ({ action, changes, kind }: Step): boolean =>
    kind === "signers" &&
    (action === "create" || action === "replace" || ((action === "update" || action === "adopt") && changes.length > 0))

  return Effect.fn("Configuration.stage")(function* (plan: Plan, { compared }: Prepared) {
    const wrong: Array<Violation> = []
    const unreachable: Array<string> = []
    const staged = yield* Effect.forEach(
      plan.steps.filter(isStaged),
      Effect.fnUntraced(function* (step) {
        const wanted = compared.get(nameOf(step))
        if (wanted === undefined) return []
        const result = yield* Effect.result(stageOne(step, wanted.object))
        if (Result.isSuccess(result)) return [[step.id, result.success] as const]
        const { message } = result.failure
        if (isGiven(wanted.object)) wrong.push({ field: nameOf(step), message })
        else unreachable.push(`${nameOf(step)}: ${message}`)
        return []
      }),
      { concurrency: maxAsked }
    ).pipe(
      Effect.timeoutOrElse({
        duration: limit,
        orElse: () =>
          Effect.fail(
            new BadGateway({ error: `the key services took longer than ${Duration.toSeconds(limit)} seconds` })
          )
      })
    )
    if (unreachable.length > 0) return yield* new BadGateway({ error: unreachable.toSorted().join("\n") })
    if (wrong.length > 0)
      return yield* PlanRefused.of(wrong.toSorted((one, other) => (one.field < other.field ? -1 : 1)))
    const result: Staged = new Map(staged.flat())
    return result
  })
})
