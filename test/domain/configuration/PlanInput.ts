// What tests of plans start from: wanted and found states, and how they read the result.
import { Result } from "effect"
import type { FoundState, WantedState } from "../../../src/domain/configuration/Comparison.ts"
import { kinds } from "../../../src/domain/configuration/Document.ts"
import type { Kind } from "../../../src/domain/configuration/Document.ts"
import { planText } from "../../../src/domain/configuration/Plan.ts"
import type { Plan } from "../../../src/domain/configuration/Plan.ts"
import * as Planning from "../../../src/domain/configuration/Planning.ts"

export const name = "payments"

const options: Planning.Options = { prune: false, takeOver: false, replace: new Set(), destroyKeys: new Set() }

export const wantedOf = (
  kind: Kind,
  id: string,
  fields: WantedState["fields"],
  more: Partial<WantedState> = {}
): WantedState => ({
  kind,
  id,
  fields,
  secrets: new Map(),
  kept: new Set(),
  managesPaused: true,
  ...more
})

export const foundOf = (
  kind: Kind,
  id: string,
  fields: FoundState["fields"],
  more: Partial<FoundState> = {}
): FoundState => ({
  kind,
  id,
  fields,
  secrets: new Map(),
  owner: name,
  ...more
})

export const planOf = (
  wanted: ReadonlyArray<WantedState>,
  found: ReadonlyArray<FoundState>,
  given: Partial<Planning.Options> = {},
  more: Partial<Planning.Input> = {}
) =>
  Planning.plan({
    name,
    sections: new Set(kinds),
    wanted,
    found,
    options: { ...options, ...given },
    templates: new Map(),
    appliedOf: () => undefined,
    tokenOf: (value) => JSON.stringify(value),
    ...more
  })

export const sepolia = foundOf("networks", "evm:sepolia", {}, { isBuiltin: true, owner: undefined })

export const problemsOf = (result: Result.Result<Plan, ReadonlyArray<{ field: string; message: string }>>) =>
  Result.match(result, {
    onSuccess: () => [],
    onFailure: (violations) => violations.map(({ field, message }) => `${field}: ${message}`)
  })

export const textOf = (result: ReturnType<typeof planOf>) => planText(Result.getOrThrow(result))

export const hot = foundOf("signers", "hot", { type: "plain" })

export const relayer = (policies: object, more: object = {}) => ({
  name: "Treasury",
  network_type: "evm",
  network: "sepolia",
  signer_id: "hot",
  policies,
  ...more
})
