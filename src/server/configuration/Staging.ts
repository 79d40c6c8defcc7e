// Prepares the signers of a plan, outside of its transaction: opens given keys, asks key services for new ones, and tries new logins.
import { Duration, Effect, Option, Result } from "effect"
import type { Plan, Step } from "../../domain/configuration/Plan.ts"
import { nameOf } from "../../domain/configuration/States.ts"
import type { WantedObject } from "../../domain/configuration/Wanted.ts"
import { BadGateway, ServiceUnavailable } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { SignerId } from "../../domain/signer/SignerId.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import { Signers } from "../signers/Signers.ts"
import type { Prepared } from "./Plans.ts"
import * as Requests from "./Requests.ts"
import { secretsOf } from "./SignerStates.ts"

interface Refusal {
  readonly message: string
}

/** What stores each prepared signer, by its id. */
export type Staged = ReadonlyMap<string, Effect.Effect<void, Refusal>>

/** The signers whose keys the document gives. */
export interface GivenKeys {
  readonly staged: Staged
  /** What is wrong with their keys. */
  readonly wrong: ReadonlyArray<Violation>
}

/** Key services that are asked at the same time for one apply. */
const maxAsked = 32

/** A queue opens one keystore at a time, and takes two of one caller. */
const openedAtOnce = 1

/** Shorter than the lease of an idempotency key, which is 90 seconds. */
const limit = Duration.seconds(80)

/** Bounds the preparation of signers: `error` is that of what takes longer. */
export const inTime = <E>(error: E) => Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.fail(error) })

/** Key services, or many keystores, take longer than an apply waits. */
export const tookLonger = new BadGateway({
  error: `the keystores and the key services took longer than ${Duration.toSeconds(limit)} seconds`
})

/** Types whose keys are given: what is wrong with them is wrong with the document. */
const isGiven = (object: WantedObject): boolean =>
  object.request["type"] === "plain" || object.request["type"] === "local"

/** What a request waits for here is not part of its time. */
const untimed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.flatMap(CurrentRequest, (current) => {
    current?.timeLimit?.stop()
    return Effect.ensuring(
      self,
      Effect.sync(() => current?.timeLimit?.restart())
    )
  })

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

  /** Prepares the signers that `isChosen`, and gives what is wrong with the others. */
  const stageAll = (
    plan: Plan,
    { compared }: Prepared,
    isChosen: (object: WantedObject) => boolean,
    concurrency: number
  ): Effect.Effect<ReadonlyArray<readonly [Step, Result.Result<Effect.Effect<void, Refusal>, Refusal>]>> =>
    Effect.forEach(
      plan.steps.filter(isStaged),
      Effect.fnUntraced(function* (step) {
        const wanted = compared.get(nameOf(step))
        if (wanted === undefined || !isChosen(wanted.object)) return []
        return [[step, yield* Effect.result(stageOne(step, wanted.object))] as const]
      }),
      { concurrency }
    ).pipe(
      Effect.map((found) => found.flat()),
      untimed
    )

  const inOrder = (one: Violation, other: Violation) => (one.field < other.field ? -1 : 1)

  /** Prepares the signers whose keys the document gives. It asks nobody, and fails if too many other keystores wait to be opened. */
  const given = Effect.fn("Configuration.stageGiven")(function* (plan: Plan, prepared: Prepared) {
    const found = yield* stageAll(plan, prepared, isGiven, openedAtOnce)
    const isFull = found.some(([, result]) => Result.isFailure(result) && result.failure instanceof ServiceUnavailable)
    if (isFull) return yield* new ServiceUnavailable({})
    const keys: GivenKeys = {
      staged: new Map(
        found.flatMap(([{ id }, result]) => (Result.isSuccess(result) ? [[id, result.success] as const] : []))
      ),
      wrong: found
        .flatMap(([step, result]) =>
          Result.isFailure(result) ? [{ field: nameOf(step), message: result.failure.message }] : []
        )
        .toSorted(inOrder)
    }
    return keys
  })

  /** Asks the key services for the other signers. */
  const asked = Effect.fn("Configuration.stage")(function* (plan: Plan, prepared: Prepared) {
    const found = yield* stageAll(plan, prepared, (object) => !isGiven(object), maxAsked)
    const unreachable = found.flatMap(([step, result]) =>
      Result.isFailure(result) ? [`${nameOf(step)}: ${result.failure.message}`] : []
    )
    if (unreachable.length > 0) return yield* new BadGateway({ error: unreachable.toSorted().join("\n") })
    const staged: Staged = new Map(
      found.flatMap(([{ id }, result]) => (Result.isSuccess(result) ? [[id, result.success] as const] : []))
    )
    return staged
  })

  return { given, asked }
})
