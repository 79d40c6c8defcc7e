// Configurations: plans what has to change so that the service has what a document says, and changes it.
import { Context, Effect, Layer, Schema } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { ApplyConfiguration } from "../../domain/configuration/ApplyRequest.ts"
import type {
  ConfigurationApplied,
  ConfigurationDocument,
  ConfigurationSummary
} from "../../domain/configuration/ApplyRequest.ts"
import type {
  ApplyRunning,
  ConfigurationNotFound,
  PlanOutdated,
  PlanRefused
} from "../../domain/configuration/ConfigurationErrors.ts"
import { PlanConfiguration, ofPlan } from "../../domain/configuration/PlanRequest.ts"
import type { ConfigurationPlan } from "../../domain/configuration/PlanRequest.ts"
import { checked } from "../../domain/request/Checked.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import { ServiceUnavailable } from "../../domain/request/Request.ts"
import type { BadGateway, BadRequest, PayloadTooLarge } from "../../domain/request/Request.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Audit } from "../audit/Audit.ts"
import { ServiceSecrets } from "../secrets/ServiceSecrets.ts"
import * as Applying from "./Applying.ts"
import * as Exporting from "./Exporting.ts"
import * as ConfigurationRepo from "./ConfigurationRepo.ts"
import * as LastChanges from "./LastChanges.ts"
import * as Plans from "./Plans.ts"
import * as Refusals from "./Refusals.ts"
import * as Staging from "./Staging.ts"

/** Seconds after which a caller may plan again. */
const retryAfter = 1

const checkPlan = checked(PlanConfiguration)
const checkApply = checked(ApplyConfiguration)

/** What the audit log records of a plan that compared secrets. */
const ComparedFields = Schema.Struct({ fields: Schema.Array(Schema.String) })

export class Configuration extends Context.Service<
  Configuration,
  {
    /**
     * Changes nothing. Fails with `PlanRefused` if the document is invalid or the service cannot become what it says, with
     * `Forbidden` if the caller may not write what the document contains, with `TooManyRequests` while another plan of the
     * caller is made, and with `ServiceUnavailable` if too many other keystores wait to be opened, or its own ones take longer
     * than 80 seconds.
     */
    plan(
      request: PlanConfiguration
    ): Effect.Effect<
      ConfigurationPlan,
      BadRequest | Caller.Forbidden | Caller.TooManyRequests | PayloadTooLarge | PlanRefused | ServiceUnavailable
    >
    /**
     * Makes all changes of the plan with this digest, or none. Fails with `PlanOutdated` if the plan of the document is another
     * one now, with `ApplyRunning` while another apply of the configuration runs, with `BadGateway` if a key service does not
     * answer, and otherwise as `plan` does.
     */
    apply(
      request: ApplyConfiguration
    ): Effect.Effect<
      ConfigurationApplied,
      | ApplyRunning
      | BadGateway
      | BadRequest
      | Caller.Forbidden
      | Caller.TooManyRequests
      | PayloadTooLarge
      | PlanOutdated
      | PlanRefused
      | ServiceUnavailable
    >
    /** The configurations that were applied, by name. */
    list(query: PageQuery): Effect.Effect<Page<ConfigurationSummary>>
    get(name: string): Effect.Effect<ConfigurationSummary, ConfigurationNotFound>
    /**
     * What the configuration owns as a document; `all`: everything that the service has, also if no configuration of this name
     * was applied. A plan of it has no changes.
     */
    document(
      name: string,
      options?: { readonly all?: boolean }
    ): Effect.Effect<ConfigurationDocument, ConfigurationNotFound | Caller.Forbidden>
  }
>()("effect-relayer/server/configuration/Configuration") {
  /** @internal */
  static readonly layer = Layer.effect(
    Configuration,
    Effect.gen(function* () {
      const repo = yield* ConfigurationRepo.make
      const plans = yield* Plans.make
      const lastChanges = yield* LastChanges.make
      const stage = yield* Staging.make
      const refuse = yield* Refusals.make
      const applyPrepared = yield* Applying.make(plans)
      const document = yield* Exporting.make
      const audit = yield* Audit
      const transaction = yield* Transaction.make

      const makePlan = Effect.fn("Configuration.plan")(function* (request: PlanConfiguration) {
        const prepared = yield* plans.prepare(yield* checkPlan(request))
        const found = yield* transaction(Effect.andThen(repo.snapshot, plans.read(prepared, false)))
        const { fields, shown } = yield* plans.compareSecrets(prepared, found.objects)
        // Before the answer is known: a refusal can say that a secret differs.
        if (fields.length > 0) {
          const change = { action: "configuration.compared", id: prepared.wanted.name, schema: ComparedFields } as const
          yield* transaction(audit.record({ ...change, after: { fields } }))
        }
        const plan = yield* Effect.flatMap(plans.computed(prepared, found, shown), lastChanges.withDrift)
        const given = yield* Staging.inTime(new ServiceUnavailable({}))(stage.given(plan, prepared))
        yield* refuse(plan, prepared, found.objects, given)
        return ofPlan(plan, yield* plans.basisOf(prepared, found))
      })

      const planning = new Set<string>()

      const plan = Effect.fnUntraced(function* (request: PlanConfiguration) {
        const { id } = yield* Caller.current
        if (planning.has(id)) return yield* new Caller.TooManyRequests({ retryAfter })
        planning.add(id)
        return yield* Effect.ensuring(
          makePlan(request),
          Effect.sync(() => planning.delete(id))
        )
      })

      const apply = Effect.fnUntraced(function* (given: ApplyConfiguration) {
        const request = yield* checkApply(given)
        return yield* applyPrepared(request, yield* plans.prepare(request))
      })

      return Configuration.of({
        plan,
        apply,
        list: (query) => repo.page(pageRequest(query)),
        get: repo.find,
        document: (name, { all = false } = {}) => document(name, all)
      })
    })
  ).pipe(Layer.provide(ServiceSecrets.layer))
}
