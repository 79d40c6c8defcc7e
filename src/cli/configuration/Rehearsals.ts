// Tries the changed policies of a plan on past transactions. It runs after the plan, and is no part of its digest.
import { Effect } from "effect"
import type { ConfigurationPlan } from "../../domain/configuration/PlanRequest.ts"
import { isMembers } from "../../domain/configuration/Wanted.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Rehearsal } from "../../domain/transaction/evm/Rehearsal.ts"
import * as Table from "../kit/Table.ts"
import type { Prepared } from "./Planned.ts"

const relayerIn = ({ payload }: Prepared, id: string) => {
  const relayers = payload.document["relayers"]
  const relayer = isMembers(relayers) ? relayers[id] : undefined
  return isMembers(relayer) ? relayer : {}
}

/** Members of the policy that change. `all`: the relayer has no policy yet, or loses it. */
const changedPolicies = ({ changes, kind }: ConfigurationPlan["steps"][number]): ReadonlySet<string> | "all" => {
  const paths = kind === "relayers" ? changes.map(({ path }) => path.split(".")) : []
  const policies = paths.filter(([field]) => field === "policies")
  if (policies.some(([, name]) => name === undefined)) return "all"
  return new Set(policies.map(([, name = ""]) => name))
}

/** The merge patch that makes the policy the wanted one: members that the document leaves out are removed. */
const patchOf = (wanted: unknown, changed: ReadonlySet<string> | "all") => {
  if (changed === "all") return isMembers(wanted) ? wanted : null
  const members = isMembers(wanted) ? wanted : {}
  return Object.fromEntries([...changed].map((name) => [name, members[name] ?? null]))
}

/** Writes a count with separators of thousands, as English texts have it. */
const shown = (count: number): string => count.toLocaleString("en-US")

const sentence = ({ days, transactions, would_hold, would_refuse }: Rehearsal): string => {
  const refused = would_refuse.reduce((sum, { count }) => sum + count, 0)
  const held = shown(would_hold.count)
  return `of ${shown(transactions)} transactions of ${days} days it would have held ${held} and refused ${shown(refused)}`
}

/** One line for each evm relayer whose policy changes. A rehearsal that is refused is no failure of the plan. */
export const lines = Effect.fnUntraced(function* (prepared: Prepared, plan: ConfigurationPlan, days: number) {
  const found: Array<string> = []
  for (const step of plan.steps) {
    const changed = changedPolicies(step)
    const wanted = relayerIn(prepared, step.id)
    if ((changed !== "all" && changed.size === 0) || wanted["network_type"] !== "evm") continue
    const request = {
      params: { relayer_id: RelayerId.make(step.id) },
      payload: { policies: patchOf(wanted["policies"], changed), days }
    }
    const text = yield* prepared
      .run((client) => client.policies.rehearse(request))
      .pipe(
        Effect.map(({ value }) => sentence(value.data)),
        Effect.catch(({ message }) => Effect.succeed(message))
      )
    found.push(Table.printable(`relayers.${step.id}: ${text}`))
  }
  return found
})
