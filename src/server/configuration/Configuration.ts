// Configurations: plans what has to change so that the service has what a document says.
import { Context, Effect, Layer, Result, Schema } from "effect"
import { CreateApiKey } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import type { Scope } from "../../domain/access/Scope.ts"
import { PlanRefused } from "../../domain/configuration/ConfigurationErrors.ts"
import type { Kind } from "../../domain/configuration/Kinds.ts"
import * as Links from "../../domain/configuration/Links.ts"
import * as Planning from "../../domain/configuration/Planning.ts"
import { PlanConfiguration, maxObjects, ofPlan } from "../../domain/configuration/PlanRequest.ts"
import type { ConfigurationPlan, PlanOptions } from "../../domain/configuration/PlanRequest.ts"
import { nameOf, wantedState } from "../../domain/configuration/States.ts"
import type { FoundState } from "../../domain/configuration/States.ts"
import * as Wanted from "../../domain/configuration/Wanted.ts"
import { checked } from "../../domain/request/Checked.ts"
import { PayloadTooLarge } from "../../domain/request/Request.ts"
import type { BadRequest, Violation } from "../../domain/request/Request.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Audit } from "../audit/Audit.ts"
import { ServiceSecrets } from "../secrets/ServiceSecrets.ts"
import * as ComparedSecrets from "./ComparedSecrets.ts"
import * as ConfigurationRepo from "./ConfigurationRepo.ts"
import * as FoundStates from "./FoundStates.ts"
import type { Compared, Name } from "./FoundStates.ts"
import * as Tokens from "./Tokens.ts"

/** What a caller needs for a section, also to plan: a plan compares the secrets of the section. */
const scopes: Readonly<Record<Kind, Scope>> = {
  networks: "networks:write",
  notifications: "notifications:write",
  signers: "signers:write",
  relayers: "relayers:write",
  api_keys: "api-keys:write"
}

/** Seconds after which a caller may plan again. */
const retryAfter = 1

const checkRequest = checked(PlanConfiguration)

/** What the audit log records of a plan that compared secrets. */
const ComparedFields = Schema.Struct({ fields: Schema.Array(Schema.String) })

const optionsOf = (given: PlanOptions = {}): Planning.Options => ({
  prune: given.prune ?? false,
  takeOver: given.take_over ?? false,
  replace: new Set(given.replace),
  destroyKeys: new Set(given.destroy_keys)
})

const powersOf = Schema.decodeUnknownSync(Schema.toType(CreateApiKey))

/** A document that is decoded, with what it is compared by. */
interface Prepared {
  readonly wanted: Wanted.WantedConfiguration
  readonly compared: ReadonlyMap<string, Compared>
  readonly options: Planning.Options
  readonly templates: ReadonlyMap<string, string>
  readonly tokens: Tokens.Tokens
}

export class Configuration extends Context.Service<
  Configuration,
  {
    /**
     * Changes nothing. Fails with `PlanRefused` if the document is invalid or the service cannot become what it says, with
     * `Forbidden` if the caller may not write what the document contains, and with `TooManyRequests` while another plan of
     * the caller is made.
     */
    plan(
      request: PlanConfiguration
    ): Effect.Effect<
      ConfigurationPlan,
      BadRequest | Caller.Forbidden | Caller.TooManyRequests | PayloadTooLarge | PlanRefused
    >
  }
