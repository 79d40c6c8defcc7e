// What the service refuses of a plan without asking anybody: the same for the plan itself and for its apply.
import { Effect, Result } from "effect"
import { PlanRefused } from "../../domain/configuration/ConfigurationErrors.ts"
import { referencesOf } from "../../domain/configuration/Links.ts"
import type { Plan, Step } from "../../domain/configuration/Plan.ts"
import { nameOf } from "../../domain/configuration/States.ts"
import type { FoundState } from "../../domain/configuration/States.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { CreateRelayer } from "../../domain/relayer/Relayer.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { signerTypesFor } from "../../domain/signer/Signer.ts"
import { Networks } from "../networks/Networks.ts"
import { Notifications } from "../notifications/Notifications.ts"
import { cannotServe } from "../relayers/RelayerReferences.ts"
import { Relayers } from "../relayers/Relayers.ts"
import { Signers } from "../signers/Signers.ts"
import type { Compared } from "./FoundStates.ts"
import type { Prepared } from "./Plans.ts"
import * as Requests from "./Requests.ts"
import type { GivenKeys } from "./Staging.ts"

/** A step that writes an object, with the object. */
interface Written extends Compared {
  readonly step: Step
  readonly found: FoundState | undefined
}

const isWritten = ({ action, changes }: Step): boolean =>
  action === "create" || action === "replace" || ((action === "update" || action === "adopt") && changes.length > 0)

/** Whether the object is there already, and stays. */
const isChange = ({ step }: Written): boolean => step.action === "update" || step.action === "adopt"

export const make = Effect.gen(function* () {
  const networks = yield* Networks
  const notifications = yield* Notifications
  const signers = yield* Signers
  const relayers = yield* Relayers

  const ofNotification = (written: Written) => {
    const { url } = written.object.request
    const isNew = !isChange(written) || written.step.changes.some(({ path }) => path === "url")
    return typeof url === "string" && isNew ? notifications.checkUrl(url) : Effect.void
  }

  /** Why the signer of a new relayer cannot serve its network. The key of a new signer that a key service has is not known yet. */
  const unfitSigners = Effect.fnUntraced(function* (
    created: ReadonlyArray<CreateRelayer>,
    { compared }: Prepared,
    plan: Plan
  ) {
    const made = new Set(plan.steps.filter(({ action }) => action === "create" || action === "replace").map(nameOf))
    const isMade = (id: string) => made.has(nameOf({ kind: "signers", id }))
    const stored = [...new Set(created.map(({ signer_id }) => String(signer_id)))].filter((id) => !isMade(id))
    const configured = stored.length === 0 ? [] : yield* signers.configured(stored, false)
    const byId = new Map(configured.map(({ signer }) => [String(signer.id), signer]))
    const unfit = new Map<string, string>()
    for (const { id, network_type, signer_id } of created) {
      const signer = byId.get(signer_id)
      const type = compared.get(nameOf({ kind: "signers", id: signer_id }))?.object.request["type"]
      const given = isMade(signer_id) && typeof type === "string" ? type : undefined
      if (signer !== undefined && !(network_type in signer.addresses)) {
        unfit.set(String(id), `signer_id: ${cannotServe(signer, network_type)}`)
      } else if (given !== undefined && !signerTypesFor(network_type).some((fit) => fit === given)) {
        unfit.set(String(id), `signer_id: ${cannotServe({ type: given }, network_type)}`)
      }
    }
    return unfit
  })

  /** The messages by the names of the objects. */
  const messagesOf = Effect.fnUntraced(function* (written: ReadonlyArray<Written>, prepared: Prepared, plan: Plan) {
    const messages = new Map<string, string>()
    const of = (kind: Step["kind"]) => written.filter(({ step }) => step.kind === kind)
    const add = (kind: Step["kind"], found: ReadonlyMap<string, string>) => {
      for (const [id, message] of found) messages.set(nameOf({ kind, id }), message)
    }
    add("networks", yield* networks.refusals(of("networks").map(({ object }) => Requests.network(object.request))))
    for (const notification of of("notifications")) {
      const result = yield* Effect.result(ofNotification(notification))
      if (Result.isFailure(result)) messages.set(nameOf(notification.step), result.failure.message)
    }
    const changed = of("relayers").filter(isChange)
    add(
      "relayers",
      yield* relayers.refusals(
        new Map(
          changed.map(({ found, object, step }) => [RelayerId.make(step.id), Requests.changedRelayer(object, found)])
        )
      )
    )
    const created = of("relayers")
      .filter((relayer) => !isChange(relayer))
      .map(({ found, object, state }) => Requests.createdRelayer(object, state, found))
    add("relayers", yield* unfitSigners(created, prepared, plan))
    for (const request of created) {
      const result = yield* Effect.result(relayers.check(request))
      if (Result.isFailure(result))
        messages.set(nameOf({ kind: "relayers", id: String(request.id) }), result.failure.message)
    }
    return messages
  })

  /** Fails with everything that is refused. An object that refers to a refused one is left out, so that each reason is said once. */
  return Effect.fn("Configuration.refusals")(function* (
    plan: Plan,
    prepared: Prepared,
    found: ReadonlyArray<FoundState>,
    { wrong }: Pick<GivenKeys, "wrong">
  ) {
    const before = new Map(found.map((object) => [nameOf(object), object]))
    const written = plan.steps.filter(isWritten).flatMap((step): ReadonlyArray<Written> => {
      const compared = prepared.compared.get(nameOf(step))
      return compared === undefined ? [] : [{ ...compared, step, found: before.get(nameOf(step)) }]
    })
    const messages = yield* messagesOf(written, prepared, plan)
    for (const { field, message } of wrong) messages.set(field, message)
    const failed = new Set<string>()
    const violations: Array<Violation> = []
    for (const { state, step } of written) {
      const name = nameOf(step)
      const message = messages.get(name)
      const isBlocked = referencesOf(state).some((reference) => failed.has(nameOf(reference)))
      if (isBlocked || message !== undefined) failed.add(name)
      if (!isBlocked && message !== undefined) violations.push({ field: name, message })
    }
    if (violations.length > 0) return yield* PlanRefused.of(violations)
  })
})
