// Tries the changed policies of a plan on past transactions. It runs after the plan, and is no part of its digest.
import { Console, Effect } from "effect"
import type { ConfigurationPlan } from "../../domain/configuration/PlanRequest.ts"
import { isMembers } from "../../domain/configuration/Wanted.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import * as Table from "../kit/Table.ts"
import type { Prepared } from "./Planned.ts"

const relayerIn = ({ payload }: Prepared, id: string) => {
  const relayers = payload.document["relayers"]
  const relayer = isMembers(relayers) ? relayers[id] : undefined
  return isMembers(relayer) ? relayer : {}
}

/** The merge patch that makes the policy the wanted one: members that the document leaves out are removed. */
const patchOf = (wanted: unknown, changed: ReadonlyArray<string>) => {
  const members = isMembers(wanted) ? wanted : {}
  return Object.fromEntries(changed.map((name) => [name, members[name] ?? null]))
}

const changedPolicies = ({ changes }: ConfigurationPlan["steps"][number]): ReadonlyArray<string> => [
  ...new Set(
    changes.flatMap(({ path }) => {
      const [field, name] = path.split(".")
      return field === "policies" && name !== undefined ? [name] : []
    })
  )
]

/** Prints one line for each evm relayer whose policy changes. A rehearsal that is refused is no failure of the plan. */
export const print = Effect.fnUntraced(function* (prepared: Prepared, plan: ConfigurationPlan, days: number) {
  for (const step of plan.steps) {
    const names = changedPolicies(step)
    const wanted = relayerIn(prepared, step.id)
    if (step.kind !== "relayers" || names.length === 0 || wanted["network_type"] !== "evm") continue
    const request = {
      params: { relayer_id: RelayerId.make(step.id) },
      payload: { policies: patchOf(wanted["policies"], names), days }
    }
    const line = yield* prepared
      .run((client) => client.policies.rehearse(request))
      .pipe(
        Effect.map(({ value: { data } }) => {
          const refused = data.would_refuse.reduce((sum, { count }) => sum + count, 0)
          return `of ${data.transactions} transactions of ${data.days} days it would have held ${data.would_hold.count} and refused ${refused}`
        }),
        Effect.catch(({ message }) => Effect.succeed(message))
      )
    yield* Console.log(Table.printable(`relayers.${step.id}: ${line}`))
  }
})