>()("effect-relayer/server/configuration/Configuration") {
  /** @internal */
  static readonly layer = Layer.effect(
    Configuration,
    Effect.gen(function* () {
      const repo = yield* ConfigurationRepo.make
      const transaction = yield* Transaction.make
      const readFound = yield* FoundStates.make
      const { load: loadTokens } = yield* Tokens.make
      const mayCompare = yield* ComparedSecrets.make
      const keys = yield* ApiKeys
      const audit = yield* Audit

      const checkCaller = Effect.fnUntraced(function* (sections: ReadonlySet<Kind>) {
        const caller = yield* Caller.current
        const lacks = [...sections].some((kind) => !Caller.hasScope(caller, scopes[kind]))
        if (lacks || caller.relayerIds !== undefined) return yield* new Caller.Forbidden({})
      })

      const prepare = Effect.fnUntraced(function* (request: PlanConfiguration) {
        const decoded = Wanted.decode(request.document)
        if (Result.isFailure(decoded)) return yield* PlanRefused.of(decoded.failure)
        const wanted = decoded.success
        yield* checkCaller(wanted.sections)
        if (wanted.objects.length > maxObjects) return yield* new PayloadTooLarge({})
        const tokens = yield* loadTokens
        const compared = wanted.objects.map((object): readonly [string, Compared] => [
          nameOf(object),
          { object, state: wantedState(object, tokens.ofSecret) }
        ])
        const prepared: Prepared = {
          wanted,
          compared: new Map(compared),
          options: optionsOf(request.options),
          templates: new Map(Object.entries(request.templates ?? {})),
          tokens
        }
        return prepared
      })

      /** What the service has of everything that the document names or refers to. */
      const read = ({ compared, options, tokens }: Prepared, lock: boolean) => {
        const named = [...compared.values()].flatMap(({ state }): ReadonlyArray<Name> => [
          state,
          ...Links.referencesOf(state)
        ])
        const deletable = (name: string) => options.replace.has(name)
        return readFound({ names: named, wanted: compared, deletable, tokens, lock })
      }

      /** The secrets that the document and the service both have, and what the caller may learn about them. */
      const compareSecrets = Effect.fnUntraced(function* ({ compared }: Prepared, found: ReadonlyArray<FoundState>) {
        const fields: Array<string> = []
        const shown: Array<FoundState> = []
        for (const object of found) {
          const name = nameOf(object)
          const secrets = new Map(object.secrets)
          for (const [path, token] of compared.get(name)?.state.secrets ?? []) {
            const stored = object.secrets.get(path)
            if (stored === undefined) continue
            fields.push(`${name}.${path}`)
            if (!(yield* mayCompare(`${name}.${path}`, stored === token))) secrets.set(path, "")
          }
          shown.push({ ...object, secrets })
        }
        return { fields, shown }
      })

      /** Keys that would get more than the caller has, and keys that the caller must not change. */
      const keyRefusals = Effect.fnUntraced(function* ({ compared }: Prepared, plan: Planning.Plan) {
        const violations: Array<Violation> = []
        for (const step of plan.steps) {
          const isChanged = step.action !== "none" && step.action !== "keep"
          if (step.kind !== "api_keys" || !isChanged) continue
          const wanted = compared.get(nameOf(step))
          const powers = wanted === undefined ? { name: step.id, scopes: [] } : powersOf(wanted.object.request)
          for (const { field, message } of yield* keys.refusals(step.id, powers)) {
            violations.push({ field: field === "" ? nameOf(step) : `${nameOf(step)}.${field}`, message })
          }
        }
        return violations
      })

      const digestOf = ({ wanted, compared, options, templates, tokens }: Prepared, found: ReadonlyArray<FoundState>) =>
        tokens.digest({
          name: wanted.name,
          sections: wanted.sections,
          wanted: Object.fromEntries([...compared].map(([name, { state }]) => [name, state])),
          found: Object.fromEntries(found.map((object) => [nameOf(object), object])),
          options,
          templates
        })

      const computed = Effect.fnUntraced(function* (
        prepared: Prepared,
        found: ReadonlyArray<FoundState>,
        shown: ReadonlyArray<FoundState>
      ) {
        const { wanted, compared, options, templates, tokens } = prepared
        const planned = Planning.plan({
          name: wanted.name,
          sections: wanted.sections,
          wanted: [...compared.values()].map(({ state }) => state),
          found: shown,
          options,
          templates
        })
        if (Result.isFailure(planned)) return yield* PlanRefused.of(planned.failure)
        const refused = yield* keyRefusals(prepared, planned.success)
        if (refused.length > 0) return yield* PlanRefused.of(refused)
        const seen = Object.fromEntries(found.map((object) => [nameOf(object), tokens.short(object)]))
        return { plan: planned.success, digest: digestOf(prepared, found), seen }
      })

      const makePlan = Effect.fn("Configuration.plan")(function* (request: PlanConfiguration) {
        const prepared = yield* prepare(yield* checkRequest(request))
        const found = yield* transaction(Effect.andThen(repo.snapshot, read(prepared, false)))
        const { fields, shown } = yield* compareSecrets(prepared, found)
        if (fields.length > 0) {
          const change = { action: "configuration.compared", id: prepared.wanted.name, schema: ComparedFields } as const
          yield* transaction(audit.record({ ...change, after: { fields } }))
        }
        const { plan, digest, seen } = yield* computed(prepared, found, shown)
        return ofPlan(plan, { digest, seen })
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

      return Configuration.of({ plan })
    })
  ).pipe(Layer.provide(ServiceSecrets.layer))
}
